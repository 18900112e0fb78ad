#include "cli/evidence_bundle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/sha256.h"

namespace evk {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kJsonBytesMax = 8ull << 20;

// "a/b.txt": relative, no empty part, no ".." and nothing that a terminal would act on.
bool plain_path(const std::string& path) {
  if (path.empty() || path.size() > 512 || path.front() == '/') return false;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return std::all_of(path.begin(), path.end(), [](char c) { return c > 0x1f && c < 0x7f && c != '\\'; });
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

// Opened without following a link at its end and without waiting on a pipe; the check and the reading are of
// one descriptor, so that nothing can be put in its place between them.
Result<std::string> bytes_of(const fs::path& path, std::uint64_t bytes_max) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0)
    return failure(fmt::format("{}: cannot be opened as a plain file (links are refused)", path.string()));
  if (!S_ISREG(facts.st_mode)) return failure(fmt::format("{}: is no plain file", path.string()));
  if (static_cast<std::uint64_t>(facts.st_size) > bytes_max)
    return failure(fmt::format("{}: is larger than {} bytes", path.string(), bytes_max));
  std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (got <= 0) return failure(fmt::format("{}: ends before its size", path.string()));
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

// Every file below `folder` with its path in it, links and special files refused, sorted.
Result<std::vector<std::string>> files_below(const std::string& folder) {
  std::error_code error;
  if (fs::is_symlink(folder, error) || !fs::is_directory(folder, error))
    return failure(fmt::format("{}: is no folder", folder), Retry::kAfterFix);
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator it(folder, error), end; it != end; it.increment(error)) {
    if (error) return failure(fmt::format("{}: {}", folder, error.message()));
    const fs::file_status status = it->symlink_status(error);
    const std::string path = it->path().lexically_relative(folder).generic_string();
    if (it.depth() > 8) return failure(fmt::format("{}: folders lie too deep", path));
    if (fs::is_directory(status)) continue;
    if (!fs::is_regular_file(status))
      return failure(fmt::format("{}: links and special files are refused", path));
    if (!plain_path(path)) return failure(fmt::format("a file's name is refused in {}", folder));
    files.push_back(path);
    if (files.size() > kBundleFilesMax)
      return failure(fmt::format("{}: holds more than {} files", folder, kBundleFilesMax));
  }
  if (error) return failure(fmt::format("{}: {}", folder, error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

std::string pack_hash_of(const std::map<std::string, std::string>& hashes) {
  Sha256 hash;
  for (const auto& [path, digest] : hashes)
    if (path.starts_with("pack/")) hash.field(path).field(digest);
  return hash.hex();
}

class Writer {
 public:
  explicit Writer(std::string out) : out_(std::move(out)) {}

  Status put(const std::string& path, const std::string& bytes) {
    std::error_code error;
    const fs::path target = fs::path(out_) / path;
    fs::create_directories(target.parent_path(), error);
    std::ofstream file(target, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) return failure(fmt::format("{}: cannot be written", target.string()), Retry::kAfterFix);
    hashes_[path] = sha256_hex(bytes);
    return {};
  }

  const std::map<std::string, std::string>& hashes() const { return hashes_; }

 private:
  const std::string out_;
  std::map<std::string, std::string> hashes_;
};

Result<json> parsed(const std::string& bytes, const std::string& what) {
  // Deep nesting is how a small file exhausts a parser's stack.
  int depth = 0;
  for (const char c : bytes) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth > 64) return failure(fmt::format("{}: nests too deep", what));
  }
  json made = json::parse(bytes, nullptr, false);
  if (!made.is_object()) return failure(fmt::format("{}: is no JSON object", what));
  return made;
}

Result<std::string> text_at(const json& object, const char* key) {
  if (!object.contains(key) || !object[key].is_string())
    return failure(fmt::format("bundle.json: {} must be a text", key));
  return object[key].get<std::string>();
}

Result<std::map<std::string, std::string>> listed_hashes(const json& manifest) {
  if (!manifest.contains("files") || !manifest["files"].is_object())
    return failure("bundle.json: files must be an object of hashes");
  std::map<std::string, std::string> hashes;
  for (const auto& [path, digest] : manifest["files"].items()) {
    if (!plain_path(path)) return failure("bundle.json: a path leaves the folder or is no plain name");
    if (!digest.is_string()) return failure(fmt::format("bundle.json: the hash of {} must be a text", path));
    hashes[path] = digest.get<std::string>();
  }
  return hashes;
}

// The contents of every listed file but the pack's, whose hashes alone are of interest here.
Result<std::map<std::string, std::string>> checked_files(const std::string& folder,
                                                         const std::map<std::string, std::string>& hashes) {
  EVK_TRY(const std::vector<std::string> found, files_below(folder));
  std::map<std::string, std::string> contents;
  std::uint64_t total = 0;
  for (const std::string& path : found) {
    if (path == "bundle.json") continue;
    const auto listed = hashes.find(path);
    if (listed == hashes.end()) return failure(fmt::format("{}: is not listed in bundle.json", path));
    EVK_TRY(std::string bytes, bytes_of(fs::path(folder) / path, kBundleFileBytesMax));
    total += bytes.size();
    if (total > kBundleBytesMax)
      return failure(fmt::format("{}: is larger than {} bytes", folder, kBundleBytesMax));
    if (sha256_hex(bytes) != listed->second)
      return failure(fmt::format("{}: is not what bundle.json says (its hash differs)", path));
    contents[path] = path.starts_with("pack/") ? std::string() : std::move(bytes);
  }
  for (const auto& [path, digest] : hashes)
    if (!contents.contains(path))
      return failure(fmt::format("{}: is listed in bundle.json and missing", path));
  return contents;
}

}  // namespace

