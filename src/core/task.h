// A task: one PyTorch reference operator, as the probe packed it. Plain values; tensors stay in their files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/op_graph.h"

namespace evk {

// A tensor argument of the kernel, in the order of its arguments.
struct TensorSpec {
  std::string name;
  std::string role;          // "input", "weight", "bias", "gamma", "beta", ...
  std::string precondition;  // "none", "nonneg", "labels", ...: what a kernel may rely on
  TensorType type;
};

enum class CompareBy { kFloat, kExact, kIndexValue };

struct OutputSpec {
  std::string name;
  TensorType type;
  CompareBy compare = CompareBy::kFloat;
};

// One set of inputs with its goldens. Files are relative to the pack's folder; goldens never enter a
// candidate's process.
struct TaskCase {
  std::string id;
  bool hidden = false;  // a hidden case is never described in feedback
  std::string inputs_file;
  std::string expected_file;
};

// A literal of the task's source that a choice of sizes replaces.
struct SizeChange {
  std::string name;
  std::int64_t from = 0, to = 0;
};

// Inputs of the timed sizes, drawn by rule in place of being stored, with what is expected at some positions.
struct TimedDraw {
  double low = 0, step = 0;  // element k is low + step * m, m = a 24-bit hash of (seed, k)
  std::uint32_t seed = 0;
};
struct TimedCase {
  std::vector<TimedDraw> draws;  // as ShapeSet::inputs
  std::string expected_file;
};

// The task at one choice of sizes: "small" and "ragged" are verified, "bench" is timed.
struct ShapeSet {
  std::string id;
  std::vector<SizeChange> changes;  // against the source
  std::vector<TensorSpec> inputs;   // forward inputs, then parameters and buffers
  std::vector<OutputSpec> outputs;
  OpGraph graph;
  std::vector<TaskCase> cases;
  std::optional<TimedCase> timed;
};

// Bounds of the strict and the paper's comparison (verification protocol, section 2.3).
struct Tolerance {
  double atol = 1e-2, rtol = 1e-2;  // the paper's
  double centred_rel = 1e-2;        // centred relative L2 error
  std::string op_class;  // "copy", "one_rounding", "elementwise", "sum", "normalisation", "scan", "composite"
  std::int64_t reduction_length = 1;  // terms of the longest sum
  int transcendentals = 0;            // calls on the longest path
};

struct Task {
  TaskId id;
  std::string name;  // snake case; usable as a C++ identifier
  std::string title;
  std::string doc;
  std::string category;  // from the graph: "activation", "reduction", "normalization", ...
  std::string mode;      // "train-nodropout" or "eval"
  std::string source_text;
  std::string source_sha256;
  std::vector<ShapeSet> shape_sets;
  Tolerance tolerance;
  bool structurally_constant = false;  // no check can tell a right answer: it gives no reward
  std::string folder;                  // of the pack

  // The set named so, or null.
  const ShapeSet* shapes(std::string_view id) const;
  // What retrieval embeds: name, category, shapes, dtypes, the reference trimmed to 4096 characters.
  std::string key_text() const;
};

}  // namespace evk
