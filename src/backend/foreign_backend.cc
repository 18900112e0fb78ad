#include "backend/foreign_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "backend/foreign_adaptor.h"
#include "base/json.h"
#include "base/sha256.h"

namespace evk {
namespace {

using nlohmann::json;

constexpr std::size_t kStepsMax = 64, kTensorsMax = 64;
constexpr std::int64_t kElementsMax = std::int64_t{1} << 34;

Finding finding(std::string code, std::string message, std::string remedy) {
  Finding out;
  out.code = std::move(code);
  out.message = std::move(message);
  out.remedy = std::move(remedy);
  out.file = "model";
  return out;
}

// Part of a tensor: which elements, in which order.
struct View {
  int handle = 0;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
  DType dtype = DType::kFloat32;

  TensorType type() const { return {dtype, sizes}; }
  bool whole(std::int64_t elements) const {
    std::int64_t expected = 1;
    for (std::size_t i = sizes.size(); i > 0; --i) {
      if (sizes[i - 1] != 1 && strides[i - 1] != expected) return false;
      expected *= sizes[i - 1];
    }
    return offset == 0 && expected == elements;
  }
};

struct Copy {
  View from;
  int to = 0;
};
struct Call {
  Built library;
  std::vector<View> inputs;
  std::vector<TensorType> made;  // tensors that the glue makes, in order
  std::vector<bool> zeros;       // which of them start as zeros
  int first_handle = 0;          // of made[0]
  int launches = 0;
};
struct Plan {
  std::vector<std::variant<Copy, Call>> steps;
  std::vector<View> outputs;
};

// What the glue printed while it made a plan (evk_host/torch_bridge.h).
struct GluePlan {
  struct Result {
    int source = 0;
    std::vector<std::int64_t> sizes;
  };
  std::vector<TensorType> made;
  std::vector<bool> zeros;
  std::vector<Result> results;
  int launches = 0;
  bool single = false;
};

std::optional<DType> dtype_of_ge(int t) {
  switch (t) {
    case 0:
      return DType::kFloat32;
    case 1:
      return DType::kFloat16;
    case 2:
      return DType::kInt8;
    case 3:
      return DType::kInt32;
    case 4:
      return DType::kUInt8;
    case 6:
      return DType::kInt16;
    case 9:
      return DType::kInt64;
    case 11:
      return DType::kFloat64;
    case 12:
      return DType::kBool;
    case 27:
      return DType::kBFloat16;
    default:
      return std::nullopt;
  }
}

bool fine_sizes(const std::vector<std::int64_t>& sizes) {
  std::int64_t elements = 1;
  for (const std::int64_t s : sizes) {
    if (s < 0 || s > kElementsMax || (s > 0 && elements > kElementsMax / s)) return false;
    elements *= s;
  }
  return sizes.size() <= 8;
}

// Nothing if the program printed something else in between.
std::optional<GluePlan> parse_glue_plan(const std::string& printed) {
  GluePlan plan;
  std::istringstream lines(printed);
  std::string line, mark, word;
  bool ended = false;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    if (!(words >> mark >> word) || mark != "EVKPLAN" || ended) return std::nullopt;
    int first = 0;
    if (!(words >> first)) return std::nullopt;
    int second = 0;
    if (word != "return" && !(words >> second)) return std::nullopt;
    std::vector<std::int64_t> sizes;
    for (std::int64_t n = 0; words >> n;) sizes.push_back(n);
    if (!fine_sizes(sizes) || plan.made.size() > kTensorsMax || plan.results.size() > kTensorsMax)
      return std::nullopt;
    if (word == "make") {
      const auto dtype = dtype_of_ge(first);
      if (!dtype) return std::nullopt;
      plan.made.push_back({*dtype, sizes});
      plan.zeros.push_back(second != 0);
    } else if (word == "return") {
      plan.results.push_back({first, sizes});
    } else if (word == "end") {
      plan.launches = first;
      plan.single = second != 0;
      ended = true;
    } else {
      return std::nullopt;
    }
  }
  if (!ended || plan.launches < 0 || plan.launches > kLaunchesMax) return std::nullopt;
  for (const auto& result : plan.results)
    if (result.source >= static_cast<int>(plan.made.size())) return std::nullopt;
  return plan;
}

std::optional<View> view_of(const json& text, const std::map<int, TensorType>& known) {
  if (!text.is_object()) return std::nullopt;
  View view;
  try {
    view.handle = text.at("handle").get<int>();
    view.sizes = text.at("sizes").get<std::vector<std::int64_t>>();
    view.strides = text.at("strides").get<std::vector<std::int64_t>>();
    view.offset = text.at("offset").get<std::int64_t>();
    const auto dtype = dtype_named(text.at("dtype").get<std::string>());
    if (!dtype) return std::nullopt;
    view.dtype = *dtype;
  } catch (const json::exception&) {
    return std::nullopt;
  }
  const auto at = known.find(view.handle);
  if (at == known.end() || at->second.dtype != view.dtype || view.sizes.size() != view.strides.size() ||
      !fine_sizes(view.sizes) || view.offset < 0)
    return std::nullopt;
  std::int64_t last = view.offset;
  for (std::size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.strides[i] < 0 || view.strides[i] > kElementsMax) return std::nullopt;
    if (view.sizes[i] > 0) last += (view.sizes[i] - 1) * view.strides[i];
  }
  if (last > at->second.elements()) return std::nullopt;
  return view;
}

