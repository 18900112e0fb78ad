#include "verify/task_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "verify/compare.h"
#include "verify/index_source.h"
#include "verify/run_request.h"

namespace evk {
namespace {

using Values = std::vector<double>;

// A case with its goldens as numbers.
struct AuditCase {
  const ShapeSet* shapes = nullptr;
  bool hidden = false;
  std::shared_ptr<const CaseData> data;
  std::vector<Values> truth;
};

// What a wrong kernel would have written to output `output` of case `at`; none where it does not apply.
using Make =
    std::function<std::optional<Values>(const std::vector<AuditCase>&, std::size_t at, std::size_t output)>;

struct Kind {
  const char* name;
  bool computes_nothing;  // survives only if the task can be passed without its inputs
  Make make;
};

Values numbers(const TensorView& view) {
  Values out(view.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = view.at(i);
  return out;
}

std::uint16_t half_bits(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::abs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  if (size < 0x1p-14) return static_cast<std::uint16_t>(sign | std::lrint(size * 0x1p24));
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // in [0.5, 1)
  const long bits = std::lrint((fraction * 2 - 1) * 1024) + (static_cast<long>(exponent) + 14) * 1024;
  return static_cast<std::uint16_t>(sign | bits);
}

std::uint16_t bfloat16_bits(double value) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return 0x7fc0;
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}

template <typename T>
void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at * sizeof(T), &value, sizeof(T));
}

std::int64_t whole(double value) {
  return std::isfinite(value) && std::abs(value) < 0x1p62 ? std::llrint(value) : 0;
}

void put_value(std::vector<std::byte>& bytes, std::size_t at, double value, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return put(bytes, at, static_cast<float>(value));
    case DType::kFloat64:
      return put(bytes, at, value);
    case DType::kFloat16:
      return put(bytes, at, half_bits(value));
    case DType::kBFloat16:
      return put(bytes, at, bfloat16_bits(value));
    case DType::kInt64:
      return put(bytes, at, whole(value));
    case DType::kInt32:
      return put(bytes, at, static_cast<std::int32_t>(whole(value)));
    case DType::kInt16:
      return put(bytes, at, static_cast<std::int16_t>(whole(value)));
    case DType::kInt8:
      return put(bytes, at, static_cast<std::int8_t>(whole(value)));
    case DType::kUInt8:
    case DType::kBool:
      return put(bytes, at, static_cast<std::uint8_t>(whole(value)));
  }
}

std::vector<std::byte> as_type(const Values& values, DType dtype) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(bytes_of(dtype)));
  for (std::size_t i = 0; i < values.size(); ++i) put_value(bytes, i, values[i], dtype);
  return bytes;
}

double mean_of(const Values& values) {
  double sum = 0;
  std::size_t finite = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++finite;
  }
  return finite == 0 ? 0 : sum / static_cast<double>(finite);
}

// The mean of each position along dimension `dim`, at every place.
Values per_slice_mean(const Values& truth, const std::vector<std::int64_t>& shape, std::size_t dim) {
  std::size_t inner = 1;
  for (std::size_t d = dim + 1; d < shape.size(); ++d) inner *= static_cast<std::size_t>(shape[d]);
  const auto extent = static_cast<std::size_t>(shape[dim]);
  Values sums(extent, 0.0), out(truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) sums[i / inner % extent] += truth[i];
  const double count = static_cast<double>(truth.size()) / static_cast<double>(extent);
  for (std::size_t i = 0; i < truth.size(); ++i) out[i] = sums[i / inner % extent] / count;
  return out;
}

std::optional<Values> another_answer(const std::vector<AuditCase>& cases, std::size_t at,
                                     std::size_t output) {
  for (std::size_t step = 1; step < cases.size(); ++step) {
    const AuditCase& other = cases[(at + step) % cases.size()];
    if (other.shapes == cases[at].shapes) return other.truth[output];
  }
  return std::nullopt;
}

