// Mutates samples of every kind of untrusted input and hands them to their readers: candidate file sets,
// model answers, task packs, bundles, safetensors. A crash, an unending run or a bundle that reads outside of
// its folder is a failure; run it under the sanitizers of the preset dev to see more.
//
//   evk_fuzz            a fixed number of rounds, for the test
//   evk_fuzz 600 [key]  for so many seconds for each kind, from another start
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "cli/evidence_bundle.h"
#include "generate/reply_parser.h"
#include "task/pack.h"
#include "task/safetensors.h"
#include "verify/red_team.h"
#include "verify/screen.h"

namespace evk {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

const std::vector<std::string>& tokens() {
  static const std::vector<std::string> words = {"\"",
                                                 "[[[[",
                                                 "{{{{",
                                                 "]",
                                                 "}",
                                                 "-1",
                                                 "18446744073709551615",
                                                 "1e999",
                                                 "null",
                                                 "../",
                                                 "/etc/passwd",
                                                 "\\u0000",
                                                 "```",
                                                 "```cpp title=\"op_kernel/x.cpp\"\n",
                                                 "<<<<<<< SEARCH\n",
                                                 "=======\n",
                                                 ">>>>>>> REPLACE\n",
                                                 "--- a/x\n+++ b/x\n@@ -1 +1 @@\n",
                                                 "#define A A A\n",
                                                 "R\"(",
                                                 "/*",
                                                 "//",
                                                 "\\\n",
                                                 "%:",
                                                 "\?\?=",
                                                 "\xff\xfe",
                                                 "\xe2\x80\xae",
                                                 "'",
                                                 "extern \"C\"",
                                                 "<think>",
                                                 "</think>"};
  return words;
}

std::string mutated(std::string bytes, Random& random) {
  const std::uint64_t changes = 1 + random.below(8);
  for (std::uint64_t n = 0; n < changes; ++n) {
    const std::size_t at = bytes.empty() ? 0 : random.below(bytes.size());
    const std::size_t length =
        bytes.empty() ? 0 : random.below(std::min<std::size_t>(bytes.size() - at, 64) + 1);
    switch (random.below(6)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 3:
        bytes.insert(at, tokens()[random.below(tokens().size())]);
        break;
      case 4:
        bytes.resize(at);
        break;
      default:
        if (!bytes.empty())
          bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 << random.below(8)));
    }
  }
  return bytes;
}

// Samples, read once, and what is done with one mutated.
struct Target {
  const char* name;
  int rounds;  // of the test
  std::function<void(Random&)> round;
};

const std::vector<RedTeamCase>& corpus() {
  static const std::vector<RedTeamCase> cases = [] {
    auto read = read_red_team(EVK_SOURCE_DIR "/tests/redteam");
    return read ? *read : std::vector<RedTeamCase>();
  }();
  return cases;
}

const std::string pack_folder = EVK_SOURCE_DIR "/tasks/packs/demo/swish";

void screen_candidate(Random& random) {
  static const std::vector<Task> tasks = red_team_tasks();
  Candidate candidate = corpus()[random.below(corpus().size())].candidate;
  for (SourceFile& file : candidate.files) {
    if (random.coin(0.7)) file.text = mutated(file.text, random);
    if (random.coin(0.1)) file.path = mutated(file.path, random);
  }
  (void)screen(tasks[0], candidate, ScreenLimits{});
}

void parse_answer(Random& random) {
  static const std::vector<Task> tasks = red_team_tasks();
  const Candidate& from = corpus()[random.below(corpus().size())].candidate;
  std::string answer = "Hypothesis: larger tiles.\n";
  for (const SourceFile& file : from.files)
    answer += "```cpp title=\"" + file.path + "\"\n" + file.text + "```\n";
  const auto parsed =
      parse_reply(mutated(std::move(answer), random), tasks[0], random.coin(0.5) ? &from : nullptr);
  const auto* made = std::get_if<Candidate>(&parsed);
  if (made == nullptr) return;
  for (const SourceFile& file : made->files) {
    if (file.path.find("..") != std::string::npos || file.path.starts_with("/")) {
      fmt::print(stderr, "the reply parser let the path '{}' through\n", file.path);
      std::abort();
    }
  }
}

