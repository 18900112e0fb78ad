#include "task/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "task/pack.h"
#include "task/probe_process.h"
#include "task/task_samples.h"

namespace evk {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

bool torch_is_there() {
  static const bool found = std::system("/usr/bin/python3 -I -c 'import torch' >/dev/null 2>&1") == 0;
  return found;
}

const std::string kHead = "import torch\nimport torch.nn as nn\n";
const std::string kTail =
    "\ndef get_inputs():\n    return [torch.randn(rows, 64)]\n\ndef get_init_inputs():\n    return []\n";

std::string task_file(const std::string& forward, const std::string& before = "") {
  return kHead + before + "rows = 32\nclass Model(nn.Module):\n    def forward(self, x):\n        " +
         forward + "\n" + kTail;
}

class ProbeRun : public testing::Test {
 protected:
  void SetUp() override {
    if (!torch_is_there()) GTEST_SKIP() << "torch is missing; apt-get install python3-torch";
  }
  ProbeConfig config() const {
    ProbeConfig made = probe_config(EVK_SOURCE_DIR, folder_.path() + "/cache");
    made.small_elements = 8192;
    return made;
  }
  std::string fault(const std::string& text, ProbeConfig changed) const {
    auto pack = Probe(std::move(changed)).pack_of(folder_.write("kb/1_Task.py", text));
    return pack ? "" : pack.error().message;
  }
  std::string fault(const std::string& text) const { return fault(text, config()); }

  sample::Folder folder_;
};

TEST_F(ProbeRun, makes_a_pack_of_an_unchanged_file_and_keeps_it) {
  const std::string file =
      folder_.write("kb/7_Double_Swish.py", task_file("return x * torch.sigmoid(2.0 * x)"));
  const Probe probe(config());
  auto entries = resolve_suite(file, EVK_SOURCE_DIR);
  ASSERT_TRUE(entries);
  auto task = probe.load(entries->at(0));
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->id.text, "kb/7_Double_Swish");
  EXPECT_EQ(task->name, "task_7_double_swish");
  EXPECT_EQ(task->category, "activation");
  const auto made = fs::last_write_time(task->folder + "/task.json");
  auto again = probe.load(entries->at(0));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(fs::last_write_time(again->folder + "/task.json"), made) << "the kept pack was made again";
  folder_.write("kb/7_Double_Swish.py", task_file("return x * torch.sigmoid(3.0 * x)"));
  auto changed = probe.load(entries->at(0));
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_NE(changed->folder, again->folder);
}

TEST_F(ProbeRun, packs_types_that_the_processor_cannot_compute_with) {
  const std::string file = folder_.write("kb/narrow.py", R"(
import torch
class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.softmax(torch.matmul(a, b), -1)
def get_inputs():
    return [torch.randn(48, 32, dtype=torch.float16), torch.randn(32, 40, dtype=torch.float16)]
def get_init_inputs():
    return []
)");
  const auto entries = resolve_suite(file, EVK_SOURCE_DIR);
  ASSERT_TRUE(entries);
  const auto task = Probe(config()).load(entries->at(0));
  ASSERT_TRUE(task) << task.error().message;
  const ShapeSet& small = *task->shapes("small");
  EXPECT_EQ(small.inputs[0].type.dtype, DType::kFloat16);
  EXPECT_EQ(small.outputs[0].type.dtype, DType::kFloat16);
  EXPECT_EQ(small.graph.nodes.size(), 2u);
}

TEST_F(ProbeRun, a_shipped_pack_is_used_only_for_the_very_file_it_was_made_of) {
  auto demo = resolve_suite("demo", EVK_SOURCE_DIR);
  ASSERT_TRUE(demo);
  SuiteEntry entry = demo->at(0);
  const Probe probe(config());
  auto shipped = probe.load(entry);
  ASSERT_TRUE(shipped) << shipped.error().message;
  EXPECT_EQ(shipped->folder, entry.shipped_pack);
  EXPECT_FALSE(fs::exists(folder_.path() + "/cache"));
  entry.file = folder_.write("demo/other.py", task_file("return x + 1.0"));
  auto own = probe.load(entry);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_NE(own->folder, entry.shipped_pack);
}

TEST_F(ProbeRun, two_at_the_same_time_leave_one_pack) {
  const std::string file = folder_.write("kb/3_Cube.py", task_file("return x * x * x"));
  std::vector<Result<std::string>> found(2, failure("not run"));
  {
    std::vector<std::jthread> threads;
    for (auto& each : found) threads.emplace_back([&] { each = Probe(config()).pack_of(file); });
  }
  for (const auto& each : found) ASSERT_TRUE(each) << each.error().message;
  EXPECT_EQ(*found[0], *found[1]);
  int left = 0;
  for ([[maybe_unused]] const auto& each : fs::directory_iterator(folder_.path() + "/cache")) ++left;
  EXPECT_EQ(left, 1) << "scratch folders must not stay";
}

