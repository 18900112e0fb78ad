#include "verify/pack_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace evk {
namespace {

namespace fs = std::filesystem;

struct Pack {
  fs::path folder = fs::temp_directory_path() / ("evk-pack-reader-" + std::to_string(getpid()));
  Pack() { fs::create_directories(folder); }
  ~Pack() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  void write(const char* name, const std::string& header, const std::string& data) const {
    std::ofstream out(folder / name, std::ios::binary);
    const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
    const std::uint64_t size = padded.size();
    out.write(reinterpret_cast<const char*>(&size), 8) << padded << data;
  }
};

template <typename T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

Task task_in(const Pack& pack) {
  Task task;
  task.folder = pack.folder.string();
  ShapeSet shapes;
  shapes.inputs = {{"x", "input", "none", {DType::kFloat32, {2}}}};
  shapes.outputs = {{"y", {DType::kFloat32, {2}}, CompareBy::kFloat}};
  shapes.cases = {{"0", false, "in.safetensors", "out.safetensors"}};
  task.shape_sets = {shapes};
  return task;
}

TEST(PackReader, hands_out_inputs_and_goldens_and_keeps_them) {
  const Pack pack;
  pack.write("in.safetensors", R"({"input.x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
             raw<float>({1.5f, 2.5f}));
  pack.write("out.safetensors", R"({"truth.0":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})",
             raw<double>({3, 4}));
  const Task task = task_in(pack);
  const auto reader = make_pack_reader();
  const auto first = reader->read(task, task.shape_sets[0], task.shape_sets[0].cases[0]);
  ASSERT_TRUE(first.has_value()) << first.error().text();
  EXPECT_EQ((*first)->inputs[0].view().at(1), 2.5);
  EXPECT_EQ((*first)->goldens[0].truth.view().at(0), 3.0);
  fs::remove(pack.folder / "in.safetensors");
  const auto again = reader->read(task, task.shape_sets[0], task.shape_sets[0].cases[0]);
  ASSERT_TRUE(again.has_value()) << "a known case needs no file";
  EXPECT_EQ(again->get(), first->get());
}

TEST(PackReader, names_the_file_that_is_missing) {
  const Pack pack;
  const Task task = task_in(pack);
  const auto read = make_pack_reader()->read(task, task.shape_sets[0], task.shape_sets[0].cases[0]);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().text(), ::testing::HasSubstr("in.safetensors"));
}

}  // namespace
}  // namespace evk
