// Overhead of the agent per attempt, without model and verifier, with 10,000 items in memory: retrieval,
// learning, commit. Baseline of the ratio: one exact scan over as many vectors of the same dimension.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "learn/learner.h"
#include "retrieve/retriever.h"
#include "store/store.h"

namespace evk {
namespace {

constexpr std::int64_t kItems = 10000;
constexpr std::int64_t kTasks = 100;

MemoryItem item_number(std::int64_t n) {
  MemoryItem item;
  item.id = {n};
  item.kind = n % 2 ? ItemKind::kTrace : ItemKind::kExperience;
  item.task = TaskId{fmt::format("task{}", n % kTasks)};
  item.feasible = n % 3 == 0;
  item.latency_ns = 1000.0 + static_cast<double>(n);
  item.source = "run";
  item.name = fmt::format("item/{}", n);
  item.key_text =
      fmt::format("operator {} rows {} softmax exp sum norm {} relu {}", n % kTasks, n % 7, n % 13, n % 17);
  item.text = std::string(500, 'x');
  if (item.kind == ItemKind::kTrace) item.files = {{"op_kernel/a.cpp", std::string(4000, 'y')}};
  item.source_hash = item.name;
  return item;
}

struct World {
  Memory memory{hashed_tf_idf({})};
  LearningState state;
  Task task;
  World() {
    task.id = {"task1"};
    task.name = "softmax";
    task.source_text = std::string(1500, 'z');
    Attempt a;
    a.task = {"other"};
    Learnt l;
    for (std::int64_t n = 1; n <= kItems; ++n) {
      memory.add(item_number(n));
      if (n % 2)
        l.changes.push_back({Stage::kDraft, {n}, {}, {0.001 * static_cast<double>(n % 100), 1, 0, 0, 1}});
    }
    state.apply(a, l);
  }
};

World& world() {
  static World w;
  return w;
}

Attempt attempt_of(Context context) {
  Attempt a;
  a.task = world().task.id;
  a.context = std::move(context);
  a.prompt = std::string(20000, 'p');
  a.answer.text = std::string(8000, 'a');
  a.candidate.files = {{"op_kernel/a.cpp", std::string(6000, 'c')}};
  a.verdict = Verdict{Measured{900, true, {}}, {}, true, {}, ""};
  return a;
}

void scan(benchmark::State& bench) {
  const auto query = world().memory.embed(world().task.key_text());
  for (auto _ : bench)
    benchmark::DoNotOptimize(world().memory.index().nearest(query, 10, [](ItemId) { return true; }));
}

void retrieve(benchmark::State& bench) {
  for (auto _ : bench) {
    Random random(1);
    benchmark::DoNotOptimize(
        retrieve_for_draft(world().task, world().memory, world().state, {}, {2, 0.3}, random));
  }
}

void attempt(benchmark::State& bench) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("evk bench {}", ::getpid());
  std::filesystem::create_directories(folder);
  auto store = *Store::open((folder / "bench.evk").string());
  const auto facts = [](const Task&, const Candidate&, const Verdict&) { return std::vector<Fact>{}; };
  if (!store->begin_campaign({{"seed", "1"}}, {{world().task.id, "", ""}}, {}))
    bench.SkipWithError("cannot begin");
  std::int64_t id = 0;
  for (auto _ : bench) {
    Random random(1);
    Attempt a =
        attempt_of(retrieve_for_draft(world().task, world().memory, world().state, {}, {2, 0.3}, random));
    a.id = {++id};
    const Learnt learnt = learn_from(world().task, a, world().state, {}, facts, kItems + 2 * id);
    if (!store->commit(a, learnt, {})) bench.SkipWithError("cannot commit");
  }
  store.reset();
  std::filesystem::remove_all(folder);
}

BENCHMARK(scan)->Unit(benchmark::kMillisecond);
BENCHMARK(retrieve)->Unit(benchmark::kMillisecond);
BENCHMARK(attempt)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evk

BENCHMARK_MAIN();
