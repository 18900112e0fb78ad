// Recall from a large memory: what the index finds, and in what time and space, beside an exact scan over the
// same vectors and beside the bare library with the same parameters; then the opening of a large store.
//
//   memory_bench [--million] [--store-only]
//
// Vectors are the embedder's, of texts of the form that tasks have: no two alike, in families as operators
// are. `--million` adds a million vectors of 256 floats and takes about twenty minutes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/check.h"
#include "base/random.h"
#include "memory/memory.h"
#include "store/store.h"

// The library defines functions in its headers that are not inline, and the index links with its own.
#define hnswlib bare_hnswlib
#define cpuid bare_cpuid
#define xgetbv bare_xgetbv
#define AVXCapable bare_avx_capable
#define AVX512Capable bare_avx512_capable
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wtype-limits"
#include <hnswlib/hnswlib.h>
#pragma GCC diagnostic pop
#undef hnswlib

namespace evk {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kWanted = 150;
constexpr std::size_t kQueries = 300;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

double resident_mib() {
  std::ifstream stat("/proc/self/statm");
  double pages = 0;
  stat >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

const char* const kOps[] = {"mul",
                            "add",
                            "sub",
                            "div",
                            "exp",
                            "sum",
                            "mean",
                            "amax",
                            "sigmoid",
                            "tanh",
                            "relu",
                            "gelu",
                            "erf",
                            "sqrt",
                            "rsqrt",
                            "pow",
                            "var",
                            "clamp",
                            "where",
                            "softmax",
                            "logsumexp",
                            "mm",
                            "bmm",
                            "addmm",
                            "convolution",
                            "max_pool2d",
                            "avg_pool2d",
                            "cumsum",
                            "transpose",
                            "view",
                            "expand",
                            "cat",
                            "slice",
                            "gather",
                            "index_select",
                            "layer_norm",
                            "native_batch_norm",
                            "group_norm",
                            "linear",
                            "embedding"};
const char* const kSubjects[] = {"matmul", "conv2d",     "conv3d",    "pool",      "softmax",
                                 "norm",   "activation", "loss",      "attention", "gate",
                                 "reduce", "scan",       "embedding", "optimizer"};
const char* const kShapes[] = {"4096,1024",  "16,64,256,256", "32,128,64",
                               "1,32,16,64", "2048,2048",     "8,512,512"};

// The text of task `n`: a family (which operators, of which subject) with sizes, names and a body of its own.
std::string text_of_task(std::uint64_t n) {
  Random random(mix(0x7461736b, n));
  Random family(mix(0x66616d, random.below(400)));
  const auto pick = [](Random& r, auto& list) { return std::string(list[r.below(std::size(list))]); };
  const auto number = [&](std::uint64_t max) { return std::to_string(1 + random.below(max)); };
  std::vector<std::string> ops;
  for (std::uint64_t i = 0, end = 2 + family.below(6); i < end; ++i) ops.push_back(pick(family, kOps));
  if (random.below(2) == 0)
    ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(random.below(ops.size())), pick(random, kOps));
  const std::string subject = pick(family, kSubjects), name = subject + "_" + ops[0] + "_" + ops[1];
  std::string text = name + " " + subject + " " + ops[0] + " " + subject + "\n";
  std::string body;
  for (std::uint64_t i = 0, end = 1 + family.below(3); i < end; ++i)
    text += "x" + std::to_string(i) + " float32 [" + pick(random, kShapes) + "]\n";
  for (const auto& op : ops) {
    text += "aten." + op + ".default\n";
    body += "        " + pick(family, kSubjects) + " = torch." + op + "(x, dim=" + number(4) +
            ", scale=" + number(999) + ")\n";
  }
  text += "import torch\nimport torch.nn as nn\n\nclass Model(nn.Module):\n    def __init__(self, features_" +
          number(60) + ", size):\n        super().__init__()\n        self." + pick(random, kSubjects) +
          " = nn." + pick(random, kOps) + "(" + number(4096) + ", " + number(4096) +
          ")\n    def forward(self, x):\n" + body + "        return x\n";
  text += "batch_size = " + number(256) + "\ndim = " + number(65536) + "\n";
  return text + (random.below(3) == 0 ? "vector" : random.below(2) == 0 ? "mte2" : "scalar");
}

struct Timed {
  std::vector<double> add_ms, query_ms;
  double build_s = 0;
};

std::vector<Neighbour> ask(const VectorIndex& index, std::span<const float> query) {
  return index.nearest(query, kWanted, [](ItemId) { return true; });
}

// Share of answers as near as the exact ones: of equals, which is named does not matter.
double recall(const std::vector<Neighbour>& exact, std::size_t answered_as_near) {
  return static_cast<double>(std::min(answered_as_near, exact.size())) / static_cast<double>(exact.size());
}

void bench_index(std::size_t rows, std::size_t dimension) {
  std::vector<std::string> corpus;
  for (std::uint64_t n = 0; n < 500; ++n) corpus.push_back(text_of_task(~n));
  const auto embedder = hashed_tf_idf(corpus, dimension);
  std::vector<float> vectors(rows * dimension);
  const auto embed_rows = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const auto vector = embedder->embed(text_of_task(i));
      std::copy(vector.begin(), vector.end(), vectors.begin() + static_cast<std::ptrdiff_t>(i * dimension));
    }
  };
  const auto embed_start = Clock::now();
  std::thread half([&] { embed_rows(0, rows / 2); });
  embed_rows(rows / 2, rows);
  half.join();
  const double embed_ms = 2 * ms_since(embed_start) / static_cast<double>(rows);
  const auto row = [&](std::size_t i) {
    return std::span<const float>(vectors).subspan(i * dimension, dimension);
  };
  const double raw_mib = static_cast<double>(vectors.size() * sizeof(float)) / (1 << 20);

  Timed ours, bare, scan;
  // One after the other: the space is that of ours alone.
  const double before_mib = resident_mib();
  VectorIndex index(dimension);
  auto start = Clock::now();
  for (std::size_t i = 0; i < rows; ++i) {
    const auto added = Clock::now();
    index.add({static_cast<std::int64_t>(i) + 1}, row(i));
    ours.add_ms.push_back(ms_since(added));
  }
  ours.build_s = ms_since(start) / 1000;
  const double used_mib = resident_mib() - before_mib;

  bare_hnswlib::InnerProductSpace space(dimension);
  bare_hnswlib::HierarchicalNSW<float> library(&space, rows, Hnsw::kLinks, Hnsw::kBreadth);
  library.setEf(std::max<std::size_t>(400, 3 * kWanted));
  start = Clock::now();
  for (std::size_t i = 0; i < rows; ++i) {
    const auto added = Clock::now();
    library.addPoint(vectors.data() + i * dimension, i);
    bare.add_ms.push_back(ms_since(added));
  }
  bare.build_s = ms_since(start) / 1000;

  VectorIndex exact(dimension, rows);
  for (std::size_t i = 0; i < rows; ++i) exact.add({static_cast<std::int64_t>(i) + 1}, row(i));
  double recall_ours = 0, recall_bare = 0;
  for (std::uint64_t q = 0; q < kQueries; ++q) {
    const auto query = embedder->embed(text_of_task(rows + 1000 + q));
    start = Clock::now();
    const auto truth = ask(exact, query);
    scan.query_ms.push_back(ms_since(start));
    start = Clock::now();
    const auto found = ask(index, query);
    ours.query_ms.push_back(ms_since(start));
    start = Clock::now();
    auto answered = library.searchKnn(query.data(), kWanted);
    bare.query_ms.push_back(ms_since(start));

    const double least = truth.back().similarity - 1e-6;
    recall_ours += recall(
        truth, static_cast<std::size_t>(std::count_if(
                   found.begin(), found.end(), [&](const Neighbour& n) { return n.similarity >= least; })));
    std::size_t as_near = 0;
    for (; !answered.empty(); answered.pop())
      as_near += 1 - static_cast<double>(answered.top().first) >= least;
    recall_bare += recall(truth, as_near);
  }
  recall_ours /= kQueries, recall_bare /= kQueries;
  fmt::print("{} vectors of {} floats ({}; raw {:.0f} MiB; embedding {:.2f} ms a text)\n", rows, dimension,
             index.is_exact() ? "scanned" : "graph", raw_mib, embed_ms);
  const auto line = [&](const char* name, const Timed& t, double found) {
    fmt::print("  {:<12} recall@{} {:.4f}  query p50 {:7.3f} ms p99 {:7.3f} ms ({:.3f} of a scan)", name,
               kWanted, found, quantile(t.query_ms, 0.5), quantile(t.query_ms, 0.99),
               quantile(t.query_ms, 0.5) / quantile(scan.query_ms, 0.5));
    if (!t.add_ms.empty())
      fmt::print("  add p50 {:.3f} ms p99 {:.3f} ms, {:.1f} s in all", quantile(t.add_ms, 0.5),
                 quantile(t.add_ms, 0.99), t.build_s);
    fmt::print("\n");
  };
  line("ours", ours, recall_ours);
  line("hnswlib", bare, recall_bare);
  line("exact scan", scan, 1);
  fmt::print("  ours / hnswlib: query {:.2f}, build {:.2f}; memory / raw vectors: {:.2f}\n\n",
             quantile(ours.query_ms, 0.5) / quantile(bare.query_ms, 0.5), ours.build_s / bare.build_s,
             used_mib / raw_mib);
  std::fflush(stdout);
}

