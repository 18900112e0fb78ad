#include "generate/vector_code.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace evk {
namespace {

const IrValue& at(const KernelPlan& plan, int value) { return plan.values[static_cast<std::size_t>(value)]; }

bool is_leaf(Prim prim) {
  return prim == Prim::kInput || prim == Prim::kConst || prim == Prim::kInverseLength;
}

std::string negated(const std::string& scalar) {
  return scalar.starts_with("-") ? scalar.substr(1) : "-" + scalar;
}

}  // namespace

std::string float_literal(double number) {
  std::string text = fmt::format("{:.9g}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

bool VectorCode::is_vector(int value) const {
  const Extent extent = at(plan_, value).extent;
  return extent == Extent::kFull || extent == Extent::kRow || (extent == Extent::kStat && stats_are_vectors_);
}

void VectorCode::forget_slots() {
  for (const auto& [value, slot] : slot_of_) known_.erase(value);
  slot_of_.clear();
  free_.clear();
  used_ = 0;
}

void VectorCode::say(std::string text, std::vector<std::string> tags) {
  lines_.push_back({std::move(text), std::move(tags)});
}

std::string VectorCode::name_of(int value) const {
  const IrValue& v = at(plan_, value);
  if (v.prim == Prim::kConst) return float_literal(v.number);
  if (v.prim == Prim::kInverseLength) return "inverseLength_";
  const auto found = known_.find(value);
  EVK_CHECK(found != known_.end(), "value {} is used before it is written", value);
  return found->second;
}

void VectorCode::need(int value, std::map<int, int>& uses) const {
  if (++uses[value] > 1 || known_.contains(value) || is_leaf(at(plan_, value).prim)) return;
  for (const int operand : {at(plan_, value).a, at(plan_, value).b})
    if (operand >= 0) need(operand, uses);
}

void VectorCode::write(const std::vector<int>& roots, const std::map<int, std::string>& into,
                       const std::string& count) {
  std::map<int, int> uses;
  for (const int root : roots) need(root, uses);
  for (const int root : roots) ++uses[root];
  for (const auto& [value, total] : std::map<int, int>(uses)) {
    const IrValue& v = at(plan_, value);
    const auto target = into.find(value);
    if (!known_.contains(value) && !is_leaf(v.prim)) {
      write_value(value, target == into.end() ? "" : target->second, count);
      for (const int operand : {v.a, v.b})
        if (operand >= 0 && --uses[operand] == 0) give_back(operand);
    } else if (target != into.end()) {
      say(fmt::format("AscendC::Adds({}, {}, 0.0f, {});", target->second, name_of(value), count),
          {"scalar.add"});
    }
  }
}

void VectorCode::write_value(int value, const std::string& into, const std::string& count) {
  if (!is_vector(value)) return write_scalar(value);
  const std::string dst = into.empty() ? new_slot() : into;
  write_vector(value, dst, count);
  known_[value] = dst;
  if (into.empty()) slot_of_[value] = dst;
}

std::string VectorCode::new_slot() {
  if (!free_.empty()) {
    std::string slot = free_.back();
    free_.pop_back();
    return slot;
  }
  slots_ = std::max(slots_, used_ + 1);
  return fmt::format("t{}", used_++);
}

void VectorCode::give_back(int value) {
  const auto slot = slot_of_.find(value);
  if (slot == slot_of_.end()) return;
  free_.push_back(slot->second);
  slot_of_.erase(slot);
  known_.erase(value);
}

void VectorCode::write_scalar(int value) {
  const IrValue& v = at(plan_, value);
  const std::string name = fmt::format("s{}", value);
  const bool function =
      v.prim == Prim::kExp || v.prim == Prim::kLn || v.prim == Prim::kSqrt || v.prim == Prim::kCall;
  if (function)
    say_scalar_function(name, v, name_of(v.a));
  else
    say(fmt::format("const float {} = {};", name, scalar_expression(v, value)));
  known_[value] = name;
}

void VectorCode::write_scalar_exp(const std::string& name, const std::string& argument) {
  IrValue value;
  value.prim = Prim::kExp;
  say_scalar_function(name, value, argument);
}

void VectorCode::say_scalar_function(const std::string& name, const IrValue& v, const std::string& argument) {
  const std::string expression = scalar_function(v, argument);
  say(fmt::format("const float {} = {};", name, expression),
      {book_.is("scalar.math", "vector") ? "read.scalar" : "scalar.math"});
}

std::string VectorCode::scalar_expression(const IrValue& v, int value) {
  const std::string a = name_of(v.a), b = v.b < 0 ? "" : name_of(v.b);
  switch (v.prim) {
    case Prim::kAdd:
      return fmt::format("{} + {}", a, b);
    case Prim::kSub:
      return fmt::format("{} - {}", a, b);
    case Prim::kMul:
      return fmt::format("{} * {}", a, b);
    case Prim::kDiv:
      return fmt::format("{} / {}", a, b);
    case Prim::kMax:
      return fmt::format("{0} > {1} ? {0} : {1}", a, b);
    case Prim::kMin:
      return fmt::format("{0} < {1} ? {0} : {1}", a, b);
    case Prim::kAbs:
      return fmt::format("{0} < 0.0f ? -{0} : {0}", a);
    case Prim::kLeakyRelu:
      return fmt::format("{0} < 0.0f ? {0} * {1} : {0}", a, float_literal(v.number));
    default:
      break;
  }
  EVK_CHECK(false, "value {} has no scalar expression", value);
}

// A function of one number: the scalar unit has none, so that the right form makes a detour through the
// vector unit.
std::string VectorCode::scalar_function(const IrValue& v, const std::string& argument) {
  const char* vector_name = v.prim == Prim::kExp    ? "Exp"
                            : v.prim == Prim::kLn   ? "Ln"
                            : v.prim == Prim::kSqrt ? "Sqrt"
                                                    : v.call.c_str();
  const char* libm_name = v.prim == Prim::kExp ? "expf" : v.prim == Prim::kLn ? "logf" : "sqrtf";
  const auto& form = book_.form("scalar.math");
  if (form == "libm") return fmt::format("{}({})", libm_name, argument);
  if (form == "on_float") return fmt::format("AscendC::{}({})", vector_name, argument);
  needs_scalar_buffer_ = true;
  fill("scalarLocal", argument, "8");
  one_vector(v, "scalarLocal", "scalarLocal", "8");
  return book_.is("read.scalar", "get_value") ? "scalarLocal.GetValue(0)" : "scalarLocal[0]";
}

void VectorCode::fill(const std::string& tensor, const std::string& value, const std::string& count) {
  say(fmt::format("AscendC::{}({}, {}, {});", book_.form("fill.value"), tensor, value, count),
      {"fill.value"});
}

void VectorCode::two_vectors(Prim prim, const std::string& dst, const std::string& a, const std::string& b,
                             const std::string& count) {
  std::string name;
  std::vector<std::string> tags;
  switch (prim) {
    case Prim::kAdd:
      name = "Add";
      break;
    case Prim::kSub:
      name = "Sub";
      break;
    case Prim::kMul:
      name = "Mul";
      break;
    case Prim::kDiv:
      name = "Div";
      break;
    case Prim::kMax:
      name = book_.form("vec.max");
      tags = {"vec.max"};
      break;
    case Prim::kMin:
      name = book_.form("vec.min");
      tags = {"vec.min"};
      break;
    default:
      EVK_CHECK(false, "not a primitive of two vectors");
  }
  say(fmt::format("AscendC::{}({}, {}, {}, {});", name, dst, a, b, count), std::move(tags));
}

void VectorCode::write_vector(int value, const std::string& dst, const std::string& count) {
  const IrValue& v = at(plan_, value);
  if (v.b < 0) return one_vector(v, dst, name_of(v.a), count);
  const bool left = is_vector(v.a), right = is_vector(v.b);
  if (left && right) return two_vectors(v.prim, dst, name_of(v.a), name_of(v.b), count);
  if (left) return vector_and_scalar(v, dst, name_of(v.a), name_of(v.b), false, count);
  vector_and_scalar(v, dst, name_of(v.b), name_of(v.a), true, count);
}

void VectorCode::vector_and_scalar(const IrValue& v, const std::string& dst, const std::string& vec,
                                   const std::string& scalar, bool scalar_first, const std::string& count) {
  const auto spelled = [&](const char* construct, std::string_view overload_form, const char* overload,
                           const std::string& from, const std::string& by) {
    const std::string& form = book_.form(construct);
    say(fmt::format("AscendC::{}({}, {}, {}, {});", form == overload_form ? overload : form.c_str(), dst,
                    from, by, count),
        {construct});
  };
  switch (v.prim) {
    case Prim::kAdd:
      return spelled("scalar.add", "Add_scalar", "Add", vec, scalar);
    case Prim::kMul:
      return spelled("scalar.mul", "Mul_scalar", "Mul", vec, scalar);
    case Prim::kMax:
      return spelled("scalar.max", "Max_scalar", "Max", vec, scalar);
    case Prim::kMin:
      return spelled("scalar.min", "Min_scalar", "Min", vec, scalar);
    case Prim::kSub:
      if (!scalar_first) return spelled("scalar.add", "Add_scalar", "Add", vec, negated(scalar));
      spelled("scalar.mul", "Mul_scalar", "Mul", vec, "-1.0f");
      return spelled("scalar.add", "Add_scalar", "Add", dst, scalar);
    case Prim::kDiv:
      if (!scalar_first) return divide_by_scalar(v, dst, vec, scalar, count);
      fill(dst, scalar, count);
      return two_vectors(Prim::kDiv, dst, dst, vec, count);
    default:
      EVK_CHECK(false, "not a primitive of a vector and a scalar");
  }
}

void VectorCode::divide_by_scalar(const IrValue& v, const std::string& dst, const std::string& vec,
                                  const std::string& scalar, const std::string& count) {
  const std::string& form = book_.form("div.by_scalar");
  if (form == "duplicate_div") {
    fill(dst, scalar, count);
    return two_vectors(Prim::kDiv, dst, vec, dst, count);
  }
  const std::vector<std::string> tags = {"div.by_scalar"};
  if (form == "Divs")
    return say(fmt::format("AscendC::Divs({}, {}, {}, {});", dst, vec, scalar, count), tags);
  if (form == "Div_scalar")
    return say(fmt::format("AscendC::Div({}, {}, {}, {});", dst, vec, scalar, count), tags);
  const IrValue& divisor = at(plan_, v.b);
  const std::string factor =
      divisor.prim == Prim::kConst ? float_literal(1.0 / divisor.number) : "1.0f / " + scalar;
  say(fmt::format("AscendC::Muls({}, {}, {}, {});", dst, vec, factor, count), tags);
}

void VectorCode::one_vector(const IrValue& v, const std::string& dst, const std::string& src,
                            const std::string& count) {
  std::string name, extra, construct;
  switch (v.prim) {
    case Prim::kExp:
      construct = "vec.exp";
      break;
    case Prim::kLn:
      construct = "vec.ln";
      break;
    case Prim::kSqrt:
      construct = "vec.sqrt";
      break;
    case Prim::kAbs:
      construct = "vec.abs";
      break;
    case Prim::kCall:
      name = v.call;
      construct = v.tag;
      break;
    case Prim::kLeakyRelu:
      name = v.call;
      construct = v.tag;
      extra = float_literal(v.number) + ", ";
      break;
    default:
      EVK_CHECK(false, "not a primitive of one vector");
  }
  if (name.empty()) name = book_.form(construct);
  say(fmt::format("AscendC::{}({}, {}, {}{});", name, dst, src, extra, count), {construct});
}

}  // namespace evk
