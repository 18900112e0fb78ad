#include "sandbox/child.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

namespace evk {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
constexpr int kRefused = 42;

ChildSpec victim(std::vector<std::string> words) {
  ChildSpec spec;
  spec.argv = {EVK_VICTIM};
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  spec.read_only_paths = runtime_paths();
  spec.read_only_paths.push_back(EVK_VICTIM);
  spec.limits.wall = 10s;
  spec.limits.cpu_seconds = 8;
  spec.limits.address_space_bytes = 1ull << 30;
  spec.limits.memory_bytes = 256ull << 20;
  return spec;
}

// What the victim does with the looser filter that compilers have.
ChildSpec loose(std::vector<std::string> words) {
  ChildSpec spec = victim(std::move(words));
  spec.system_calls = SystemCalls::kCompiler;
  spec.limits.processes = 32;
  return spec;
}

ChildEnd ended(const ChildSpec& spec) {
  Result<ChildEnd> end = run_child(spec);
  EXPECT_TRUE(end.has_value()) << (end ? "" : end.error().text());
  return end ? *std::move(end) : ChildEnd{};
}

bool in_force(const std::string& part) {
  const auto& list = sandbox_report().in_force;
  return std::find(list.begin(), list.end(), part) != list.end();
}

TEST(Sandbox, hands_back_output_and_exit_code) {
  ChildSpec spec = victim({"echo"});
  spec.input = "said on stdin";
  const ChildEnd end = ended(spec);
  EXPECT_TRUE(end.succeeded());
  EXPECT_EQ(end.output, "said on stdin");
  EXPECT_EQ(end.errors, "seen\n");
}

TEST(Sandbox, names_a_program_that_does_not_exist) {
  ChildSpec spec = victim({});
  spec.argv = {"/usr/lib/no-such-program"};
  const auto end = run_child(spec);
  ASSERT_FALSE(end.has_value());
  EXPECT_THAT(end.error().text(), HasSubstr("start the program"));
}

TEST(Sandbox, refuses_a_visible_path_that_does_not_exist) {
  ChildSpec spec = victim({"echo"});
  spec.read_only_paths.push_back("/no/such/path");
  const auto end = run_child(spec);
  ASSERT_FALSE(end.has_value());
  EXPECT_THAT(end.error().text(), HasSubstr("/no/such/path"));
}

TEST(Sandbox, ends_an_endless_loop_at_the_wall_limit) {
  ChildSpec spec = victim({"loop"});
  spec.limits.wall = 300ms;
  const auto start = std::chrono::steady_clock::now();
  const ChildEnd end = ended(spec);
  EXPECT_EQ(end.limit, LimitHit::kWall);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
}

TEST(Sandbox, ends_an_endless_loop_at_the_cpu_limit) {
  ChildSpec spec = victim({"loop"});
  spec.limits.cpu_seconds = 1;
  spec.limits.wall = 60s;
  EXPECT_EQ(ended(spec).limit, LimitHit::kCpu);
}

TEST(Sandbox, kills_a_program_that_forks_without_leave) {
  const ChildEnd end = ended(victim({"fork_bomb"}));
  EXPECT_TRUE(end.signal == SIGSYS || end.exit_code == kRefused) << end.signal << " " << end.exit_code;
}

TEST(Sandbox, contains_and_reaps_a_fork_bomb_within_a_second) {
  ChildSpec spec = loose({"fork_bomb"});
  spec.limits.wall = 400ms;
  const auto start = std::chrono::steady_clock::now();
  const ChildEnd end = ended(spec);
  EXPECT_EQ(end.limit, LimitHit::kWall);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1400ms);
}

TEST(Sandbox, allows_no_more_processes_than_the_limit) {
  if (!in_force("cgroup process limit") && !in_force("unprivileged uid of its own") &&
      !in_force("user namespace"))
    GTEST_SKIP() << "no limit of processes here";
  const ChildEnd end = ended(loose({"forks", "200"}));
  EXPECT_EQ(end.exit_code, kRefused);
  EXPECT_LE(std::stoi("0" + end.output), 34);
  EXPECT_GE(std::stoi("0" + end.output), 8);
}

TEST(Sandbox, refuses_a_hundred_gigabytes) {
  EXPECT_EQ(ended(victim({"touch", "107374182400"})).exit_code, kRefused);
}

TEST(Sandbox, ends_memory_use_beyond_the_group_limit) {
  if (!in_force("cgroup memory limit")) GTEST_SKIP() << "no writable memory controller here";
  const ChildEnd end = ended(victim({"touch", "629145600"}));
  EXPECT_EQ(end.limit, LimitHit::kMemory);
}

TEST(Sandbox, refuses_memory_files) {
  const ChildEnd strict = ended(victim({"memory_file"}));
  EXPECT_TRUE(strict.signal == SIGSYS || strict.exit_code == kRefused);
  EXPECT_EQ(ended(loose({"memory_file"})).exit_code, kRefused);
}

TEST(Sandbox, bounds_the_files_a_child_writes) {
  ChildSpec large = victim({"files", "1", "50000000"});
  large.limits.file_bytes = 1 << 20;
  EXPECT_EQ(ended(large).limit, LimitHit::kFiles);
}