// A store of `count` items: half experiences, half traces with their code, ten to a task and outcome.
MemoryItem item_number(std::int64_t n) {
  MemoryItem item;
  item.id = {n};
  item.kind = n % 2 ? ItemKind::kTrace : ItemKind::kExperience;
  item.task = TaskId{fmt::format("task{}", n / 100)};
  item.source = "run";
  item.name = fmt::format("item/{}", n);
  item.key_text = text_of_task(static_cast<std::uint64_t>(n / 10));
  item.text = fmt::format("experience {} ", n) + std::string(500, 'x');
  if (item.kind == ItemKind::kTrace)
    item.files = {{"op_kernel/a.cpp", fmt::format("// {}\n", n) + std::string(4000, 'y')}};
  item.source_hash = item.name;
  return item;
}

void bench_store(std::int64_t count) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("memory_bench.{}", ::getpid());
  std::filesystem::create_directories(folder);
  const std::string path = folder / "large.evk", kept = path + ".index";
  const std::shared_ptr<const Embedder> embedder = hashed_tf_idf({});
  std::vector<MemoryItem> items;
  for (std::int64_t n = 1; n <= count; ++n) items.push_back(item_number(n));
  const auto built = Clock::now();
  EVK_CHECK(Memory(embedder, items, "").keep_index(kept).has_value());
  const double build_ms = ms_since(built);
  {
    auto store = Store::open(path);
    EVK_CHECK(store && (*store)->begin_campaign({{"seed", "1"}}, {}, items).has_value());
  }
  items.clear();
  auto start = Clock::now();
  auto store = Store::open(path);
  auto read = (*store)->items();
  EVK_CHECK(read.has_value());
  const double items_ms = ms_since(start);
  const Memory memory(embedder, *std::move(read), kept);
  const double open_ms = ms_since(start);
  EVK_CHECK(memory.kept_vectors() == static_cast<std::size_t>(count));
  fmt::print(
      "a store of {} items ({} texts, {:.0f} MiB): opened in {:.0f} ms, {:.0f} of them its items; {:.3f} of "
      "making the index again\n",
      count, memory.index().rows(), static_cast<double>(std::filesystem::file_size(path)) / (1 << 20),
      open_ms, items_ms, open_ms / (items_ms + build_ms));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace evk

int main(int argc, char** argv) {
  bool million = false, store_only = false;
  for (int i = 1; i < argc; ++i) {
    million |= std::strcmp(argv[i], "--million") == 0;
    store_only |= std::strcmp(argv[i], "--store-only") == 0;
  }
  evk::bench_store(100'000);
  if (store_only) return 0;
  evk::bench_index(10'000, 1024);
  evk::bench_index(100'000, 1024);
  if (million) evk::bench_index(1'000'000, 256);
}
