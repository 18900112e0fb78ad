#include "campaign/synthetic.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include "base/check.h"

namespace evk {
namespace {

constexpr std::size_t kDimension = 16;
constexpr double kFirstNs = 1e5;         // latency of an average first kernel
constexpr double kFloor = 0.05;          // of it: no kernel is faster
constexpr double kRefineEase = 3;        // logits by which changing a good kernel is easier than writing one
constexpr double kSpeedPerLogit = 0.05;  // log latency that a logit of help gains in refining
using Vector = std::array<double, kDimension>;

double normal(Random& random) {
  const double u = 1 - random.uniform(), angle = 2 * std::numbers::pi * random.uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(angle);
}

Vector unit(Random random) {
  Vector v;
  double norm2 = 0;
  for (double& x : v) x = normal(random), norm2 += x * x;
  for (double& x : v) x /= std::sqrt(norm2);
  return v;
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

class SyntheticEmbedder final : public Embedder {
 public:
  SyntheticEmbedder(const SyntheticConfig& config, const std::vector<Task>& tasks)
      : seed_(config.seed), key_noise_(config.key_noise) {
    for (const auto& task : tasks) {
      const Vector category = unit(Random::of(config.seed, 0, task.category, "category"));
      const Vector own = unit(Random::of(config.seed, 0, task.id.text, "vector"));
      Vector& sum = of_task_[first_line(task.key_text())];
      for (std::size_t i = 0; i < kDimension; ++i) sum[i] = category[i] + config.noise * own[i];
    }
  }
  std::string id() const override { return fmt::format("synthetic-{}", seed_); }
  std::size_t dimension() const override { return kDimension; }
  std::vector<float> embed(std::string_view text) const override {
    const std::string line = first_line(text);
    const auto found = of_task_.find(line);
    Vector sum = found == of_task_.end() ? Vector{} : found->second;
    const auto rest = text.substr(line.size());
    if (rest.find_first_not_of('\n') != std::string_view::npos) {
      const Vector own = unit(Random::of(seed_, 0, text, "key"));
      for (std::size_t i = 0; i < kDimension; ++i) sum[i] += key_noise_ * own[i];
    }
    return normalised(sum);
  }

 private:
  static std::vector<float> normalised(const Vector& sum) {
    double norm2 = 0;
    for (const double x : sum) norm2 += x * x;
    std::vector<float> vector(kDimension, 0.0f);
    if (norm2 > 0)
      for (std::size_t i = 0; i < kDimension; ++i) vector[i] = static_cast<float>(sum[i] / std::sqrt(norm2));
    return vector;
  }

  std::uint64_t seed_;
  double key_noise_;
  std::unordered_map<std::string, Vector> of_task_;
};

std::vector<Task> make_tasks(const SyntheticConfig& config) {
  std::vector<Task> tasks;
  for (int i = 0; i < config.tasks; ++i) {
    Task task;
    task.id = {fmt::format("synthetic/{}", i)};
    task.name = fmt::format("synthetic_{}", i);
    Random random = Random::of(config.seed, 0, task.id.text, "category");
    task.category = fmt::format("category_{}", random.below(static_cast<std::uint64_t>(config.categories)));
    task.source_sha256 = task.name;
    tasks.push_back(std::move(task));
  }
  return tasks;
}

tl::expected<Candidate, Finding> parse(const Task&, const Context&, const std::string& answer) {
  return Candidate{{{"kernel.txt", answer}}, {}, ""};
}

}  // namespace

// Answers "pass LATENCY_NS DRAW" or "fail DRAW".
class SyntheticWorld::SyntheticGenerator final : public Generator {
 public:
  explicit SyntheticGenerator(const SyntheticWorld& world) : world_(world) {}
  Result<Answer> generate(const GenerateRequest& request) override {
    Random random = request.random;
    double help = 0;
    for (const auto& c : request.context.items)
      if (c.by != SelectedBy::kStart) help += world_.help_of(*c.item, request.task);
    const MemoryItem* start = request.context.start();
    const double logit = help - world_.difficulty_of(request.task) + (start ? kRefineEase : 0);
    const bool passes = random.coin(1 / (1 + std::exp(-logit)));
    const double luck = normal(random);
    const std::uint64_t draw = random.next();
    if (!passes) return Answer{fmt::format("fail {}", draw), "synthetic", 1, 1};
    const double from = start ? start->latency_ns.value_or(kFirstNs) : kFirstNs;
    const double gain = start ? kSpeedPerLogit * help : 0;
    const double latency =
        std::max(kFloor * kFirstNs, from * std::exp(world_.config_.speed_deviation * luck - gain));
    return Answer{fmt::format("pass {:.3f} {}", latency, draw), "synthetic", 1, 1};
  }

 private:
  const SyntheticWorld& world_;
};

class SyntheticWorld::SyntheticVerifier final : public Verifier {
 public:
  Result<Verdict> verify(const Task&, const Candidate& candidate) override {
    const std::string& text = candidate.files.at(0).text;
    if (text.rfind("pass ", 0) != 0)
      return Verdict{Unbuilt{{{"synthetic.failed", "the odds were against it"}}, ""}, {}, {}, {}, ""};
    double latency = 0;
    std::from_chars(text.data() + 5, text.data() + text.size(), latency);
    return Verdict{Measured{latency, true, {}}, {}, true, {}, ""};
  }
};

SyntheticWorld::SyntheticWorld(const SyntheticConfig& config)
    : config_(config),
      tasks_(make_tasks(config)),
      embedder_(std::make_shared<SyntheticEmbedder>(config, tasks_)),
      generator_(std::make_unique<SyntheticGenerator>(*this)),
      verifier_(std::make_unique<SyntheticVerifier>()) {}

SyntheticWorld::~SyntheticWorld() = default;

CampaignParts SyntheticWorld::parts() {
  return {*generator_, *verifier_, [](const Task&, const Context&) { return std::string(); }, parse,
          [](const Task&, const Candidate&, const Verdict&) { return std::vector<Fact>{}; }};
}

double SyntheticWorld::help_of(const MemoryItem& item, const Task& task) const {
  if (!item.task) return 0;
  Random random = Random::of(config_.seed, 0, item.name, "quality");
  const double quality = config_.quality_mean + config_.quality_deviation * normal(random) +
                         (item.feasible ? config_.feasible_bonus : 0);
  return config_.gain * quality * (item.category == task.category ? 1 : config_.misfit);
}

double SyntheticWorld::difficulty_of(const Task& task) const {
  Random random = Random::of(config_.seed, 0, task.id.text, "difficulty");
  return config_.difficulty_mean + config_.difficulty_deviation * normal(random);
}

}  // namespace evk