TEST(Sandbox, bounds_the_scratch_folder_by_size_and_by_number_of_files) {
  if (!in_force("mount namespace")) GTEST_SKIP() << "no private scratch folder here";
  EXPECT_EQ(ended(victim({"files", "100000", "10"})).exit_code, kRefused);
  EXPECT_EQ(ended(victim({"files", "100", "1000000"})).exit_code, kRefused);
}

TEST(Sandbox, ends_a_flood_of_output_and_keeps_its_beginning) {
  const ChildEnd end = ended(victim({"output_flood"}));
  EXPECT_EQ(end.limit, LimitHit::kOutput);
  EXPECT_EQ(end.output.size(), 64u * 1024);
}

TEST(Sandbox, refuses_the_network) {
  const ChildEnd strict = ended(victim({"network"}));
  EXPECT_TRUE(strict.signal == SIGSYS || strict.exit_code == kRefused);
  EXPECT_EQ(ended(loose({"network"})).exit_code, kRefused);
}

TEST(Sandbox, kills_a_daemon_with_its_child) {
  // The daemon would write to the inherited pipe after its parent has gone; the pipe's end says that nobody
  // lives.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ChildSpec spec = loose({"daemon", "late"});
  spec.descriptors = {{ends[1], 7}};
  EXPECT_TRUE(ended(spec).succeeded());
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "a descendant still holds the pipe";
  close(ends[0]);
}

TEST(Sandbox, hides_every_file_that_is_not_named) {
  for (const char* path : {"/etc/shadow", "/etc/passwd", "/proc/self/maps", "/sys/kernel/ostype"}) {
    EXPECT_EQ(ended(victim({"read", path})).exit_code, kRefused) << path;
    EXPECT_EQ(ended(loose({"read", path})).exit_code, kRefused) << path;
  }
  ChildSpec named = victim({"read", "/etc/passwd"});
  named.read_only_paths.push_back("/etc/passwd");
  EXPECT_EQ(ended(named).exit_code, 0) << "a named file is to be seen";
}

TEST(Sandbox, keeps_visible_paths_from_being_written) {
  for (const char* path : {"/usr/lib/evk-was-here", "/in/evk-was-here", "/evk-was-here"}) {
    EXPECT_EQ(ended(loose({"write", path})).exit_code, kRefused) << path;
  }
}

TEST(Sandbox, inherits_no_environment) {
  setenv("EVK_SECRET", "token", 1);
  EXPECT_EQ(ended(victim({"environment"})).output, "");
  ChildSpec spec = victim({"environment"});
  spec.env = {"A=b"};
  EXPECT_EQ(ended(spec).output, "A=b\n");
}

TEST(Sandbox, is_not_root_inside) { EXPECT_EQ(ended(victim({"uid"})).exit_code, kRefused); }

TEST(Sandbox, reports_the_signal_of_a_crash) {
  const ChildEnd end = ended(victim({"signal_self"}));
  EXPECT_EQ(end.signal, SIGSEGV);
  EXPECT_EQ(end.limit, LimitHit::kNone);
}

TEST(Sandbox, passes_descriptors_under_their_number) {
  const int fd = memfd_create("shared", MFD_CLOEXEC);
  ChildSpec spec = victim({"descriptor"});
  spec.descriptors = {{fd, 7}};
  EXPECT_TRUE(ended(spec).succeeded());
  char text[8] = {};
  EXPECT_EQ(pread(fd, text, 7, 0), 7);
  EXPECT_STREQ(text, "through");
  close(fd);
}

TEST(Sandbox, places_files_and_collects_plain_ones) {
  ChildSpec spec = victim({"read", "@in/dir/note.txt"});
  spec.files = {{"dir/note.txt", "words"}};
  EXPECT_EQ(ended(spec).exit_code, 0);
  spec = victim({"write", "@tmp/out.txt"});
  spec.collect = {"out.txt", "absent.txt"};
  const ChildEnd end = ended(spec);
  ASSERT_EQ(end.collected.size(), 2u);
  EXPECT_EQ(end.collected[0], "result of the child");
  EXPECT_TRUE(end.found[0]);
  EXPECT_FALSE(end.found[1]);
}

TEST(Sandbox, refuses_paths_that_leave_the_folder) {
  ChildSpec spec = victim({"echo"});
  spec.files = {{"../escape", "x"}};
  EXPECT_FALSE(run_child(spec).has_value());
}

TEST(Sandbox, can_be_watched_and_killed) {
  auto child = Child::start(victim({"loop"}));
  ASSERT_TRUE(child.has_value()) << child.error().text();
  EXPECT_TRUE((*child)->alive());
  (*child)->kill();
  const auto end = (*child)->wait();
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->killed_by_caller);
  EXPECT_FALSE((*child)->alive());
}

TEST(Sandbox, serves_many_threads_at_once) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&good, t] {
      for (int i = 0; i < 10; ++i) {
        ChildSpec spec = victim({"echo"});
        spec.input = std::to_string(t * 100 + i);
        const auto end = run_child(spec);
        if (end && end->succeeded() && end->output == spec.input) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 60);
}

TEST(Sandbox, says_what_is_in_force_and_what_is_missing) {
  const SandboxReport& report = sandbox_report();
  for (const std::string& line : report.in_force) RecordProperty("in_force", line);
  EXPECT_FALSE(report.in_force.empty());
  for (const std::string& line : report.missing)
    EXPECT_THAT(line, HasSubstr(":")) << "a lack names its reason";
}

}  // namespace
}  // namespace evk
