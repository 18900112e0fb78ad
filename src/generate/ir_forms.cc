#include "generate/ir_forms.h"

#include <array>
#include <cmath>

namespace evk {
namespace {

class Writer {
 public:
  Writer(const KernelPlan& plan, ChoiceBook& book) : plan_(plan), book_(book) {
    made_ = plan;
    made_.values.clear();
  }

  KernelPlan run() {
    std::vector<int> map;
    for (const auto& value : plan_.values) {
      IrValue moved = value;
      if (moved.a >= 0) moved.a = map[static_cast<std::size_t>(moved.a)];
      if (moved.b >= 0) moved.b = map[static_cast<std::size_t>(moved.b)];
      map.push_back(form_of(moved));
    }
    for (auto& output : made_.outputs) output = map[static_cast<std::size_t>(output)];
    return std::move(made_);
  }

 private:
  int c(double number) { return made_.constant(number); }
  int add(int a, int b) { return made_.binary(Prim::kAdd, a, b); }
  int sub(int a, int b) { return made_.binary(Prim::kSub, a, b); }
  int mul(int a, int b) { return made_.binary(Prim::kMul, a, b); }
  int div(int a, int b) { return made_.binary(Prim::kDiv, a, b); }
  int max(int a, int b) { return made_.binary(Prim::kMax, a, b); }
  int min(int a, int b) { return made_.binary(Prim::kMin, a, b); }
  int exp(int a) { return made_.unary(Prim::kExp, a); }

  int call(std::string_view name, std::string_view tag, int a) {
    IrValue value;
    value.prim = Prim::kCall;
    value.a = a;
    value.call = name;
    value.tag = tag;
    return made_.add(value);
  }

  int form_of(const IrValue& v) {
    switch (v.prim) {
      case Prim::kRelu:
        return relu(v.a);
      case Prim::kLeakyRelu:
        return leaky_relu(v.a, v.number);
      case Prim::kElu:
        return elu(v.a, v.number);
      case Prim::kTanh:
        return tanh(v.a);
      case Prim::kSigmoid:
        return sigmoid(v.a);
      case Prim::kErf:
        return erf(v.a);
      case Prim::kSoftplus:
        return softplus(v.a);
      case Prim::kGelu:
        return gelu(v.a, v.number != 0);
      case Prim::kVariance:
        return variance(v.a);
      default:
        return made_.add(v);
    }
  }

  int relu(int x) {
    const auto& form = book_.form("act.relu");
    return form == "maxs" ? max(x, c(0)) : call(form, "act.relu", x);
  }

  int leaky_relu(int x, double slope) {
    const auto& form = book_.form("act.leaky_relu");
    if (form == "two_sided") return add(max(x, c(0)), mul(min(x, c(0)), c(slope)));
    IrValue value;
    value.prim = Prim::kLeakyRelu;
    value.a = x;
    value.number = slope;
    value.call = form;
    value.tag = "act.leaky_relu";
    return made_.add(value);
  }

  int elu(int x, double alpha) {
    const int below = book_.is("act.elu", "clamped_exp") ? min(x, c(0)) : x;
    const int curve = add(exp(below), c(-1));
    return add(max(x, c(0)), alpha == 1 ? curve : mul(curve, c(alpha)));
  }

  // 1 - 2 / (exp(2x) + 1): saturates on both sides without an overflow that is seen.
  int tanh(int x) {
    const auto& form = book_.form("act.tanh");
    if (form != "exp_form") return call(form, "act.tanh", x);
    return sub(c(1), div(c(2), add(exp(mul(x, c(2))), c(1))));
  }

  int sigmoid(int x) {
    const auto& form = book_.form("act.sigmoid");
    if (form != "exp_form") return call(form, "act.sigmoid", x);
    return div(c(1), add(exp(mul(x, c(-1))), c(1)));
  }

  int horner(int x, const double* from, std::size_t count) {
    int made = c(from[0]);
    for (std::size_t i = 1; i < count; ++i) made = add(i == 1 ? mul(x, made) : mul(made, x), c(from[i]));
    return made;
  }

  // A rational approximation in x^2 on [-4, 4], odd by its factor x; its error is below 4e-7.
  int erf(int x) {
    const auto& form = book_.form("act.erf");
    if (form != "polynomial") return call(form, "act.erf", x);
    static constexpr std::array kUpper = {-2.72614225801306e-10, 2.77068142495902e-08,  -2.10102402082508e-06,
                                          -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03,
                                          -1.60960333262415e-02};
    static constexpr std::array kLower = {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
                                          -7.37332916720468e-03, -1.42647390514189e-02};
    const int bounded = min(max(x, c(-4)), c(4));
    const int square = mul(bounded, bounded);
    return div(mul(bounded, horner(square, kUpper.data(), kUpper.size())),
               horner(square, kLower.data(), kLower.size()));
  }

  int softplus(int x) {
    if (book_.is("act.softplus", "log_of_exp")) return made_.unary(Prim::kLn, add(exp(x), c(1)));
    const int away = mul(made_.unary(Prim::kAbs, x), c(-1));
    return add(max(x, c(0)), made_.unary(Prim::kLn, add(exp(away), c(1))));
  }

  int gelu(int x, bool by_tanh) {
    if (book_.is("act.gelu", "sigmoid_guess")) return mul(x, sigmoid(mul(x, c(1.702))));
    int inner = 0;
    if (by_tanh) {
      const int cube = mul(mul(mul(x, x), x), c(0.044715));
      inner = tanh(mul(add(x, cube), c(std::sqrt(2.0 / M_PI))));
    } else {
      inner = erf(mul(x, c(std::sqrt(0.5))));
    }
    return mul(mul(x, c(0.5)), add(inner, c(1)));
  }

  int mean(int x) {
    IrValue inverse;
    inverse.prim = Prim::kInverseLength;
    return mul(made_.unary(Prim::kReduceSum, x), made_.add(inverse));
  }

  // One pass reads the data once less, and loses digits if the mean is far from zero.
  int variance(int x) {
    const int centre = mean(x);
    if (book_.is("sched.moments", "one_pass")) return sub(mean(mul(x, x)), mul(centre, centre));
    const int away = sub(x, centre);
    return mean(mul(away, away));
  }

  const KernelPlan& plan_;
  ChoiceBook& book_;
  KernelPlan made_;
};

}  // namespace

KernelPlan written_out(const KernelPlan& plan, ChoiceBook& book) { return Writer(plan, book).run(); }

}  // namespace evk
