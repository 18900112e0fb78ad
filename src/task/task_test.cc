#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "task/case.h"
#include "task/pack.h"
#include "task/probe.h"
#include "task/suite.h"

namespace evk {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kRoot = EVK_SOURCE_DIR;
const std::string kPack = kRoot + "/tasks/packs/demo/layer_norm";

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class TaskTest : public testing::Test {
 protected:
  TaskTest() : folder_(fs::temp_directory_path() / ("evk task " + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TaskTest() override { fs::remove_all(folder_); }
  std::string write(const char* name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  fs::path folder_;
};

TEST_F(TaskTest, reads_a_shipped_pack_with_its_cases) {
  const auto task = read_pack(kPack);
  ASSERT_TRUE(task) << task.error().text();
  EXPECT_EQ(task->name, "layer_norm");
  EXPECT_EQ(task->category, "normalization");
  const ShapeSet* small = task->shapes("small");
  ASSERT_NE(small, nullptr);
  ASSERT_EQ(small->inputs.size(), 3u);
  EXPECT_EQ(small->inputs[1].role, "gamma");
  EXPECT_FALSE(small->cases.front().hidden);
  ASSERT_NE(task->shapes("ragged"), nullptr);
  ASSERT_NE(task->shapes("bench"), nullptr);
  EXPECT_TRUE(task->shapes("bench")->cases.empty());
  for (const char* id : {"small", "ragged"})
    for (const auto& which : task->shapes(id)->cases) {
      const auto loaded = load_case(*task, *task->shapes(id), which);
      ASSERT_TRUE(loaded) << loaded.error().text();
      EXPECT_EQ(loaded->inputs.size(), 3u);
      EXPECT_EQ(loaded->goldens.front().truth.type.dtype, DType::kFloat64);
    }
}

// Each edit breaks one rule of a good pack; the reader must say so, and never crash.
TEST_F(TaskTest, refuses_packs_that_break_a_rule) {
  const json good = json::parse(text_of(kPack + "/task.json"));
  ASSERT_TRUE(parse_pack(good.dump(), kPack));
  using Edit = void (*)(json&);
  const std::pair<const char*, Edit> edits[] = {
      {"schema", [](json& j) { j["schema"] = 99; }},
      {"no name", [](json& j) { j.erase("name"); }},
      {"name no identifier", [](json& j) { j["name"] = "a; rm -rf"; }},
      {"no shape sets", [](json& j) { j["shape_sets"] = json::array(); }},
      {"negative size", [](json& j) { j["shape_sets"][0]["inputs"][0]["shape"][0] = -4; }},
      {"huge size",
       [](json& j) {
         j["shape_sets"][0]["inputs"][0]["shape"] = {1ll << 40, 1ll << 40};
       }},
      {"size no integer", [](json& j) { j["shape_sets"][0]["inputs"][0]["shape"][0] = 1.5; }},
      {"unknown dtype", [](json& j) { j["shape_sets"][0]["inputs"][0]["dtype"] = "float1"; }},
      {"unknown compare", [](json& j) { j["shape_sets"][0]["outputs"][0]["compare"] = "never"; }},
      {"file leaves", [](json& j) { j["shape_sets"][0]["cases"][0]["inputs"] = "../../../etc/passwd"; }},
      {"absolute file", [](json& j) { j["shape_sets"][0]["cases"][0]["inputs"] = "/etc/passwd"; }},
      {"reference forward",
       [](json& j) {
         j["shape_sets"][0]["graph"]["nodes"][0]["args"] = {{{"ref", "n9999"}}};
       }},
      {"reference to itself",
       [](json& j) {
         json& node = j["shape_sets"][0]["graph"]["nodes"][0];
         node["args"] = {{{"ref", node["id"]}}};
       }},
      {"bad index",
       [](json& j) {
         j["shape_sets"][0]["graph"]["outputs"] = {{{"ref", "i0"}, {"index", 7}}};
       }},
      {"graph no object", [](json& j) { j["shape_sets"][0]["graph"] = 3; }},
  };
  for (const auto& [what, edit] : edits) {
    json bad = good;
    edit(bad);
    const auto task = parse_pack(bad.dump(), kPack);
    EXPECT_FALSE(task) << what;

  }
  EXPECT_FALSE(parse_pack("", kPack));
  EXPECT_FALSE(parse_pack(std::string(100000, '['), kPack)) << "deep nesting";
  EXPECT_FALSE(read_pack((folder_ / "nowhere").string()));
}

TEST_F(TaskTest, refuses_a_pack_whose_files_are_links) {
  fs::copy(kPack, folder_ / "pack", fs::copy_options::recursive);
  ASSERT_TRUE(read_pack((folder_ / "pack").string()));
  const fs::path file = folder_ / "pack/small/p0.inputs.safetensors";
  fs::remove(file);
  fs::create_symlink("/etc/passwd", file);
  EXPECT_FALSE(read_pack((folder_ / "pack").string()));
}

// A tensor file cut anywhere in its first kilobyte, or with a byte changed there, is read or refused, never
// worse.
TEST_F(TaskTest, survives_damaged_tensor_files) {
  const std::string good = text_of(kPack + "/small/p0.inputs.safetensors");
  const auto parse = [](const std::string& bytes) {
    return parse_safetensors(std::as_bytes(std::span(bytes.data(), bytes.size())));
  };
  ASSERT_TRUE(parse(good));
  for (std::size_t cut = 0; cut < 1024 && cut < good.size(); ++cut)
    EXPECT_FALSE(parse(good.substr(0, cut))) << cut;
  for (std::size_t at = 0; at < 256; ++at)
    for (const char byte : {'\0', '\xff', '9', '{', '"'}) {
      std::string bad = good;
      bad[at] = byte;
      (void)parse(bad);
    }
}

TEST_F(TaskTest, finds_suites_in_natural_order_and_selects_by_number_and_name) {
  for (const char* name : {"10_Ten.py", "2_Two.py", "1_One.py", "notes.txt"}) write(name, "");
  const auto entries = resolve_suite(folder_.string(), kRoot);
  ASSERT_TRUE(entries) << entries.error().text();
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_NE(entries->at(1).id.text.find("2_Two"), std::string::npos);
  const auto some = select_tasks(*entries, "2-10");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->size(), 2u);
  EXPECT_EQ(select_tasks(*entries, "one")->size(), 1u);
  const auto none = select_tasks(*entries, "three");
  ASSERT_FALSE(none);
  EXPECT_EQ(select_tasks(*entries, "")->size(), 3u);
  EXPECT_GE(resolve_suite("demo", kRoot)->size(), 12u);
  const auto missing = resolve_suite("nowhere", kRoot);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("demo"), std::string::npos) << missing.error().text();
}

constexpr const char* kRest =
    "\ndef get_inputs():\n  return [torch.rand(4)]\ndef get_init_inputs():\n  return []\n";

// Task files that cannot be packed: one clear line each, no traceback, and the machine unharmed.
TEST_F(TaskTest, says_in_one_line_what_is_wrong_with_a_task_file) {
  ProbeConfig config = probe_config(kRoot, (folder_ / "cache").string());
  if (!fs::exists("/usr/lib/python3/dist-packages/torch")) GTEST_SKIP() << "python3-torch is not installed";
  config.memory_bytes = 3ull << 30;
  const std::string head = "import torch\nclass Model(torch.nn.Module):\n  def forward(self, x):\n    ";
  const std::pair<std::string, std::string> files[] = {
      {"def broken(:\n", "syntax"},
      {"x = 1\n", "Model"},
      {"import einops\n" + head + "return x" + kRest, "einops"},
      {head + "raise ValueError('no luck')" + kRest, "no luck"},
      {head + "while True: pass" + kRest, "not done"},
      {"import torch\nhoard = [bytearray(1 << 30) for _ in range(64)]\n" + head + "return x" + kRest,
       "memory"},
  };
  int n = 0;
  for (const auto& [text, says] : files) {
    config.wall = std::chrono::seconds(says == "not done" ? 5 : 60);
    const Probe probe(config);
    const std::string path = write(("bad" + std::to_string(n++) + ".py").c_str(), text);
    const auto task = probe.load({{"bad"}, path, ""});
    ASSERT_FALSE(task) << text;
    const std::string message = task.error().text();
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_EQ(message.find("Traceback"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST_F(TaskTest, packs_a_file_once_and_takes_it_from_the_cache_afterwards) {
  if (!fs::exists("/usr/lib/python3/dist-packages/torch")) GTEST_SKIP() << "python3-torch is not installed";
  const std::string path = write(
      "7_Twice.py",
      std::string("import torch\nclass Model(torch.nn.Module):\n  def forward(self, x):\n    return x + x") +
          kRest);
  const Probe probe(probe_config(kRoot, (folder_ / "cache").string()));
  const auto first = probe.load({{"t/7_Twice"}, path, ""});
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->id.text, "t/7_Twice");
  const auto made = fs::last_write_time(first->folder + "/task.json");
  const auto second = probe.load({{"t/7_Twice"}, path, ""});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->folder, first->folder);
  EXPECT_EQ(fs::last_write_time(second->folder + "/task.json"), made);
}

}  // namespace
}  // namespace evk
