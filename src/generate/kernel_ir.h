// A task's computation as the composer sees it: primitives over one canonical view [outer, reduce, inner] of
// its data.
//
// Every value of a graph that can be lowered is a constant, one number for each [outer, inner] (a *statistic*
// of the reduced axes), one number for each position along the reduced axes (a *row* of parameters), or a
// full tensor.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/op_graph.h"

namespace evk {

enum class Prim {
  kInput,
  kConst,
  kInverseLength,  // 1 / (number of reduced elements), known at run time
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,  // two operands
  kExp,
  kLn,
  kSqrt,
  kAbs,  // one operand, each a vector instruction
  kRelu,
  kLeakyRelu,
  kElu,
  kTanh,
  kSigmoid,
  kErf,
  kSoftplus,
  kGelu,  // one operand, written out by a chosen form
  kCall,  // one operand, `call` names a function
  kReduceSum,
  kReduceMax,
  kReduceMin,
  kVariance,  // of the reduced elements; written out by a chosen form
};

enum class Extent { kScalar, kStat, kRow, kFull };

struct IrValue {
  Prim prim = Prim::kConst;
  int a = -1, b = -1;  // operands: indices of earlier values
  double number = 0;   // of kConst; slope of kLeakyRelu; alpha of kElu
  int input = -1;      // of kInput: position among the kernel's inputs
  Extent extent = Extent::kScalar;
  int level = 0;     // number of reductions on the longest path to here
  std::string call;  // of kCall: the function as written in code
  std::string tag;   // the construct that decided this value's form; empty if none did
  bool operator==(const IrValue&) const = default;
};

enum class LoopForm {
  kFlat,   // no reduction and no row parameters: one long line of elements
  kRows,   // the reduced axes are the last ones: rows of contiguous elements
  kInner,  // axes follow the reduced ones: vectors along the inner axes
};

struct KernelPlan {
  std::vector<IrValue> values;  // operands stand before their users
  std::vector<int> outputs;     // values
  LoopForm loop = LoopForm::kFlat;
  int axis_begin = 0, axis_end = 0, rank = 0;  // the reduced axes of the reference input
  int reference_input = 0;                     // whose run-time shape sizes everything
  std::vector<std::string> input_names;        // all kernel inputs, also unused ones
  std::vector<bool> keeps_dims;  // per output: whether a statistic keeps the reduced axes as ones

  // Appends `value`, or finds an equal one. Sets extent and level from the operands.
  int add(IrValue value);
  int constant(double number);
  int binary(Prim prim, int a, int b);
  int unary(Prim prim, int a, double number = 0);
};

// Why a graph cannot be lowered: one line that names the operation.
struct Unsupported {
  std::string why;
};

// Lowers the graph. Takes shapes only to tell the kinds of values apart: the plan holds for other sizes of
// equal rank.
std::variant<KernelPlan, Unsupported> lower(const OpGraph& graph);

}  // namespace evk
