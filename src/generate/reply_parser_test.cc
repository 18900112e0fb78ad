#include "generate/reply_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace evk {
namespace {

const std::string kKernel =
    "extern \"C\" __global__ __aicore__ void relu(GM_ADDR x) {\n  int a = 1;\n  int b = 2;\n}\n";
const std::string kHost = "class Relu : public OpDef {};\nOP_ADD(Relu);\n";
const std::string kTiling = "BEGIN_TILING_DATA_DEF(ReluTilingData)\nEND_TILING_DATA_DEF;\n";

Task task() {
  Task made;
  made.name = "relu";
  return made;
}

std::string fenced(const std::string& info, const std::string& body) {
  return "```" + info + "\n" + body + "```\n";
}

std::string whole() {
  return fenced("cpp title=\"op_host/relu.cpp\"", kHost) +
         fenced("cpp title=\"op_host/relu_tiling.h\"", kTiling) +
         fenced("cpp title=\"op_kernel/relu.cpp\"", kKernel);
}

Candidate candidate(const std::string& text, const Candidate* start = nullptr) {
  const auto parsed = parse_reply(text, task(), start);
  EXPECT_TRUE(std::holds_alternative<Candidate>(parsed))
      << (parsed.index() == 1 ? std::get<Finding>(parsed).message : "");
  return parsed.index() == 0 ? std::get<Candidate>(parsed) : Candidate{};
}

std::string code(const std::string& text, const Candidate* start = nullptr) {
  const auto parsed = parse_reply(text, task(), start);
  return parsed.index() == 1 ? std::get<Finding>(parsed).code : "candidate";
}

TEST(ReplyParser, reads_labelled_files_hypothesis_and_constructs) {
  const auto made = candidate("Hypothesis: faster\nConstructs: copy.tail=pad; sched.tile=t1024\n" + whole());
  ASSERT_EQ(made.files.size(), 3u);
  EXPECT_EQ(made.file("op_kernel/relu.cpp")->text, kKernel);
  EXPECT_EQ(made.hypothesis, "faster");
  ASSERT_EQ(made.choices.size(), 2u);
  EXPECT_EQ(made.choices[0], (Choice{"copy.tail", "pad"}));
}

TEST(ReplyParser, tells_unlabelled_files_apart_by_their_content) {
  const auto made =
      candidate("Here:\n" + fenced("cpp", kHost) + "and\n" + fenced("", kTiling) + fenced("c++", kKernel));
  EXPECT_TRUE(made.file("op_host/relu.cpp") && made.file("op_host/relu_tiling.h") &&
              made.file("op_kernel/relu.cpp"));
}

TEST(ReplyParser, takes_the_path_from_the_line_before_the_fence) {
  const auto made = candidate("### `op_kernel/relu.cpp`\n" + fenced("cpp", kKernel) +
                              "**op_host/relu.cpp**:\n" + fenced("cpp", kHost));
  EXPECT_TRUE(made.file("op_kernel/relu.cpp"));
}

TEST(ReplyParser, skips_thinking) {
  const auto made =
      candidate("<think>\n" + fenced("cpp title=\"op_kernel/wrong.cpp\"", kKernel) + "</think>\n" + whole());
  EXPECT_FALSE(made.file("op_kernel/wrong.cpp"));
}

TEST(ReplyParser, takes_the_last_of_several_versions) {
  const std::string better = "// better\n" + kKernel;
  EXPECT_EQ(candidate(whole() + "Improved:\n" + fenced("cpp title=\"op_kernel/relu.cpp\"", better))
                .file("op_kernel/relu.cpp")
                ->text,
            better);
}

TEST(ReplyParser, ignores_blocks_that_are_no_part_of_a_project) {
  EXPECT_EQ(candidate(fenced("bash", "cmake --build .\n") + whole()).files.size(), 3u);
  EXPECT_EQ(code("I cannot do this.\n" + fenced("bash", "ls\n")), "reply.no_code");
  EXPECT_EQ(code(""), "reply.no_code");
}

TEST(ReplyParser, refuses_paths_that_leave_the_project) {
  for (const std::string path : {"/etc/x.cpp", "../x.cpp", "op_kernel/../../x.cpp", "src/other/x.cpp"})
    EXPECT_EQ(code(whole() + fenced("cpp title=\"" + path + "\"", kKernel)), "reply.bad_path") << path;
}

TEST(ReplyParser, bounds_files_and_their_sizes) {
  EXPECT_EQ(
      code(fenced("cpp title=\"op_kernel/relu.cpp\"", kKernel + std::string(kReplyFileBytesMax, 'x') + "\n")),
      "reply.too_large");
  EXPECT_EQ(code(std::string(kReplyBytesMax + 1, 'x')), "reply.too_large");
  std::string many = whole();
  for (int i = 0; i < 20; ++i)
    many += fenced("cpp title=\"op_kernel/f" + std::to_string(i) + ".cpp\"", kKernel);
  EXPECT_EQ(code(many), "reply.too_many_files");
}

TEST(ReplyParser, refuses_a_project_without_host_code) {
  EXPECT_EQ(code(fenced("cpp", kKernel)), "reply.incomplete");
}

TEST(ReplyParser, applies_search_replace_to_the_start_point) {
  const Candidate start = candidate(whole());
  const std::string edit = "<<<<<<< SEARCH\n  int a = 1;\n=======\n  int a = 3;\n>>>>>>> REPLACE\n";
  EXPECT_THAT(
      candidate(fenced("cpp title=\"op_kernel/relu.cpp\"", edit), &start).file("op_kernel/relu.cpp")->text,
      testing::HasSubstr("int a = 3;"));
  EXPECT_EQ(
      code(fenced("cpp", "<<<<<<< SEARCH\n  int z = 1;\n=======\n  int a = 3;\n>>>>>>> REPLACE\n"), &start),
      "reply.unmatched_edit");
}

TEST(ReplyParser, applies_a_unified_diff_to_the_start_point) {
  const Candidate start = candidate(whole());
  const std::string diff =
      "--- a/op_kernel/relu.cpp\n+++ b/op_kernel/relu.cpp\n@@ -1,4 +1,4 @@\n   int a = 1;\n-  int b = 2;\n+  "
      "int b = 5;\n }\n";
  EXPECT_THAT(candidate(fenced("diff", diff), &start).file("op_kernel/relu.cpp")->text,
              testing::HasSubstr("int b = 5;"));
  EXPECT_EQ(code(fenced("diff", "@@ -1 +1 @@\n-no such line\n+x\n"), &start), "reply.unmatched_edit");
}

TEST(ReplyParser, keeps_the_files_that_an_answer_leaves_out) {
  const Candidate start = candidate(whole());
  const auto made = candidate(fenced("cpp title=\"op_kernel/relu.cpp\"", "// new\n" + kKernel), &start);
  EXPECT_EQ(made.files.size(), 3u);
}

TEST(ReplyParser, finds_an_unchanged_candidate) {
  const Candidate start = candidate(whole());
  EXPECT_EQ(code(whole(), &start), "reply.unchanged");
}

// Any bytes get a candidate or a finding.
TEST(ReplyParser, survives_damaged_answers) {
  const Candidate start = candidate(whole());
  const std::string base = "Hypothesis: x\nConstructs: a=b;;=;c\n<think>" + whole() +
                           fenced("diff", "@@\n-  int a = 1;\n+x\n") + "</think>" + whole();
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    std::string damaged = base;
    for (int i = 0; i < 6; ++i) {
      const auto at = static_cast<std::size_t>(random.below(damaged.size()));
      switch (random.below(4)) {
        case 0:
          damaged[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          damaged.erase(at, random.below(40));
          break;
        case 2:
          damaged.insert(at, i % 2 ? "```" : "\n@@ -1 +1 @@\n");
          break;
        default:
          damaged.insert(at, damaged.substr(static_cast<std::size_t>(random.below(damaged.size())), 30));
          break;
      }
      if (damaged.empty()) damaged = "x";
    }
    const auto parsed = parse_reply(damaged, task(), seed % 2 ? &start : nullptr);
    if (const auto* made = std::get_if<Candidate>(&parsed)) {
      EXPECT_LE(made->files.size(), kReplyFilesMax);
      for (const auto& file : made->files) EXPECT_EQ(file.path.find(".."), std::string::npos);
    } else {
      EXPECT_THAT(std::get<Finding>(parsed).code, testing::StartsWith("reply."));
    }
  }
}

}  // namespace
}  // namespace evk
