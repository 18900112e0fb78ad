#include "twin/engine/device.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace evk::twin {
namespace {

const std::string kFolder = std::string(EVK_SOURCE_DIR) + "/twin/devices";

std::string text_of(const std::string& name) {
  std::ifstream in(kFolder + "/" + name + ".toml");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The error of a device file made from the 910B1's by replacing `from`.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = text_of("ascend910b1");
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const std::string path = std::string(EVK_BINARY_DIR) + "/device_test.toml";
  std::ofstream(path) << text;
  const auto device = load_device(path);
  std::filesystem::remove(path);
  return device ? "" : device.error().text();
}

TEST(Device, every_chip_is_whole) {
  for (const auto* name : {"ascend910b1", "ascend910b2", "ascend910b3", "ascend910b4", "ascend910_93"}) {
    const auto device = find_device(kFolder, name);
    ASSERT_TRUE(device) << device.error().text();
    EXPECT_EQ(device->name, name);
    EXPECT_GE(device->clock_ghz, 1.6);
    EXPECT_EQ(device->aiv_cores, 2 * device->aic_cores);
    EXPECT_EQ(device->ub_usable_bytes, 196352u);
  }
  EXPECT_EQ(find_device(kFolder, "ascend910b3")->aiv_cores, 40);
}

TEST(Device, an_unknown_name_lists_those_that_exist) {
  const auto device = find_device(kFolder, "ascend910b9");
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().text().find("ascend910_93, ascend910b1"), std::string::npos)
      << device.error().text();
}

TEST(Device, a_file_says_what_is_wrong_with_it) {
  EXPECT_NE(error_with("head_cycles = { value", "head_cycels = { value").find("unknown key 'v.head_cycels'"),
            std::string::npos);
  EXPECT_NE(error_with("[launch]\nbase_ns", "[launch]\n# base_ns").find("'launch.base_ns' is missing"),
            std::string::npos);
  EXPECT_NE(error_with(", confidence = \"stated\"", "").find("has no confidence"), std::string::npos);
  EXPECT_NE(error_with("source = \"best-practice", "source = \"\" #").find("device_test.toml"),
            std::string::npos);
  EXPECT_NE(error_with("value = 1.85", "value = \"fast\"").find("core.clock_ghz: value must be a number"),
            std::string::npos);
  EXPECT_NE(error_with("value = 1.85", "value = -1").find("core.clock_ghz"), std::string::npos);
  EXPECT_NE(error_with("clock_ghz = {", "clock_ghz = 1.85 # {").find("write it as"), std::string::npos);
}

}  // namespace
}  // namespace evk::twin
