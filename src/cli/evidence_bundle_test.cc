#include "cli/evidence_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace evk {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class EvidenceBundle : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "pack" / "small");
    std::ofstream(root_ / "pack" / "task.json") << "{}";
    std::ofstream(root_ / "pack" / "small" / "x") << "data";
    made_.task = "demo/x";
    made_.source_sha256 = "abc";
    made_.kernel.files = {{"op_host/x.cpp", "host"}, {"op_kernel/x.cpp", "kernel"}};
    made_.verdict.outcome = Measured{1000, true, {}};
    made_.verdict.harness = "h";
    made_.attempt = {{"attempt", 1}};
    const Status written = write_bundle(bundle_.string(), made_, (root_ / "pack").string());
    ASSERT_TRUE(written.has_value()) << written.error().text();
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string refusal() const {
    const auto read = read_bundle(bundle_.string());
    return read ? "" : read.error().text();
  }
  void overwrite(const std::string& path, const std::string& text) const {
    std::ofstream(bundle_ / path) << text;
  }
  nlohmann::json manifest() const { return nlohmann::json::parse(std::ifstream(bundle_ / "bundle.json")); }

  const fs::path root_ = fs::temp_directory_path() / ("evk-bundle-" + std::to_string(getpid()));
  const fs::path bundle_ = root_ / "bundle";
  Bundle made_;
};

TEST_F(EvidenceBundle, comes_back_as_it_was_written) {
  const auto read = read_bundle(bundle_.string());
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->kernel.files, made_.kernel.files);
  EXPECT_EQ(read->verdict, made_.verdict);
  EXPECT_EQ(read->attempt, made_.attempt);
  EXPECT_EQ(read->pack_hash.size(), 64U);
}

TEST_F(EvidenceBundle, is_not_written_over_another) {
  EXPECT_FALSE(write_bundle(bundle_.string(), made_, (root_ / "pack").string()).has_value());
}

TEST_F(EvidenceBundle, refuses_changed_added_and_missing_files) {
  overwrite("kernel/op_kernel/x.cpp", "other");
  EXPECT_THAT(refusal(), HasSubstr("hash differs"));
  overwrite("kernel/op_kernel/x.cpp", "kernel");
  EXPECT_EQ(refusal(), "");
  overwrite("pack/more", "x");
  EXPECT_THAT(refusal(), HasSubstr("not listed"));
  fs::remove(bundle_ / "pack" / "more");
  fs::remove(bundle_ / "pack" / "small" / "x");
  EXPECT_THAT(refusal(), HasSubstr("missing"));
}

TEST_F(EvidenceBundle, refuses_links_to_files_and_folders_and_special_files) {
  fs::create_symlink("/etc/passwd", bundle_ / "kernel" / "link");
  EXPECT_THAT(refusal(), HasSubstr("links"));
  fs::remove(bundle_ / "kernel" / "link");
  fs::create_directory_symlink("/", bundle_ / "kernel" / "link");
  EXPECT_THAT(refusal(), HasSubstr("links"));
  fs::remove(bundle_ / "kernel" / "link");
  fs::remove(bundle_ / "bundle.json");
  fs::create_symlink("/etc/passwd", bundle_ / "bundle.json");
  EXPECT_THAT(refusal(), HasSubstr("links are refused"));
}

TEST_F(EvidenceBundle, refuses_paths_that_leave_the_folder) {
  for (const char* path : {"../x", "/etc/passwd", "kernel/../../x", "kernel//x", "kernel/a\nb", "."}) {
    nlohmann::json changed = manifest();
    changed["files"][path] = "0";
    overwrite("bundle.json", changed.dump());
    EXPECT_THAT(refusal(), HasSubstr("leaves the folder")) << path;
  }
}

TEST_F(EvidenceBundle, refuses_huge_files_without_reading_them) {
  fs::resize_file(bundle_ / "pack" / "small" / "x", kBundleFileBytesMax + 1);
  EXPECT_THAT(refusal(), HasSubstr("is larger than"));
}

TEST_F(EvidenceBundle, refuses_text_that_nests_without_end) {
  overwrite("bundle.json", std::string(100000, '['));
  EXPECT_THAT(refusal(), HasSubstr("nests too deep"));
}

}  // namespace
}  // namespace evk