// The elements of a view, one after the other.
std::vector<std::byte> gathered(const View& view, const std::vector<std::byte>& from) {
  const auto size = static_cast<std::size_t>(bytes_of(view.dtype));
  std::vector<std::byte> out(static_cast<std::size_t>(view.type().elements()) * size);
  std::vector<std::int64_t> index(view.sizes.size(), 0);
  for (std::size_t at = 0; at < out.size(); at += size) {
    std::int64_t element = view.offset;
    for (std::size_t i = 0; i < index.size(); ++i) element += index[i] * view.strides[i];
    const auto begin = static_cast<std::size_t>(element) * size;
    if (begin + size <= from.size()) std::memcpy(out.data() + at, from.data() + begin, size);
    for (std::size_t i = index.size(); i > 0 && ++index[i - 1] == view.sizes[i - 1]; --i) index[i - 1] = 0;
  }
  return out;
}

// Makes the plan of one set of sizes: talks with the model, builds and asks the glue.
class Planner {
 public:
  Planner(Backend& inner, const ForeignCandidate& candidate, const ShapeSet& shapes)
      : inner_(inner), candidate_(candidate) {
    for (const TensorSpec& input : shapes.inputs) known_.emplace(static_cast<int>(known_.size()), input.type);
    next_ = static_cast<int>(known_.size());
  }

  // The plan, or why the candidate has none.
  using Made = std::variant<Plan, BuildFailed>;
  Result<Made> run(ModelChild& child) {
    for (std::size_t step = 0; step < kStepsMax; ++step) {
      const std::string line = child.receive();
      const json said = nests_at_most(line, 16) ? json::parse(line, nullptr, false) : json();
      if (!said.is_object())
        return Made(failed("model.silent", "the model's process ended, or met its limits of time or memory"));
      if (said.contains("error")) return Made(model_error(said["error"]));
      if (said.contains("done")) return done(said["done"]);
      if (said.contains("copy")) {
        if (!copy(said["copy"]))
          return Made(failed("model.failed", "the model's process says what makes no sense"));
        continue;
      }
      EVK_TRY(const json answer, call(said.value("call", json())));
      if (wrong_) return Made(std::move(*wrong_));
      child.send(answer.dump());
    }
    return Made(
        failed("model.failed", fmt::format("the model makes more than {} calls and copies", kStepsMax)));
  }

 private:
  static BuildFailed failed(std::string code, std::string message) {
    return {{finding(std::move(code), std::move(message), "mend the model")}, {}};
  }
  static BuildFailed model_error(const json& error) {
    const auto text = [&](const char* key) {
      return error.is_object() && error.contains(key) && error[key].is_string()
                 ? error[key].get<std::string>()
                 : "";
    };
    const std::string code = text("code").starts_with("model.") ? text("code") : "model.failed";
    return failed(code.substr(0, 40), text("message").substr(0, 700));
  }

  bool copy(const json& said) {
    const auto from =
        said.is_object() && said.contains("from") ? view_of(said["from"], known_) : std::nullopt;
    if (!from || !said.contains("handle") || !said["handle"].is_number_integer()) return false;
    const int to = said["handle"].get<int>();
    if (!known_.emplace(to, from->type()).second) return false;
    plan_.steps.emplace_back(Copy{*from, to});
    return true;
  }