TEST_F(ProbeRun, says_what_is_wrong_with_a_file_in_one_line) {
  EXPECT_THAT(fault("class Model(:\n"), HasSubstr("(syntax)"));
  EXPECT_THAT(fault("x = 1\n"), HasSubstr("(no_model)"));
  EXPECT_THAT(fault(kHead + "class Model(nn.Module):\n    pass\n"), HasSubstr("(no_inputs)"));
  EXPECT_THAT(fault(task_file("return x", "import module_that_is_nowhere\n")),
              HasSubstr("module_that_is_nowhere"));
  EXPECT_THAT(fault(task_file("return x @ x")), HasSubstr("(forward_failed)"));
  EXPECT_THAT(fault(task_file("import os; os._exit(3)")), HasSubstr("(ended)"));
  EXPECT_THAT(fault(task_file("print('{\"pack\": 1}'); raise SystemExit(0)")), HasSubstr("(ended)"));
  EXPECT_THAT(fault(task_file("return self.forward(x)")), HasSubstr("recursion"));
  for (const std::string& message : {fault("class Model(:\n"), fault(task_file("return x @ x"))})
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST_F(ProbeRun, ends_a_file_that_loops) {
  ProbeConfig quick = config();
  quick.wall = std::chrono::seconds(4);
  EXPECT_THAT(fault(task_file("while True: pass"), quick), HasSubstr("(time)"));
  // Catches whatever it can; only a kill ends it.
  EXPECT_THAT(
      fault(
          task_file(
              "return x",
              "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True:\n    try:\n        "
              "while True: pass\n    except BaseException: pass\n"),
          quick),
      HasSubstr("(time)"));
}

TEST_F(ProbeRun, stops_a_file_that_eats_memory) {
  ProbeConfig small = config();
  small.memory_bytes = 2ull << 30;
  EXPECT_THAT(
      fault(task_file("return x", "eaten = []\nwhile True: eaten.append(bytearray(64 << 20))\n"), small),
      HasSubstr("(memory)"));
}

TEST_F(ProbeRun, a_file_reaches_neither_the_network_nor_the_home_folder) {
  const std::string outside = folder_.write("secret", "s");
  EXPECT_THAT(fault(task_file("return x", "assert not __import__('os').path.exists('" + outside +
                                              "'), 'seen'\nimport socket\n"
                                              "socket.create_connection(('127.0.0.1', 9), 1)\n")),
              HasSubstr("not permitted"));
  EXPECT_EQ(fault(task_file("return x + 2.0",
                            "assert not __import__('os').path.exists('" + outside + "'), 'seen'\n")),
            "");
}

TEST_F(ProbeRun, tells_how_to_get_torch_where_it_is_missing) {
  ProbeConfig bare = config();
  bare.python = "/usr/bin/no-such-python";
  EXPECT_THAT(fault(task_file("return x"), bare), HasSubstr("apt-get install python3-torch"));
  // An interpreter that lies elsewhere and does not see the system's packages.
  const std::string venv = folder_.path() + "/venv";
  ASSERT_EQ(std::system(("/usr/bin/python3 -m venv --without-pip " + venv).c_str()), 0);
  bare.python = venv + "/bin/python3";
  EXPECT_THAT(fault(task_file("return x"), bare), HasSubstr("(torch_missing)"));
}

TEST(Bundle, refuses_names_and_sizes_that_leave_it) {
  const sample::Folder folder;
  const auto unpack = [&](const std::string& bundle) {
    return unpack_bundle(bundle, folder.path()).has_value();
  };
  EXPECT_TRUE(unpack("{\"files\": [[\"a/b\", 3], [\"c\", 0]]}\nxyz"));
  EXPECT_EQ(sample::read_file(folder.path() + "/a/b"), "xyz");
  EXPECT_FALSE(unpack("{\"files\": [[\"a\", 4]]}\nxyz"));
  EXPECT_FALSE(unpack("{\"files\": [[\"../a\", 3]]}\nxyz"));
  EXPECT_FALSE(unpack("{\"files\": [[\"/tmp/a\", 3]]}\nxyz"));
  EXPECT_FALSE(unpack("{\"files\": [[\"a\", -1]]}\nxyz"));
  EXPECT_FALSE(unpack("{\"files\": [[\"a\", 18446744073709551615]]}\nxyz"));
  EXPECT_FALSE(unpack("{\"files\": 7}\n"));
  EXPECT_FALSE(unpack(std::string(100000, '[')));
  EXPECT_FALSE(unpack(""));
}

}  // namespace
}  // namespace evk
