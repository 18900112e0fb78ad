#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "backend/diagnostics.h"
#include "backend/object_check.h"
#include "backend/twin_report.h"

namespace evk {
namespace {

using ::testing::HasSubstr;

TEST(Diagnostics, tell_the_candidates_line_and_message) {
  const auto findings = parse_diagnostics(
      "/in/op_kernel/relu.cpp: In function 'void f()':\n/in/op_kernel/relu.cpp:12:5: error: 'Relux' was not "
      "declared in this scope\n",
      {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "compile.error");
  EXPECT_EQ(findings[0].file, "op_kernel/relu.cpp");
  EXPECT_EQ(findings[0].line, 12);
  EXPECT_EQ(findings[0].message, "'Relux' was not declared in this scope");
}

TEST(Diagnostics, place_an_error_within_a_header_at_the_line_that_led_there) {
  const DiagnosticPaths paths{"/in/", "/opt/twin/include"};
  const auto findings = parse_diagnostics(
      "/opt/twin/include/vector.h: In instantiation of 'void Add(T) [with T = int]':\n"
      "/in/op_kernel/k.cpp:40:9:   required from here\n"
      "/opt/twin/include/vector.h:7:17: error: static assertion failed: no such type\n",
      paths);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].file, "op_kernel/k.cpp");
  EXPECT_EQ(findings[0].line, 40);
}

TEST(Diagnostics, name_what_the_linker_misses_and_no_path_of_the_machine) {
  const DiagnosticPaths paths{"/in/", "/opt/twin/include"};
  const auto findings = parse_diagnostics(
      "ld.mold: error: undefined symbol: Foo()\n/opt/twin/include/a.h:1:1: error: in /opt/twin/include/a.h\n",
      paths);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].code, "compile.link_error");
  EXPECT_THAT(findings[1].message, ::testing::Not(HasSubstr("/opt")));
}

TEST(Diagnostics, keep_the_first_five_and_bound_each) {
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "/in/a.cpp:" + std::to_string(i + 1) + ":1: error: " + std::string(5000, 'x') + "\n";
  const auto findings = parse_diagnostics(text, {});
  ASSERT_EQ(findings.size(), 5u);
  for (const Finding& finding : findings) EXPECT_LE(finding.message.size(), 410u);
}

TEST(ObjectCheck, reads_the_symbols_of_a_shared_object) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&std::exp2f), &info), 0);
  std::ifstream in(std::filesystem::canonical(info.dli_fname), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  const auto facts = read_object(bytes);
  ASSERT_TRUE(facts.has_value()) << facts.error().text();
  EXPECT_TRUE(std::any_of(facts->symbols.begin(), facts->symbols.end(),
                          [](const ObjectSymbol& s) { return s.name == "expf" && s.defined && s.function; }));
  EXPECT_FALSE(facts->libraries.empty());
  // Whatever is cut off or overwritten, reading stays within the bytes.
  for (std::size_t size = 0; size < 4096; size += 61)
    (void)read_object(std::string_view(bytes).substr(0, size));
  EXPECT_FALSE(read_object("not an object").has_value());
}

TEST(ObjectCheck, allows_computing_and_refuses_the_system) {
  for (const char* name : {"expf", "memcpy", "_ZNSt6vectorIiSaIiEE9push_backERKi", "__cxa_throw"})
    EXPECT_TRUE(allowed_symbol(name)) << name;
  for (const char* name : {"fork", "open", "dlopen", "socket", "pthread_create", "clock_gettime", "exit",
                           "_ZNSt6thread4joinEv", "_ZNSt6chrono3_V212system_clock3nowEv", "environ"}) {
    EXPECT_FALSE(allowed_symbol(name)) << name;
  }
}

twin::RunProfile loads(double vec, double scalar, double mte2, double mte3, std::uint32_t blocks) {
  twin::RunProfile p;
  p.vec_ratio = vec;
  p.scalar_ratio = scalar;
  p.mte2_ratio = mte2;
  p.mte3_ratio = mte3;
  p.block_dim = blocks;
  return p;
}

TEST(TwinReport, labels_the_bottleneck) {
  EXPECT_EQ(bottleneck_of(loads(0.134, 0.677, 0.346, 0.1, 48), 48), "scalar_bound");
  EXPECT_EQ(bottleneck_of(loads(0.2, 0.1, 0.45, 0.4, 48), 48), "mixed:load+store");
  EXPECT_EQ(bottleneck_of(loads(0.2, 0.1, 0.3, 0.2, 8), 48), "stall_bound few_cores");
  auto conflicts = loads(0.9, 0, 0, 0, 48);
  conflicts.bank_conflict_ratio = 0.111;
  EXPECT_EQ(bottleneck_of(conflicts, 48), "vector_bound bank_conflict");
}

RunResult after(twin::RunEnd end, const ChildEnd& child, std::vector<twin::Finding> findings = {}) {
  twin::RunReport report;
  report.end = end;
  report.findings = std::move(findings);
  report.last_location = "/in/op_kernel/k.cpp:17";
  return result_of(std::move(report), child, twin::Device{});
}

TEST(TwinReport, tells_crash_early_exit_and_forbidden_calls_apart) {
  ChildEnd crash;
  crash.signal = SIGSEGV;
  const RunResult crashed = after(twin::RunEnd::kAborted, crash);
  EXPECT_EQ(crashed.kind, RunResultKind::kFaulted);
  EXPECT_EQ(crashed.findings[0].code, "run.crash");
  EXPECT_EQ(crashed.findings[0].file, "op_kernel/k.cpp");
  EXPECT_EQ(crashed.findings[0].line, 17);
  EXPECT_EQ(after(twin::RunEnd::kAborted, ChildEnd{}).findings[0].code, "run.early_exit");
  ChildEnd refused;
  refused.signal = SIGSYS;
  EXPECT_EQ(after(twin::RunEnd::kAborted, refused).findings[0].code, "run.forbidden_call");
}

TEST(TwinReport, names_the_limit_that_stopped_a_run) {
  EXPECT_EQ(after(twin::RunEnd::kTimedOut, {}).limit, "time");
  EXPECT_EQ(after(twin::RunEnd::kRunaway, {}).limit, "instructions");
  ChildEnd memory;
  memory.signal = SIGKILL;
  memory.limit = LimitHit::kMemory;
  const RunResult stopped = after(twin::RunEnd::kAborted, memory);
  EXPECT_EQ(stopped.kind, RunResultKind::kStopped);
  EXPECT_EQ(stopped.limit, "memory");
}

TEST(TwinReport, takes_faults_for_faults_and_notes_for_notes) {
  twin::Finding fault;
  fault.code = "ub_overflow";
  twin::Finding note = fault;
  note.note = true;
  EXPECT_EQ(after(twin::RunEnd::kComplete, {}, {note}).kind, RunResultKind::kComplete);
  const RunResult faulted = after(twin::RunEnd::kComplete, {}, {fault, note});
  EXPECT_EQ(faulted.kind, RunResultKind::kFaulted);
  ASSERT_EQ(faulted.findings.size(), 1u);
  EXPECT_EQ(faulted.findings[0].code, "twin.ub_overflow");
  EXPECT_EQ(faulted.notes.size(), 1u);
}

}  // namespace
}  // namespace evk