  Result<json> call(const json& said) {
    std::vector<View> inputs;
    const auto adaptor = adaptor_source(said, [&](const json& tensor) -> int {
      const auto view = view_of(tensor, known_);
      if (!view) return -1;
      inputs.push_back(*view);
      return static_cast<int>(inputs.size()) - 1;
    });
    if (!adaptor) return json{{"error", "the call has arguments that cannot be handed on"}};
    Candidate whole = candidate_.kernels;
    whole.files.insert(whole.files.end(), candidate_.glue.begin(), candidate_.glue.end());
    whole.files.push_back({"op_host/evk_adaptor.cpp", *adaptor});
    std::sort(whole.files.begin(), whole.files.end());
    EVK_TRY(BuildOutcome outcome, inner_.build(whole));
    if (auto* wrong = std::get_if<BuildFailed>(&outcome)) {
      wrong_ = std::move(*wrong);
      return json();
    }
    Call step;
    step.library = std::get<Built>(std::move(outcome));
    step.inputs = std::move(inputs);
    return ask_glue(std::move(step));
  }

  Result<json> ask_glue(Call step) {
    RunRequest request;
    request.op = "evk_plan";
    request.move_data = false;
    for (const View& view : step.inputs) request.inputs.push_back({"input", view.type(), {}});
    EVK_TRY(const RunResult run, inner_.run(step.library, request));
    if (run.kind != RunResultKind::kComplete) {
      wrong_ = BuildFailed{run.findings, {}};
      return json();
    }
    const auto glue = parse_glue_plan(run.printed);
    if (!glue) {
      wrong_ = failed("model.call", "the glue prints something of its own while it is asked for its plan");
      return json();
    }
    if (glue->launches == 0) {
      wrong_ = failed("model.no_kernel", "the glue launches no kernel");
      return json();
    }
    step.made = glue->made;
    step.zeros = glue->zeros;
    step.launches = glue->launches;
    step.first_handle = next_;
    for (const TensorType& type : step.made) known_.emplace(next_++, type);
    json tensors = json::array();
    for (const auto& result : glue->results) {
      const int handle = result.source >= 0
                             ? step.first_handle + result.source
                             : handle_of_input(step, static_cast<std::size_t>(-1 - result.source));
      if (handle < 0) return json{{"error", "the glue returns a view of its input that cannot be followed"}};
      tensors.push_back({{"handle", handle},
                         {"sizes", result.sizes},
                         {"dtype", std::string(name_of(known_.at(handle).dtype))}});
    }
    plan_.steps.emplace_back(std::move(step));
    return json{{"tensors", tensors}, {"single", glue->single}};
  }

  int handle_of_input(const Call& step, std::size_t i) const {
    if (i >= step.inputs.size()) return -1;
    const View& view = step.inputs[i];
    return view.whole(known_.at(view.handle).elements()) ? view.handle : -1;
  }

  Result<Made> done(const json& said) {
    const json& outputs = said.is_object() && said.contains("outputs") ? said["outputs"] : json();
    for (const json& each : outputs.is_array() ? outputs : json::array()) {
      const auto view = view_of(each, known_);
      if (!view) return Made(failed("model.output", "the model returns something that no kernel made"));
      plan_.outputs.push_back(*view);
    }
    const bool calls = std::any_of(plan_.steps.begin(), plan_.steps.end(),
                                   [](const auto& step) { return std::holds_alternative<Call>(step); });
    if (!calls) return Made(failed("model.no_kernel", "the model calls no kernel"));
    return Made(std::move(plan_));
  }

  Backend& inner_;
  const ForeignCandidate& candidate_;
  std::map<int, TensorType> known_;
  int next_ = 0;
  Plan plan_;
  std::optional<BuildFailed> wrong_;
};

// What PyTorch's allocator on the chip has beyond a tensor: sizes are rounded up to 512 bytes, after 32 are
// added. Kernels that copy whole blocks of 32 bytes rely on it.
std::uint64_t padding_of(const TensorType& type) {
  const auto bytes = static_cast<std::uint64_t>(type.elements() * bytes_of(type.dtype));
  return (bytes + 32 + 511) / 512 * 512 - bytes;
}

