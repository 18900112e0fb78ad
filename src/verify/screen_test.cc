#include "verify/screen.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "verify/lexer.h"

namespace evk {
namespace {

using ::testing::HasSubstr;

const char* kHonestKernel = R"(#include "kernel_operator.h"
using namespace AscendC;
// This pass reads what torch.relu would; no asm, no fork() here.
/* A second pass: system("x") and "#pragma omp" are words in a comment. */
#define TILE_LENGTH 256
class KernelRelu {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t total) {
    xGm.SetGlobalBuffer((__gm__ float*)x, total);
    pipe.InitBuffer(queue, 2, TILE_LENGTH * sizeof(float));
  }
  __aicore__ inline void read(uint32_t i) { DataCopy(local, xGm[i], TILE_LENGTH); }
  __aicore__ inline void Process() { read(0); Relu(local, local, TILE_LENGTH); DataCopy(yGm[0], local, TILE_LENGTH); }
 private:
  static constexpr uint32_t kBuffers = 2;
  TPipe pipe;
  const char* name_ = "asm volatile // not a comment";
};
extern "C" __global__ __aicore__ void relu(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(t, tiling);
  KernelRelu op;
  op.Init(x, y, t.total);
  op.Process();
}
)";

const char* kHonestHost = R"(#include "relu_tiling.h"
#include "register/op_def_registry.h"
namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
  context->SetBlockDim(8);
  return ge::GRAPH_SUCCESS;
}
}
namespace ops {
class Relu : public OpDef {
 public:
  explicit Relu(const char* name) : OpDef(name) { this->AICore().SetTiling(optiling::TilingFunc); }
};
OP_ADD(Relu);
}
)";

Candidate candidate(const std::string& kernel, const std::string& host = kHonestHost) {
  return {{{"op_host/relu.cpp", host},
           {"op_host/relu_tiling.h", "#pragma once\n#include \"register/tilingdata_base.h\"\n"},
           {"op_kernel/relu.cpp", kernel}},
          {},
          ""};
}

std::string with_line(const std::string& line) { return std::string(kHonestKernel) + line + "\n"; }

std::vector<std::string> codes(const Candidate& c) {
  std::vector<std::string> out;
  for (const Finding& finding : screen(Task{}, c)) out.push_back(finding.code + ": " + finding.message);
  return out;
}

TEST(Screen, passes_an_honest_project_whatever_its_comments_and_strings_say) {
  EXPECT_THAT(codes(candidate(kHonestKernel)), ::testing::IsEmpty());
}

struct Refused {
  const char* line;
  const char* code;
};
class ScreenRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(ScreenRefuses, with_the_line_and_a_remedy) {
  const std::vector<Finding> findings = screen(Task{}, candidate(with_line(GetParam().line)));
  ASSERT_FALSE(findings.empty()) << GetParam().line;
  EXPECT_EQ(findings[0].code, GetParam().code) << findings[0].message;
  EXPECT_EQ(findings[0].file, "op_kernel/relu.cpp");
  EXPECT_EQ(findings[0].line,
            std::count(kHonestKernel, kHonestKernel + std::strlen(kHonestKernel), '\n') + 1);
  EXPECT_FALSE(findings[0].remedy.empty());
}

INSTANTIATE_TEST_SUITE_P(
    tricks, ScreenRefuses,
    ::testing::Values(
        Refused{"void f() { asm volatile(\"syscall\"); }", "screen.forbidden_token"},
        Refused{"void f() { __asm__(\".incbin \\\"/etc/passwd\\\"\"); }", "screen.forbidden_token"},
        Refused{"void f() { fork(); }", "screen.forbidden_token"},
        Refused{"void f() { ::system(\"ls\"); }", "screen.forbidden_token"},
        Refused{"void f() { std::exit(0); }", "screen.forbidden_token"},
        Refused{"int g = open(\"/etc/passwd\", 0);", "screen.forbidden_token"},
        Refused{"auto h = dlsym(nullptr, \"exp\");", "screen.forbidden_token"},
        Refused{"void f() { int* p = new int; }", "screen.forbidden_token"},
        Refused{"void f() { clock_\\\ngettime(0, nullptr); }", "screen.forbidden_token"},
        Refused{"#define JOIN(a, b) a##b", "screen.forbidden_token"},
        Refused{"%:define JOIN(a, b) a%:%:b", "screen.forbidden_token"},
        Refused{"void f() { void* p = &&again; again: goto *p; }", "screen.forbidden_token"},
        Refused{"extern int hidden;", "screen.forbidden_token"},
        Refused{"const char* where = __FILE__;", "screen.forbidden_token"},
        Refused{"__attribute__((constructor)) void f() {}", "screen.attribute"},
        Refused{"[[gnu::constructor]] void f() {}", "screen.attribute"},
        Refused{"__attribute__((section(\".init_array\"))) void (*p)() = nullptr;", "screen.attribute"},
        Refused{"#include <unistd.h>", "screen.include"},
        Refused{"#include \"/etc/passwd\"", "screen.include"},
        Refused{"#include \"../../secret.h\"", "screen.include"},
        Refused{"#pragma GCC optimize(\"fast-math\")", "screen.directive"},
        Refused{"#line 1 \"x\"", "screen.directive"}, Refused{"#define private public", "screen.directive"},
        Refused{"#ifdef __GNUC__\n#endif", "screen.conditional"},
        Refused{"#if defined(ASCENDC_CPU_DEBUG)\n#endif", "screen.conditional"},
        Refused{"void f() { evk::twin::engine(); }", "screen.internal"},
        Refused{"void f() { static int calls = 0; ++calls; }", "screen.mutable_static"},
        Refused{"/* no end", "screen.unreadable"}, Refused{"const char* s = \"no end", "screen.unreadable"}),
    [](const auto& trick) { return "trick_" + std::to_string(trick.index); });