// One number learnt from another case: what a kernel that ignores its inputs could know.
std::optional<Values> learnt_constant(const std::vector<AuditCase>& cases, std::size_t at,
                                      std::size_t output) {
  const auto known = another_answer(cases, at, output);
  if (!known) return std::nullopt;
  return Values(known->size(), mean_of(*known));
}

std::optional<Values> copy_of_input(const std::vector<AuditCase>& cases, std::size_t at, std::size_t output) {
  for (const CaseTensor& input : cases[at].data->inputs)
    if (input.view().size() == cases[at].truth[output].size()) return numbers(input.view());
  return std::nullopt;
}

Values without_tail(Values values) {
  const std::size_t tail = std::max<std::size_t>(1, values.size() / 64);
  std::fill(values.end() - static_cast<std::ptrdiff_t>(tail), values.end(), 0.0);
  return values;
}

std::optional<Values> rows_shifted(const AuditCase& each, std::size_t output) {
  const auto& shape = each.shapes->outputs[output].type.shape;
  if (shape.empty() || shape[0] < 2) return std::nullopt;
  Values values = each.truth[output];
  std::rotate(
      values.begin(),
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / static_cast<std::size_t>(shape[0])),
      values.end());
  return values;
}

std::optional<Values> rounded_to_bfloat16(const AuditCase& each, std::size_t output) {
  if (each.shapes->outputs[output].type.dtype != DType::kFloat32) return std::nullopt;
  Values values = each.truth[output];
  for (double& value : values) value = bfloat16_to_double(bfloat16_bits(value));
  return values;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"zeros", true,
       [](const auto& c, auto at, auto o) { return std::optional(Values(c[at].truth[o].size(), 0.0)); }},
      {"mean_of_another_case", true, learnt_constant},
      {"answer_of_another_case", true, another_answer},
      {"own_mean", false,
       [](const auto& c, auto at, auto o) -> std::optional<Values> {
         if (c[at].truth[o].size() < 2) return std::nullopt;
         return Values(c[at].truth[o].size(), mean_of(c[at].truth[o]));
       }},
      {"constant_per_channel", false,
       [](const auto& c, auto at, auto o) -> std::optional<Values> {
         const auto& shape = c[at].shapes->outputs[o].type.shape;
         if (shape.size() < 2 || shape[0] < 2) return std::nullopt;
         return per_slice_mean(c[at].truth[o], shape, 1);
       }},
      {"copy_of_an_input", true, copy_of_input},
      {"tail_left_out", false,
       [](const auto& c, auto at, auto o) { return std::optional(without_tail(c[at].truth[o])); }},
      {"rows_shifted", false, [](const auto& c, auto at, auto o) { return rows_shifted(c[at], o); }},
      {"rounded_to_bfloat16", false,
       [](const auto& c, auto at, auto o) { return rounded_to_bfloat16(c[at], o); }},
      {"negated", false, [](const auto& c, auto at, auto o) {
         Values values = c[at].truth[o];
         for (double& value : values) value = -value;
         return std::optional(std::move(values));
       }}};
  return all;
}

Result<std::vector<AuditCase>> read_cases(const Task& task, CaseReader& reader) {
  std::vector<AuditCase> cases;
  for (const ShapeSet* shapes : verified_shapes(task)) {
    for (const TaskCase& which : shapes->cases) {
      AuditCase each{shapes, which.hidden, nullptr, {}};
      EVK_TRY(each.data, reader.read(task, *shapes, which));
      for (const CaseGolden& golden : each.data->goldens) each.truth.push_back(numbers(golden.truth.view()));
      cases.push_back(std::move(each));
    }
  }
  if (cases.empty()) return failure(fmt::format("task {} has no cases; probe it again", task.id.text));
  return cases;
}

