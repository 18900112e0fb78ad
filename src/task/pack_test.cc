#include "task/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "task/case.h"
#include "task/task_samples.h"

namespace evk {
namespace {

using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string pack_folder(const std::string& name) {
  return std::string(EVK_SOURCE_DIR) + "/tasks/packs/demo/" + name;
}

// What the reader says of the layer norm's document after `change`; empty if it accepts it.
std::string fault(const std::function<void(json&)>& change) {
  json document = sample::shipped_document("layer_norm");
  change(document);
  auto task = parse_pack(document.dump(), "pack");
  return task ? "" : task.error().message;
}

json& first_node(json& document) { return document["shape_sets"][0]["graph"]["nodes"][0]; }

TEST(Pack, reads_a_task_with_its_parameters_after_its_inputs) {
  auto task = read_pack(pack_folder("layer_norm"));
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->name, "layer_norm");
  EXPECT_EQ(task->category, "normalization");
  EXPECT_EQ(task->tolerance.op_class, "normalisation");
  const ShapeSet* small = task->shapes("small");
  ASSERT_NE(small, nullptr);
  ASSERT_EQ(small->inputs.size(), 3u);
  EXPECT_EQ(small->inputs[0].role, "input");
  EXPECT_EQ(small->inputs[1].role, "gamma");
  EXPECT_EQ(small->inputs[2].role, "beta");
  ASSERT_EQ(small->graph.nodes.size(), 1u);
  EXPECT_EQ(small->graph.nodes[0].op, "aten.native_layer_norm.default");
  EXPECT_EQ(small->graph.inputs[2].index, 2);
  EXPECT_EQ(small->graph.inputs[2].kind, GraphInputKind::kParam);
  EXPECT_EQ(task->shapes("bench")->inputs[0].type.shape[0], 4096);
  EXPECT_TRUE(task->shapes("bench")->cases.empty());
}

TEST(Pack, has_public_and_hidden_cases_and_a_ragged_one) {
  for (const auto& entry : fs::directory_iterator(pack_folder(""))) {
    auto task = read_pack(entry.path().string());
    ASSERT_TRUE(task) << task.error().message;
    const ShapeSet* small = task->shapes("small");
    const ShapeSet* ragged = task->shapes("ragged");
    ASSERT_NE(ragged, nullptr) << entry.path();
    EXPECT_EQ(
        std::count_if(small->cases.begin(), small->cases.end(), [](const TaskCase& c) { return !c.hidden; }),
        1)
        << entry.path();
    EXPECT_GE(
        std::count_if(small->cases.begin(), small->cases.end(), [](const TaskCase& c) { return c.hidden; }),
        2)
        << entry.path();
    EXPECT_NE(ragged->inputs[0].type.shape.back() % 8, 0) << entry.path();
    EXPECT_FALSE(task->structurally_constant) << entry.path();
    EXPECT_FALSE(task->doc.empty()) << entry.path();
  }
}

float float_at(const StoredTensor& tensor, std::size_t index) {
  float value = 0;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof value, sizeof value);
  return value;
}
double double_at(const StoredTensor& tensor, std::size_t index) {
  double value = 0;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// Recomputes the column sums from the stored inputs: inputs, truth, reference and scale must tell one story.
TEST(Case, holds_goldens_that_follow_from_its_inputs) {
  auto task = read_pack(pack_folder("column_sum"));
  ASSERT_TRUE(task) << task.error().message;
  for (const ShapeSet& set : task->shape_sets)
    for (const TaskCase& each : set.cases) {
      auto loaded = load_case(*task, set, each);
      ASSERT_TRUE(loaded) << loaded.error().message;
      const StoredGolden& golden = loaded->goldens.at(0);
      ASSERT_TRUE(golden.reference && golden.scale);
      const std::size_t rows = static_cast<std::size_t>(set.inputs[0].type.shape[0]),
                        columns = static_cast<std::size_t>(set.inputs[0].type.shape[1]);
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = 0, scale = 0;
        for (std::size_t i = 0; i < rows; ++i) {
          sum += static_cast<double>(float_at(loaded->inputs[0], i * columns + j));
          scale += std::abs(static_cast<double>(float_at(loaded->inputs[0], i * columns + j)));
        }
        EXPECT_NEAR(double_at(golden.truth, j), sum, 1e-9 * scale)
            << set.id << " " << each.id << " column " << j;
        EXPECT_NEAR(static_cast<double>(float_at(*golden.reference, j)), sum, 1e-5 * scale);
        EXPECT_NEAR(static_cast<double>(float_at(*golden.scale, j)), scale, 1e-5 * scale);
      }
    }
}

TEST(Case, refuses_a_tensor_of_another_shape_than_the_set_says) {
  auto task = read_pack(pack_folder("column_sum"));
  ASSERT_TRUE(task);
  ShapeSet set = *task->shapes("small");
  set.inputs[0].type.shape[0] += 1;
  auto loaded = load_case(*task, set, set.cases[0]);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("input.x"));
}

TEST(Pack, names_the_place_and_the_rule_of_what_is_wrong) {
  const std::string message = fault([](json& d) { d["shape_sets"][0]["inputs"][0]["shape"][0] = -1; });
  EXPECT_THAT(message, HasSubstr("pack/task.json: document.shape_sets[0].inputs[0].shape[0]"));
  EXPECT_THAT(message, HasSubstr("must lie in"));
}