TEST(Screen, finds_an_include_named_by_a_macro_on_its_own_line) {
  const auto findings = screen(Task{}, candidate(with_line("#define H <unistd.h>\n#include H")));
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].code, "screen.include");
}

TEST(Screen, refuses_what_computes_nothing_unless_the_task_is_a_copy) {
  const std::string copy =
      "#include \"kernel_operator.h\"\nextern \"C\" __global__ __aicore__ void k(GM_ADDR x) { DataCopy(a, b, "
      "8); }\n";
  EXPECT_THAT(codes(candidate(copy)), ::testing::ElementsAre(HasSubstr("screen.no_compute")));
  Task task;
  task.tolerance.op_class = "copy";
  EXPECT_TRUE(screen(task, candidate(copy)).empty());
}

TEST(Screen, refuses_a_table_of_answers) {
  std::string table = "constexpr float kAnswers[] = {";
  for (int i = 0; i < 300; ++i) table += "1.0f,";
  EXPECT_THAT(codes(candidate(with_line(table + "};"))),
              ::testing::ElementsAre(HasSubstr("screen.literal_table")));
}

TEST(Screen, refuses_invisible_and_invalid_characters) {
  EXPECT_THAT(codes(candidate(with_line("// \xe2\x80\xae reversed"))),
              ::testing::ElementsAre(HasSubstr("screen.encoding")));
  EXPECT_THAT(codes(candidate(with_line("// \xff"))), ::testing::ElementsAre(HasSubstr("screen.encoding")));
  EXPECT_THAT(codes(candidate(with_line("// \xe5\x90\x91\xe9\x87\x8f is fine in a comment"))),
              ::testing::IsEmpty());
}

TEST(Screen, refuses_paths_outside_of_the_layout) {
  for (const char* path :
       {"../x.cpp", "/etc/x.cpp", "op_kernel/x.so", "CMakeLists.txt", "op_kernel/a b.cpp"}) {
    const Candidate c{{{path, kHonestKernel}}, {}, ""};
    EXPECT_THAT(codes(c), ::testing::ElementsAre(HasSubstr("screen.path"))) << path;
  }
}

TEST(Screen, bounds_the_size_of_a_candidate) {
  EXPECT_THAT(codes(candidate(std::string(kHonestKernel) + std::string(300'000, '\n'))),
              ::testing::ElementsAre(HasSubstr("screen.size")));
}

TEST(Screen, keeps_host_code_from_the_system_too) {
  EXPECT_THAT(codes(candidate(kHonestKernel, std::string(kHonestHost) + "int f() { return fork(); }\n")),
              ::testing::ElementsAre(HasSubstr("fork")));
}

TEST(Lexer, tells_code_from_comments_literals_and_directives) {
  const Lexed lexed = lex("a/*b*/c//d\n\"e//f\" 'g' R\"x(h\n\"i)x\" 1'000.5e+3f\n#include <j>\nk");
  std::vector<std::string> texts;
  for (const Token& token : lexed.tokens) texts.push_back(token.text);
  EXPECT_THAT(texts, ::testing::ElementsAre("a", "c", "\"e//f\"", "'g'", "R\"x(h\n\"i)x\"", "1'000.5e+3f",
                                            "include", "<j>", "k"));
  EXPECT_EQ(lexed.tokens.back().line, 5);
}

}  // namespace
}  // namespace evk
