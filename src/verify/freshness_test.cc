#include "verify/freshness.h"

#include <gtest/gtest.h>

#include <cstring>

#include "verify/red_team.h"

namespace evk {
namespace {

ShapeSet one_node(const std::string& op, GraphArgs args, std::vector<std::int64_t> out) {
  ShapeSet shapes;
  const TensorType type{DType::kFloat32, {4, 3}};
  shapes.inputs = {{"x", "input", "none", type}};
  shapes.outputs = {{"y", {DType::kFloat32, out}, CompareBy::kFloat}};
  shapes.graph.inputs = {{"i0", GraphInputKind::kInput, "x", 0, type}};
  shapes.graph.nodes = {{"n0", op, std::move(args), {}, {{DType::kFloat32, std::move(out)}}}};
  shapes.graph.outputs = {{"n0", 0}};
  return shapes;
}

const GraphArg kX{GraphRef{"i0", 0}};

TEST(Symmetries, let_rows_of_a_pointwise_operator_be_permuted) {
  const Symmetries found = symmetries_of(one_node("aten.relu.default", {kX}, {4, 3}));
  EXPECT_EQ(found.batched, std::set<std::size_t>{0});
  EXPECT_FALSE(found.homogeneous.has_value());
}

TEST(Symmetries, prove_nothing_of_rows_for_a_softmax_down_the_columns) {
  EXPECT_TRUE(symmetries_of(one_node("aten._softmax.default", {kX, {std::int64_t{0}}, {false}}, {4, 3}))
                  .batched.empty());
  EXPECT_TRUE(symmetries_of(one_node("aten._softmax.default", {kX, {std::int64_t{-2}}, {false}}, {4, 3}))
                  .batched.empty());
  EXPECT_FALSE(symmetries_of(one_node("aten._softmax.default", {kX, {std::int64_t{-1}}, {false}}, {4, 3}))
                   .batched.empty());
}

TEST(Symmetries, prove_nothing_of_an_operation_that_they_do_not_know) {
  EXPECT_FALSE(symmetries_of(one_node("aten.roll.default", {kX}, {4, 3})).any());
}

TEST(Symmetries, let_the_input_of_a_sum_be_scaled) {
  const Symmetries found = symmetries_of(one_node("aten.sum.default", {kX}, {}));
  EXPECT_TRUE(found.batched.empty());
  EXPECT_EQ(found.homogeneous, std::size_t{0});
}

TEST(Symmetries, do_not_scale_what_has_an_offset) {
  EXPECT_FALSE(symmetries_of(one_node("aten.add.Tensor", {kX, {1.0}}, {4, 3})).homogeneous.has_value());
}

// Every row of the fresh case is a row of the old one with its answer beside it.
TEST(Freshen, moves_inputs_and_goldens_alike) {
  const Task task = red_team_tasks()[0];
  const ShapeSet& shapes = task.shape_sets[0];
  const auto data = red_team_reader()->read(task, shapes, shapes.cases[0]);
  ASSERT_TRUE(data.has_value());
  const auto fresh = freshen(shapes, symmetries_of(shapes), **data, 7);
  ASSERT_TRUE(fresh.has_value());
  EXPECT_EQ(fresh->what, "rows permuted");
  EXPECT_NE(fresh->data.inputs[0].data, (*data)->inputs[0].data);
  const TensorView x = fresh->data.inputs[0].view(), y = fresh->data.goldens[0].truth.view();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y.at(i), 2.0 * x.at(i) + 1.0);
}

TEST(Freshen, gives_the_same_case_for_the_same_seed_and_another_for_another) {
  const Task task = red_team_tasks()[1];
  const ShapeSet& shapes = task.shape_sets[0];
  const auto data = red_team_reader()->read(task, shapes, shapes.cases[0]);
  ASSERT_TRUE(data.has_value());
  const auto at = [&](std::uint64_t seed) {
    return freshen(shapes, symmetries_of(shapes), **data, seed)->data.inputs[0].data;
  };
  EXPECT_EQ(at(1), at(1));
  EXPECT_NE(at(1), at(2));
}

}  // namespace
}  // namespace evk