void parse_task(Random& random) {
  static const std::string text = text_of(pack_folder + "/task.json");
  (void)parse_pack(mutated(text, random), pack_folder);
}

void read_tensors(Random& random) {
  static const std::string text = text_of(pack_folder + "/small/h1.expected.safetensors");
  // The header is what a reader acts on.
  std::string bytes = mutated(text.substr(0, 512), random) + text.substr(512, random.below(4096));
  const auto tensors = parse_safetensors(std::as_bytes(std::span(bytes)));
  if (!tensors) return;
  for (const auto& [name, tensor] : *tensors) {
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    if (tensor.bytes.data() < begin || tensor.bytes.data() + tensor.bytes.size() > begin + bytes.size())
      std::abort();
  }
}

// One bundle on disk, of which a file is mutated, replaced by a link or joined by another, and put back.
class BundleTarget {
 public:
  BundleTarget() : folder_(fs::temp_directory_path() / fmt::format("evk-fuzz-{}", getpid())) {
    fs::remove_all(folder_);
    Bundle bundle;
    bundle.task = "demo/swish";
    bundle.source_sha256 = "0";
    bundle.kernel = corpus()[0].candidate;
    bundle.verdict.outcome = Measured{1000, true, {}};
    bundle.attempt = nlohmann::json::object();
    const auto written = write_bundle(folder_.string(), bundle, pack_folder);
    if (!written || !read_bundle(folder_.string())) {
      fmt::print(stderr, "the sample bundle cannot be written and read\n");
      std::abort();
    }
    manifest_ = text_of(folder_ / "bundle.json");
  }
  ~BundleTarget() { fs::remove_all(folder_); }
  BundleTarget(const BundleTarget&) = delete;
  BundleTarget& operator=(const BundleTarget&) = delete;

  void round(Random& random) {
    const fs::path manifest = folder_ / "bundle.json";
    if (random.below(8) > 0) {
      write_text(manifest, mutated(manifest_, random));
      (void)read_bundle(folder_.string());
      write_text(manifest, manifest_);
      return;
    }
    const fs::path extra = folder_ / "kernel" / "extra";
    fs::create_symlink(random.coin(0.5) ? "/etc/passwd" : "..", extra);
    if (read_bundle(folder_.string())) {
      fmt::print(stderr, "a bundle with a link was accepted\n");
      std::abort();
    }
    fs::remove(extra);
  }

 private:
  const fs::path folder_;
  std::string manifest_;
};

void fuzz(const Target& target, double seconds, std::uint64_t key) {
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t rounds = 0;
  const auto more = [&] {
    if (seconds <= 0) return rounds < static_cast<std::uint64_t>(target.rounds);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds;
  };
  for (; more(); ++rounds) {
    Random random(mix(hash64(target.name), mix(key, rounds)));
    target.round(random);
  }
  fmt::print("{:<12} {} rounds\n", target.name, rounds);
}

}  // namespace
}  // namespace evk

int main(int argc, char** argv) {
  if (evk::corpus().empty()) return 1;
  evk::BundleTarget bundle;
  const std::vector<evk::Target> targets = {
      {"candidate", 2000, evk::screen_candidate},
      {"answer", 3000, evk::parse_answer},
      {"pack", 2000, evk::parse_task},
      {"safetensors", 20000, evk::read_tensors},
      {"bundle", 300, [&](evk::Random& random) { bundle.round(random); }}};
  for (const evk::Target& target : targets)
    evk::fuzz(target, argc > 1 ? std::atof(argv[1]) : 0,
              argc > 2 ? static_cast<std::uint64_t>(std::atoll(argv[2])) : 0);
  return 0;
}