// One execution of a plan.
class Execution {
 public:
  Execution(Backend& inner, const RunRequest& request) : inner_(inner), request_(request) {
    for (const BackendTensor& input : request.inputs) {
      elements_[static_cast<int>(data_.size())] = input.type.elements();
      data_.emplace(static_cast<int>(data_.size()), input.data);
    }
  }

  Result<RunResult> run(const Plan& plan) {
    total_.kind = RunResultKind::kComplete;
    for (const auto& step : plan.steps) {
      if (const auto* copy = std::get_if<Copy>(&step)) {
        elements_[copy->to] = copy->from.type().elements();
        data_[copy->to] = contents(copy->from);
        continue;
      }
      EVK_TRY_STATUS(call(std::get<Call>(step)));
      if (total_.kind != RunResultKind::kComplete) return std::move(total_);
    }
    take_outputs(plan);
    total_.trace_hash = traces_.hex();
    return std::move(total_);
  }

 private:
  std::vector<std::byte> contents(const View& view) const {
    const std::vector<std::byte>& from = data_.at(view.handle);
    if (!request_.move_data || view.whole(elements_.at(view.handle))) return from;
    return gathered(view, from);
  }

  Status call(const Call& step) {
    RunRequest part = request_;
    part.inputs.clear();
    part.outputs.clear();
    for (const View& view : step.inputs)
      part.inputs.push_back({"input", view.type(), contents(view), padding_of(view.type())});
    for (std::size_t i = 0; i < step.made.size(); ++i) {
      BackendTensor made{"made", step.made[i], {}, padding_of(step.made[i])};
      if (step.zeros[i] && request_.move_data)
        made.data.assign(static_cast<std::size_t>(made.type.elements() * bytes_of(made.type.dtype)),
                         std::byte{0});
      part.outputs.push_back(std::move(made));
    }
    for (int k = 0; k < step.launches; ++k) {
      part.op = fmt::format("evk_{}", k);
      part.poison = request_.poison + static_cast<std::uint64_t>(k);
      EVK_TRY(RunResult run, inner_.run(step.library, part));
      add(run);
      if (total_.kind != RunResultKind::kComplete) return {};
      for (std::size_t i = 0; i < part.outputs.size() && i < run.outputs.size(); ++i)
        part.outputs[i].data = std::move(run.outputs[i]);
      for (std::size_t i = 0; i < run.unwritten_bytes.size(); ++i) {
        std::uint64_t& left = unwritten_[step.first_handle + static_cast<int>(i)];
        left = k == 0 ? run.unwritten_bytes[i] : std::min(left, run.unwritten_bytes[i]);
      }
    }
    for (std::size_t i = 0; i < step.made.size(); ++i) {
      const int handle = step.first_handle + static_cast<int>(i);
      elements_[handle] = step.made[i].elements();
      data_[handle] = std::move(part.outputs[i].data);
    }
    return {};
  }

  // Launches follow one another: times add up; the longest one's profile is shown.
  void add(RunResult& run) {
    const bool longest = run.latency_ns > longest_ns_;
    longest_ns_ = std::max(longest_ns_, run.latency_ns);
    total_.latency_ns += run.latency_ns;
    total_.cycles += run.cycles;
    total_.simulated = run.simulated;
    if (longest) total_.profile = std::move(run.profile);
    total_.notes.insert(total_.notes.end(), run.notes.begin(), run.notes.end());
    total_.printed += run.printed.substr(0, 4096);
    traces_.field(run.trace_hash);
    if (run.kind == RunResultKind::kComplete) return;
    total_.kind = run.kind;
    total_.limit = run.limit;
    total_.findings = run.findings;
  }

  void take_outputs(const Plan& plan) {
    for (std::size_t i = 0; i < request_.outputs.size(); ++i) {
      const TensorType& wanted = request_.outputs[i].type;
      if (i >= plan.outputs.size() || plan.outputs[i].sizes != wanted.shape ||
          plan.outputs[i].dtype != wanted.dtype) {
        total_.kind = RunResultKind::kFaulted;
        total_.findings.push_back(finding(
            "model.output", fmt::format("output {} of the model has not the task's shape and type", i),
            "return what the reference returns"));
        return;
      }
      const View& view = plan.outputs[i];
      total_.outputs.push_back(contents(view));
      const auto left = unwritten_.find(view.handle);
      total_.unwritten_bytes.push_back(left == unwritten_.end() ? 0 : left->second);
    }
  }