TEST(Pack, refuses_fields_out_of_their_range) {
  EXPECT_EQ(fault([](json&) {}), "");
  EXPECT_NE(fault([](json& d) { d["schema"] = 2; }), "");
  EXPECT_NE(fault([](json& d) { d.erase("tolerance"); }), "");
  EXPECT_NE(fault([](json& d) { d["name"] = "9lives"; }), "");
  EXPECT_NE(fault([](json& d) { d["name"] = "a\"; system(\"x"; }), "");
  EXPECT_NE(fault([](json& d) { d["title"] = "a\nb"; }), "");
  EXPECT_NE(fault([](json& d) { d["source_sha256"] = "zz"; }), "");
  EXPECT_NE(fault([](json& d) { d["tolerance"]["atol"] = 1e30; }), "");
  EXPECT_NE(fault([](json& d) { d["tolerance"]["op_class"] = "anything"; }), "");
  EXPECT_NE(fault([](json& d) { d["tolerance"]["reduction_length"] = 0; }), "");
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["inputs"][0]["dtype"] = "float31"; }), "");
  EXPECT_NE(fault([](json& d) {
              d["shape_sets"][0]["inputs"][0]["shape"] = json::array({1 << 30, 1 << 30});
            }),
            "");
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["inputs"][0]["shape"] = std::vector<int>(9, 1); }), "");
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["inputs"][0]["shape"][0] = 1.5; }), "");
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["outputs"][0]["compare"] = "never"; }), "");
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["graph"] = 3; }), "");
  EXPECT_NE(fault([](json& d) { d["shape_sets"][1]["id"] = "small"; }), "") << "two sets of one name";
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["cases"] = json::array(); }), "");
  EXPECT_NE(fault([](json& d) { d["shape_sets"] = json::array(); }), "");
}

TEST(Pack, refuses_graphs_that_point_nowhere) {
  EXPECT_NE(fault([](json& d) { first_node(d)["args"][0] = {{"ref", "n9"}}; }), "") << "unknown node";
  EXPECT_NE(fault([](json& d) {
              first_node(d)["args"][0] = {{"ref", "n0"}};
            }),
            "")
      << "a node that refers to itself";
  EXPECT_NE(fault([](json& d) {
              first_node(d)["args"][0] = {{"ref", "i0"}, {"index", 1}};
            }),
            "")
      << "output that is not there";
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["graph"]["nodes"].push_back(first_node(d)); }), "")
      << "an id twice";
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["graph"]["inputs"][0]["index"] = 7; }), "");
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["graph"]["inputs"][1]["name"] = "x"; }), "");
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["graph"]["inputs"][0]["shape"][0] = 3; }), "")
      << "another type than the input";
  EXPECT_NE(fault([](json& d) { d["shape_sets"][0]["graph"]["outputs"] = json::array(); }), "");
  EXPECT_NE(fault([](json& d) {
              json deep = 1;
              for (int i = 0; i < 12; ++i) deep = json::array({deep});
              first_node(d)["args"][0] = deep;
            }),
            "");
  EXPECT_NE(fault([](json& d) { first_node(d)["args"][0] = {{"float", "seven"}}; }), "");
  EXPECT_EQ(fault([](json& d) { first_node(d)["args"].push_back({{"float", "-inf"}}); }), "");
}

TEST(Pack, refuses_paths_that_leave_the_folder) {
  for (const char* path : {"/etc/passwd", "../x", "small/../../x", "", ".", "small//..", "a\\b"})
    EXPECT_NE(fault([&](json& d) { d["shape_sets"][0]["cases"][0]["inputs"] = path; }), "") << path;
}

TEST(Pack, refuses_links_and_missing_files) {
  const sample::Folder folder;
  fs::copy(pack_folder("column_sum"), folder.path() + "/p", fs::copy_options::recursive);
  ASSERT_TRUE(read_pack(folder.path() + "/p"));
  const fs::path file = folder.path() + "/p/small/p0.inputs.safetensors";
  fs::rename(file, folder.path() + "/elsewhere");
  EXPECT_THAT(read_pack(folder.path() + "/p").error().message, HasSubstr("is missing"));
  fs::create_symlink(folder.path() + "/elsewhere", file);
  EXPECT_THAT(read_pack(folder.path() + "/p").error().message, HasSubstr("is a link"));
  fs::remove(file);
  fs::rename(folder.path() + "/p/small", folder.path() + "/small");
  fs::create_directory_symlink(folder.path() + "/small", folder.path() + "/p/small");
  EXPECT_THAT(read_pack(folder.path() + "/p").error().message, HasSubstr("is a link"));
  EXPECT_FALSE(read_pack(folder.path() + "/none"));
}

TEST(Pack, a_document_cut_anywhere_is_an_error_and_never_a_crash) {
  const std::string text = sample::shipped_document("column_sum").dump();
  for (std::size_t size = 0; size < text.size(); ++size)
    ASSERT_FALSE(parse_pack(text.substr(0, size), "pack")) << size;
  EXPECT_FALSE(parse_pack(std::string(1 << 20, '['), "pack"));
}

TEST(Pack, any_value_of_another_kind_gives_an_answer) {
  const json document = sample::shipped_document("rms_norm");
  int refused = 0;
  const json paths = document.flatten();
  for (auto place = paths.begin(); place != paths.end(); ++place)
    for (const json& other :
         {json(), json(true), json(-1), json(1e300), json("x"), json::array(), json::object()}) {
      json changed = document;
      changed[json::json_pointer(place.key())] = other;
      refused += parse_pack(changed.dump(), "pack") ? 0 : 1;
    }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace evk
