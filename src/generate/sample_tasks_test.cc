#include "generate/sample_tasks.h"

namespace evk::sample {

GraphArg ref(const std::string& id) { return {GraphRef{id, 0}}; }
GraphArg number(double value) { return {value}; }
GraphArg integer(std::int64_t value) { return {value}; }
GraphArg truth(bool value) { return {value}; }
GraphArg dims(std::vector<std::int64_t> values) {
  GraphArgs list;
  for (const auto value : values) list.push_back(integer(value));
  return {list};
}

Graph& Graph::input(const std::string& name, std::vector<std::int64_t> shape, GraphInputKind kind) {
  GraphInput made;
  made.id = made.name = name;
  made.kind = kind;
  made.index = static_cast<int>(graph_.inputs.size());
  made.type.shape = std::move(shape);
  graph_.inputs.push_back(std::move(made));
  return *this;
}

Graph& Graph::node(const std::string& id, const std::string& op, std::vector<GraphArg> args,
                   std::vector<std::int64_t> shape, std::map<std::string, GraphArg> kwargs) {
  GraphNode made;
  made.id = id;
  made.op = op;
  made.args = std::move(args);
  made.kwargs = std::move(kwargs);
  made.outs.push_back({DType::kFloat32, std::move(shape)});
  graph_.nodes.push_back(std::move(made));
  return *this;
}

Task Graph::task(const std::string& name, const std::string& output) const {
  Task task;
  task.id = TaskId{"sample/" + name};
  task.name = name;
  ShapeSet small;
  small.id = "small";
  small.graph = graph_;
  small.graph.outputs.push_back({output, 0});
  for (const auto& input : graph_.inputs) small.inputs.push_back({input.name, "input", "none", input.type});
  for (const auto& node : graph_.nodes)
    if (node.id == output) small.outputs.push_back({"y", node.outs.front(), CompareBy::kFloat});
  task.shape_sets.push_back(std::move(small));
  return task;
}

namespace {

const std::vector<std::int64_t> kRows = {8, 300};
const std::vector<std::int64_t> kCube = {4, 16, 40};
const std::vector<std::int64_t> kImage = {2, 8, 6, 10};

Task one(const std::string& name, const std::string& op, std::vector<GraphArg> more = {},
         std::map<std::string, GraphArg> kwargs = {}) {
  std::vector<GraphArg> args = {ref("x")};
  args.insert(args.end(), more.begin(), more.end());
  return Graph(kRows).node("y", op, args, kRows, std::move(kwargs)).task(name, "y");
}

void add_activations(std::vector<Task>& all) {
  all.push_back(one("relu", "aten.relu.default"));
  all.push_back(one("leaky_relu", "aten.leaky_relu.default", {number(0.01)}));
  all.push_back(one("sigmoid", "aten.sigmoid.default"));
  all.push_back(one("tanh", "aten.tanh.default"));
  all.push_back(one("softmax", "aten._softmax.default", {integer(1), truth(false)}));
  all.push_back(one("log_softmax", "aten._log_softmax.default", {integer(1), truth(false)}));
  all.push_back(Graph(kRows)
                    .node("s", "aten.sigmoid.default", {ref("x")}, kRows)
                    .node("y", "aten.mul.Tensor", {ref("x"), ref("s")}, kRows)
                    .task("swish", "y"));
  all.push_back(one("gelu", "aten.gelu.default"));
  all.push_back(one("gelu_tanh", "aten.gelu.default", {}, {{"approximate", {std::string("tanh")}}}));
  all.push_back(one("selu", "aten.elu.default", {number(1.6732632423543772), number(1.0507009873554805)}));
  all.push_back(one("hardsigmoid", "aten.hardsigmoid.default"));
  all.push_back(one("softplus", "aten.softplus.default"));
  all.push_back(Graph(kRows)
                    .node("a", "aten.abs.default", {ref("x")}, kRows)
                    .node("b", "aten.add.Tensor", {ref("a"), integer(1)}, kRows)
                    .node("y", "aten.div.Tensor", {ref("x"), ref("b")}, kRows)
                    .task("softsign", "y"));
  all.push_back(one("elu", "aten.elu.default", {number(1.0)}));
  all.push_back(one("hardtanh", "aten.hardtanh.default", {number(-1), number(1)}));
}

void add_norms(std::vector<Task>& all) {
  const std::vector<std::int64_t> kept = {2, 1, 6, 10};
  all.push_back(Graph(kImage)
                    .node("p", "aten.pow.Tensor_Scalar", {ref("x"), integer(2)}, kImage)
                    .node("m", "aten.mean.dim", {ref("p"), dims({1}), truth(true)}, kept)
                    .node("e", "aten.add.Tensor", {ref("m"), number(1e-5)}, kept)
                    .node("r", "aten.sqrt.default", {ref("e")}, kept)
                    .node("y", "aten.div.Tensor", {ref("x"), ref("r")}, kImage)
                    .task("rms_norm", "y"));
  all.push_back(Graph(kImage)
                    .node("n", "aten.norm.ScalarOpt_dim", {ref("x"), integer(2), dims({})}, {})
                    .node("y", "aten.div.Tensor", {ref("x"), ref("n")}, kImage)
                    .task("frobenius_norm", "y"));
  all.push_back(Graph(kRows)
                    .node("a", "aten.abs.default", {ref("x")}, kRows)
                    .node("m", "aten.mean.dim", {ref("a"), dims({1}), truth(true)}, {8, 1})
                    .node("y", "aten.div.Tensor", {ref("x"), ref("m")}, kRows)
                    .task("l1_norm", "y"));
  all.push_back(
      Graph(kRows)
          .node("n", "aten.norm.ScalarOpt_dim", {ref("x"), integer(2), dims({1}), truth(true)}, {8, 1})
          .node("y", "aten.div.Tensor", {ref("x"), ref("n")}, kRows)
          .task("l2_norm", "y"));
  all.push_back(Graph(kImage)
                    .input("weight", {8, 6, 10}, GraphInputKind::kParam)
                    .input("bias", {8, 6, 10}, GraphInputKind::kParam)
                    .node("y", "aten.native_layer_norm.default",
                          {ref("x"), dims({8, 6, 10}), ref("weight"), ref("bias"), number(1e-5)}, kImage)
                    .task("layer_norm", "y"));
}

}  // namespace

std::vector<Task> usual_tasks() {
  std::vector<Task> all;
  add_activations(all);
  add_norms(all);
  const std::vector<std::int64_t> kept = {4, 1, 40}, dropped = {4, 40};
  all.push_back(Graph(kCube)
                    .node("y", "aten.sum.dim_IntList", {ref("x"), dims({1}), truth(true)}, kept)
                    .task("sum_dim", "y"));
  all.push_back(
      Graph(kCube).node("y", "aten.mean.dim", {ref("x"), dims({1})}, dropped).task("mean_dim", "y"));
  all.push_back(Graph(kCube).node("y", "aten.max.dim", {ref("x"), integer(1)}, dropped).task("max_dim", "y"));
  all.push_back(Graph(kCube).node("y", "aten.min.dim", {ref("x"), integer(1)}, dropped).task("min_dim", "y"));
  return all;
}

}  // namespace evk::sample