// A kernel passes a case if all its outputs do.
void put_to_case(const Task& task, const std::vector<AuditCase>& cases, std::size_t at, const Kind& kind,
                 Mutant& mutant) {
  const AuditCase& each = cases[at];
  bool strict = true, paper = true;
  for (std::size_t i = 0; i < each.truth.size(); ++i) {
    const auto made = kind.make(cases, at, i);
    if (!made || made->size() != each.truth[i].size()) return;
    const OutputSpec& spec = each.shapes->outputs[i];
    const CaseGolden& golden = each.data->goldens[i];
    const auto view = [](const std::optional<CaseTensor>& t) {
      return t ? std::optional(t->view()) : std::nullopt;
    };
    const OutputComparison found =
        compare_output(spec, task.tolerance, as_type(*made, spec.type.dtype),
                       {golden.truth.view(), view(golden.reference), view(golden.scale)},
                       index_source(*each.shapes, i, *each.data));
    strict = strict && found.strict_pass;
    paper = paper && found.paper_pass;
  }
  ++mutant.cases;
  if (!paper) ++mutant.refused_by_paper;
  if (!strict) ++(each.hidden ? mutant.refused_hidden : mutant.refused_public);
}

// Inputs from which no path leads to an output.
std::vector<std::string> ignorable_operands(const ShapeSet& shapes) {
  std::set<std::string> needed;
  for (const GraphRef& ref : shapes.graph.outputs) needed.insert(ref.id);
  const std::function<void(const GraphArg&)> need = [&](const GraphArg& arg) {
    if (const GraphRef* ref = arg.ref()) needed.insert(ref->id);
    if (const GraphArgs* list = arg.list())
      for (const GraphArg& each : *list) need(each);
  };
  for (auto node = shapes.graph.nodes.rbegin(); node != shapes.graph.nodes.rend(); ++node) {
    if (!needed.contains(node->id)) continue;
    for (const GraphArg& arg : node->args) need(arg);
    for (const auto& [key, arg] : node->kwargs) need(arg);
  }
  std::vector<std::string> out;
  for (const GraphInput& head : shapes.graph.inputs)
    if (!needed.contains(head.id)) out.push_back(head.name.empty() ? head.id : head.name);
  return out;
}

// A case that refuses it must exist among the public ones for admission, among any for repair.
void decide(TaskAudit& audit, bool structurally_constant, const std::set<std::string>& decisive) {
  for (const Mutant& mutant : audit.mutants) {
    if (!decisive.contains(mutant.name) || mutant.cases == 0 || mutant.refused_public > 0) continue;
    if (!mutant.killed()) {
      audit.admission = Admission::kRefused;
      audit.reason = fmt::format("the answer \"{}\" passes every case", mutant.name);
      return;
    }
    audit.admission = Admission::kRepaired;
    if (!audit.reason.empty()) audit.reason += "; ";
    audit.reason += fmt::format("only hidden cases refuse \"{}\"", mutant.name);
  }
  if (!structurally_constant) return;
  audit.admission = Admission::kRefused;
  audit.reason =
      "an answer that computes nothing passes every case by the paper's tolerance with the centred error";
}

}  // namespace

Result<TaskAudit> audit_task(const Task& task, CaseReader& reader) {
  EVK_TRY(const std::vector<AuditCase> cases, read_cases(task, reader));
  TaskAudit audit;
  audit.task = task.id.text;
  audit.ignorable = ignorable_operands(*cases[0].shapes);
  std::set<std::string> decisive;
  int killed = 0;
  for (const Kind& kind : kinds()) {
    Mutant mutant;
    mutant.name = kind.name;
    for (std::size_t at = 0; at < cases.size(); ++at) put_to_case(task, cases, at, kind, mutant);
    if (mutant.cases == 0) continue;
    if (kind.computes_nothing) decisive.insert(kind.name);
    killed += mutant.killed() ? 1 : 0;
    audit.mutants.push_back(std::move(mutant));
  }
  audit.score =
      audit.mutants.empty() ? 0 : static_cast<double>(killed) / static_cast<double>(audit.mutants.size());
  decide(audit, task.structurally_constant, decisive);
  return audit;
}

std::string_view name_of(Admission admission) {
  switch (admission) {
    case Admission::kAdmitted:
      return "admitted";
    case Admission::kRepaired:
      return "repaired";
    case Admission::kRefused:
      return "refused";
  }
  return "";
}

}  // namespace evk
