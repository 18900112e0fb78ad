// Small tasks of the usual kinds, as a probe would pack them. For tests.
#pragma once

#include <string>
#include <vector>

#include "core/task.h"

namespace evk::sample {

// Builds the graph of one task step by step.
class Graph {
 public:
  explicit Graph(std::vector<std::int64_t> shape) { input("x", std::move(shape), GraphInputKind::kInput); }
  Graph& input(const std::string& name, std::vector<std::int64_t> shape, GraphInputKind kind);
  // A node of one output; arguments that are strings starting with '%' are references.
  Graph& node(const std::string& id, const std::string& op, std::vector<GraphArg> args,
              std::vector<std::int64_t> shape, std::map<std::string, GraphArg> kwargs = {});
  Task task(const std::string& name, const std::string& output) const;

 private:
  OpGraph graph_;
};

GraphArg ref(const std::string& id);
GraphArg number(double value);
GraphArg integer(std::int64_t value);
GraphArg truth(bool value);
GraphArg dims(std::vector<std::int64_t> values);

// ReLU, LeakyReLU, sigmoid, tanh, softmax, log-softmax, swish, GELU (two kinds), SELU, hard sigmoid,
// softplus, softsign, ELU, hard tanh, RMS norm, Frobenius norm, L1 norm, L2 norm, layer norm, sum, mean, max,
// min.
std::vector<Task> usual_tasks();

}  // namespace evk::sample
