// CPU seconds per candidate, by gate, for a 4096-row softmax project: user and system time of this process
// and of the children it reaped. The named baseline is the compiler alone, run unsandboxed on the same kernel
// without precompiled headers: what any verifier pays at least, had it no cache.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/ascendc_twin.h"
#include "twin/engine/session.h"
#include "verify/gates.h"
#include "verify/red_team.h"

namespace {

using namespace evk;
namespace fs = std::filesystem;

double cpu_seconds() {
  double total = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    total += static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
             static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
  }
  return total;
}

AscendCTwinConfig twin_config() {
  AscendCTwinConfig config;
  config.twin_dir = EVK_SOURCE_DIR "/twin";
  config.device_file = config.twin_dir + "/devices/ascend910b1.toml";
  config.program = EVK_PROGRAM;
  config.cache_dir = (fs::temp_directory_path() / fmt::format("evokernel-bench-{}", getpid())).string();
  return config;
}

Candidate softmax_project() {
  const auto cases = read_red_team(EVK_SOURCE_DIR "/tests/redteam");
  for (const RedTeamCase& one : *cases) {
    if (one.name == "honest_softmax") return one.candidate;
  }
  return {};
}

// The same project under another hash, so that no cache knows it.
Candidate varied(Candidate candidate, std::int64_t number) {
  for (SourceFile& file : candidate.files) file.text += fmt::format("// variant {}\n", number);
  return candidate;
}

// The rows of the published shape, verified at full size.
Task softmax_task() {
  Task task;
  for (const Task& one : red_team_tasks()) {
    if (one.name == "softmax") task = one;
  }
  return task;
}

struct Bench {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<CaseReader> reader = red_team_reader();
  std::vector<std::pair<const char*, std::unique_ptr<Gate>>> gates;
  Task task = softmax_task();
  Candidate candidate = softmax_project();
  std::int64_t next = 0;

  Bench() {
    auto made = make_ascendc_twin(twin_config());
    if (!made) {
      fmt::print(stderr, "{}\n", made.error().text());
      std::exit(3);
    }
    backend = std::move(*made);
    gates.emplace_back("screen", make_screen_gate({}));
    gates.emplace_back("compile", make_compile_gate(*backend));
    gates.emplace_back("compare", make_compare_gate({}, *backend, *reader));
    gates.emplace_back("measure", make_measure_gate({}, *backend, *reader));
  }
};

Bench& bench() {
  static Bench one;
  return one;
}

// The baseline: g++ on kernel and host, and the link, as a shell would do it.
void compiler_alone(benchmark::State& state) {
  const twin::BuildRecipe recipe = twin::build_recipe(EVK_SOURCE_DIR "/twin", EVK_PROGRAM);
  const fs::path folder = fs::temp_directory_path() / fmt::format("evokernel-bench-plain-{}", getpid());
  for (const SourceFile& file : bench().candidate.files) {
    fs::create_directories((folder / file.path).parent_path());
    std::ofstream(folder / file.path) << file.text;
  }
  const auto words = [](const std::vector<std::string>& flags) {
    std::string text;
    for (const std::string& flag : flags) text += " " + flag;
    return text;
  };
  const std::string f = folder.string();
  const std::string command = fmt::format(
      "g++{} -include {}/op_host/softmax_tiling.h -c {}/op_kernel/softmax.cpp -o {}/k.o && g++{} -c "
      "{}/op_host/softmax.cpp -o {}/h.o && g++ {}/k.o {}/h.o{} -o {}/s.so",
      words(recipe.kernel_flags), f, f, f, words(recipe.host_flags), f, f, f, f, words(recipe.link_flags), f);
  double spent = 0;
  for (auto _ : state) {
    const double before = cpu_seconds();
    if (std::system(command.c_str()) != 0) state.SkipWithError("the compiler failed");
    spent += cpu_seconds() - before;
  }
  state.counters["cpu_s"] = spent / static_cast<double>(state.iterations());
  fs::remove_all(folder);
}

void all_gates(benchmark::State& state) {
  Bench& b = bench();
  std::map<std::string, double> spent;
  double total = 0;
  for (auto _ : state) {
    const Candidate candidate = varied(b.candidate, ++b.next);
    Evidence evidence;
    for (const auto& [name, gate] : b.gates) {
      const double before = cpu_seconds();
      const auto outcome = gate->inspect(b.task, candidate, evidence);
      spent[name] += cpu_seconds() - before;
      if (!outcome || (*outcome && !std::holds_alternative<Measured>(**outcome)))
        state.SkipWithError(outcome ? "the project was refused" : outcome.error().text().c_str());
    }
  }
  for (const auto& [name, seconds] : spent) {
    state.counters["cpu_s_" + name] = seconds / static_cast<double>(state.iterations());
    total += seconds / static_cast<double>(state.iterations());
  }
  state.counters["cpu_s"] = total;
}

BENCHMARK(compiler_alone)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(all_gates)->Iterations(10)->Unit(benchmark::kMillisecond);

// Prints the ratio of the two from one run.
class WithRatio : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      const auto found = run.counters.find("cpu_s");
      if (found != run.counters.end()) seconds_[run.run_name.function_name] = found->second.value;
    }
  }
  void Finalize() override {
    ConsoleReporter::Finalize();
    const double base = seconds_["compiler_alone"], all = seconds_["all_gates"];
    if (base > 0)
      fmt::print("all gates / compiler alone without precompiled headers: {:.2f} ({:.3f} s / {:.3f} s)\n",
                 all / base, all, base);
  }

 private:
  std::map<std::string, double> seconds_;
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  WithRatio reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  std::error_code ignored;
  fs::remove_all(twin_config().cache_dir, ignored);
  return 0;
}