Status write_bundle(const std::string& out, Bundle bundle, const std::string& pack_folder) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(out, error)))
    return failure(fmt::format("{}: exists; name a new folder", out), Retry::kAfterFix);
  EVK_TRY(const std::vector<std::string> pack, files_below(pack_folder));
  Writer writer(out);
  for (const std::string& path : pack) {
    EVK_TRY(const std::string bytes, bytes_of(fs::path(pack_folder) / path, kBundleFileBytesMax));
    EVK_TRY_STATUS(writer.put("pack/" + path, bytes));
  }
  for (const SourceFile& file : bundle.kernel.files) {
    if (!plain_path(file.path)) return failure(fmt::format("the kernel names the file '{}'", file.path));
    EVK_TRY_STATUS(writer.put("kernel/" + file.path, file.text));
  }
  EVK_TRY_STATUS(
      writer.put("attempt.json", bundle.attempt.dump(2, ' ', false, json::error_handler_t::replace)));
  const json manifest = {{"schema", 1},
                         {"task", bundle.task},
                         {"source_sha256", bundle.source_sha256},
                         {"pack_hash", pack_hash_of(writer.hashes())},
                         {"kernel_hash", bundle.kernel.hash()},
                         {"harness", bundle.verdict.harness},
                         {"verdict", to_json(bundle.verdict)},
                         {"files", writer.hashes()}};
  Writer last(out);
  return last.put("bundle.json", manifest.dump(2, ' ', false, json::error_handler_t::replace));
}

Result<Bundle> read_bundle(const std::string& folder) {
  EVK_TRY(const std::string text, bytes_of(fs::path(folder) / "bundle.json", kJsonBytesMax));
  EVK_TRY(const json manifest, parsed(text, "bundle.json"));
  if (!manifest.contains("schema") || manifest["schema"] != 1)
    return failure("bundle.json: schema is not 1; another version wrote it");
  EVK_TRY(const auto hashes, listed_hashes(manifest));
  EVK_TRY(const auto contents, checked_files(folder, hashes));
  Bundle bundle;
  EVK_TRY(bundle.task, text_at(manifest, "task"));
  EVK_TRY(bundle.source_sha256, text_at(manifest, "source_sha256"));
  EVK_TRY(bundle.pack_hash, text_at(manifest, "pack_hash"));
  EVK_TRY(const std::string kernel_hash, text_at(manifest, "kernel_hash"));
  if (bundle.pack_hash != pack_hash_of(hashes))
    return failure("bundle.json: pack_hash is not that of the pack");
  for (const auto& [path, bytes] : contents)
    if (path.starts_with("kernel/")) bundle.kernel.files.push_back({path.substr(7), bytes});
  std::sort(bundle.kernel.files.begin(), bundle.kernel.files.end());
  if (bundle.kernel.hash() != kernel_hash)
    return failure("bundle.json: kernel_hash is not that of the kernel");
  if (!manifest.contains("verdict")) return failure("bundle.json: has no verdict");
  EVK_TRY(bundle.verdict, verdict_from(manifest["verdict"]));
  if (const auto attempt = contents.find("attempt.json"); attempt != contents.end()) {
    EVK_TRY(bundle.attempt, parsed(attempt->second, "attempt.json"));
  }
  return bundle;
}

}  // namespace evk
