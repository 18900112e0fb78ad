#include "task/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "task/task_samples.h"

namespace evk {
namespace {

// Its data must lie as a mapped file's does, so the bytes are copied to an aligned place.
struct Aligned {
  explicit Aligned(const std::string& text) : words(text.size() / 8 + 1), size(text.size()) {
    std::memcpy(words.data(), text.data(), size);
  }
  std::span<const std::byte> span() const { return {reinterpret_cast<const std::byte*>(words.data()), size}; }
  std::vector<std::uint64_t> words;
  std::size_t size;
};

std::string padded(std::string header) {
  while (header.size() % 8 != 0) header += ' ';
  return header;
}

std::string fault(const std::string& header, const std::string& data) {
  const Aligned text(sample::safetensors_text(padded(header), data));
  auto found = parse_safetensors(text.span());
  return found ? "" : found.error().message;
}

const std::string kTwo =
    R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"I64","shape":[],"data_offsets":[16,24]}})";

TEST(Safetensors, finds_each_tensor_with_its_type_and_bytes) {
  const Aligned text(sample::safetensors_text(padded(kTwo), std::string(16, '\1') + std::string(8, '\2')));
  auto found = parse_safetensors(text.span());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->at("a").type, (TensorType{DType::kFloat32, {2, 2}}));
  EXPECT_EQ(found->at("b").type, (TensorType{DType::kInt64, {}}));
  EXPECT_EQ(found->at("a").bytes[15], std::byte{1});
  EXPECT_EQ(found->at("b").bytes[0], std::byte{2});
}

TEST(Safetensors, refuses_what_does_not_fit) {
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return std::string(R"({"a":{"dtype":")") + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  const std::string data(64, '\0');
  EXPECT_EQ(fault(tensor("F32", "[4]", "[0,16]"), data), "");
  EXPECT_NE(fault(tensor("F31", "[4]", "[0,16]"), data), "");
  EXPECT_NE(fault(tensor("F32", "[5]", "[0,16]"), data), "") << "longer shape than data";
  EXPECT_NE(fault(tensor("F32", "[-4]", "[0,16]"), data), "") << "negative size";
  EXPECT_NE(fault(tensor("F32", "[4.0]", "[0,16]"), data), "") << "size that is no integer";
  EXPECT_NE(fault(tensor("F32", "[4]", "[16,0]"), data), "") << "end before begin";
  EXPECT_NE(fault(tensor("F32", "[4]", "[56,72]"), data), "") << "past the end";
  EXPECT_NE(fault(tensor("F32", "[4]", "[2,18]"), data), "") << "not aligned";
  EXPECT_NE(fault(tensor("F32", "[4294967296,4294967296]", "[0,0]"), data), "") << "a product that overflows";
  EXPECT_NE(fault(tensor("F32", "[18446744073709551615]", "[0,16]"), data), "");
  EXPECT_NE(fault(tensor("F32", "[1,1,1,1,1,1,1,1,4]", "[0,16]"), data), "") << "nine axes";
  EXPECT_NE(
      fault(
          R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}})",
          data),
      "")
      << "two tensors on the same bytes";
  EXPECT_NE(fault("[1]", data), "");
  EXPECT_NE(fault(std::string(100000, '['), data), "") << "nesting";
}

TEST(Safetensors, a_file_cut_anywhere_is_an_error_and_never_a_crash) {
  const std::string whole = sample::safetensors_text(padded(kTwo), std::string(24, '\7'));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Aligned cut(whole.substr(0, size));
    EXPECT_FALSE(parse_safetensors(cut.span())) << "cut to " << size << " bytes";
  }
  EXPECT_TRUE(parse_safetensors(Aligned(whole).span()));
}

TEST(Safetensors, any_changed_byte_gives_an_answer) {
  const std::string whole = sample::safetensors_text(padded(kTwo), std::string(24, '\7'));
  const std::size_t header_end = whole.size() - 24;
  int refused = 0;
  for (std::size_t at = 0; at < header_end; ++at)
    for (const char value : {'\0', '\xff', '9', '[', '"'}) {
      std::string changed = whole;
      changed[at] = value;
      const Aligned text(changed);
      const auto found = parse_safetensors(text.span());
      refused += found ? 0 : 1;
      if (!found) continue;
      for (const auto& [name, tensor] : *found) {
        EXPECT_EQ(static_cast<std::int64_t>(tensor.bytes.size()),
                  tensor.type.elements() * bytes_of(tensor.type.dtype));
        EXPECT_LE(tensor.bytes.data() + tensor.bytes.size(), text.span().data() + text.size);
      }
    }
  EXPECT_GT(refused, 300);
}

TEST(Safetensors, opens_plain_files_only) {
  const sample::Folder folder;
  const std::string file =
      folder.write("a.safetensors", sample::safetensors_text(padded(kTwo), std::string(24, '\7')));
  auto opened = Safetensors::open(file);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_NE((*opened)->find("a"), nullptr);
  EXPECT_EQ((*opened)->find("c"), nullptr);
  std::filesystem::create_symlink(file, folder.path() + "/link");
  EXPECT_FALSE(Safetensors::open(folder.path() + "/link"));
  EXPECT_FALSE(Safetensors::open(folder.path()));
  EXPECT_FALSE(Safetensors::open(folder.path() + "/none"));
  EXPECT_FALSE(Safetensors::open("/dev/zero"));
}

}  // namespace
}  // namespace evk