  Backend& inner_;
  const RunRequest& request_;
  std::map<int, std::vector<std::byte>> data_;
  std::map<int, std::int64_t> elements_;
  std::map<int, std::uint64_t> unwritten_;
  RunResult total_;
  double longest_ns_ = -1;
  Sha256 traces_;
};

class ForeignBackend final : public Backend {
 public:
  ForeignBackend(std::unique_ptr<Backend> inner, ModelChildConfig config, Task task,
                 ForeignCandidate candidate)
      : inner_(std::move(inner)),
        config_(std::move(config)),
        task_(std::move(task)),
        candidate_(std::move(candidate)) {}

  Result<BuildOutcome> build(const Candidate&) override {
    EVK_TRY(const auto child, ModelChild::start(config_));
    Sha256 hash;
    plans_.clear();
    for (const ShapeSet& shapes : task_.shape_sets) {
      child->send(request(shapes).dump());
      EVK_TRY(auto made, Planner(*inner_, candidate_, shapes).run(*child));
      if (auto* wrong = std::get_if<BuildFailed>(&made)) return BuildOutcome(std::move(*wrong));
      for (const auto& step : std::get<Plan>(made).steps)
        if (const auto* call = std::get_if<Call>(&step)) hash.field(call->library.hash);
      plans_.emplace_back(&shapes, std::get<Plan>(std::move(made)));
    }
    return BuildOutcome(Built{"", hash.field(candidate_.model).hex()});
  }

  Result<RunResult> run(const Built&, const RunRequest& request) override {
    for (const auto& [shapes, plan] : plans_) {
      const bool same = std::equal(
          shapes->inputs.begin(), shapes->inputs.end(), request.inputs.begin(), request.inputs.end(),
          [](const TensorSpec& a, const BackendTensor& b) { return a.type == b.type; });
      if (same) return Execution(*inner_, request).run(plan);
    }
    return failure("no plan was made for these sizes; build the candidate first");
  }

  double floor_ns(std::uint64_t gm_bytes) const override { return inner_->floor_ns(gm_bytes); }
  std::string fingerprint() const override { return inner_->fingerprint() + " foreign 1"; }

 private:
  json request(const ShapeSet& shapes) const {
    json inputs = json::array(), params = json::array(), changes = json::array();
    for (const TensorSpec& input : shapes.inputs) {
      const json described = {{"name", input.name},
                              {"dtype", std::string(name_of(input.type.dtype))},
                              {"shape", input.type.shape}};
      (input.role == "input" ? inputs : params).push_back(described);
    }
    for (const SizeChange& change : shapes.changes)
      changes.push_back({{"name", change.name}, {"from", change.from}, {"to", change.to}});
    return {{"model",
             {{"task", task_.source_text},
              {"file", task_.name + ".py"},
              {"changes", changes},
              {"source", candidate_.model},
              {"entry", candidate_.entry},
              {"modules", candidate_.modules},
              {"inputs", inputs},
              {"params", params}}}};
  }

  const std::unique_ptr<Backend> inner_;
  const ModelChildConfig config_;
  const Task task_;
  const ForeignCandidate candidate_;
  std::vector<std::pair<const ShapeSet*, Plan>> plans_;
};

}  // namespace

std::unique_ptr<Backend> make_foreign_backend(std::unique_ptr<Backend> inner, ModelChildConfig config,
                                              Task task, ForeignCandidate candidate) {
  return std::make_unique<ForeignBackend>(std::move(inner), std::move(config), std::move(task),
                                          std::move(candidate));
}

Result<ForeignStrings> python_strings(const ModelChildConfig& config, const std::string& text) {
  EVK_TRY(const auto child, ModelChild::start(config));
  child->send(json{{"strings", text}}.dump(-1, ' ', false, json::error_handler_t::replace));
  const std::string line = child->receive();
  const json said = nests_at_most(line, 8) ? json::parse(line, nullptr, false) : json();
  if (!said.is_object() || !said.contains("strings") || !said["strings"].is_object())
    return failure("the candidate is no Python text that can be read; give a file with the six strings",
                   Retry::kAfterFix);
  ForeignStrings strings;
  for (const auto& [name, value] : said["strings"].items())
    if (value.is_string()) strings.emplace_back(name, value.get<std::string>());
  return strings;
}

}  // namespace evk
