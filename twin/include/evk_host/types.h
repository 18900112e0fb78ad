// Names of the host side: data types, formats, status codes, shapes. Part of what op_host sources compile
// against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace ge {

enum DataType : int {
  DT_FLOAT = 0,
  DT_FLOAT16 = 1,
  DT_INT8 = 2,
  DT_INT32 = 3,
  DT_UINT8 = 4,
  DT_INT16 = 6,
  DT_UINT16 = 7,
  DT_UINT32 = 8,
  DT_INT64 = 9,
  DT_UINT64 = 10,
  DT_DOUBLE = 11,
  DT_BOOL = 12,
  DT_BF16 = 27,
  DT_UNDEFINED = 28
};

enum Format : int {
  FORMAT_NCHW = 0,
  FORMAT_NHWC = 1,
  FORMAT_ND = 2,
  FORMAT_NC1HWC0 = 3,
  FORMAT_FRACTAL_NZ = 29,
  FORMAT_NULL = 55
};

using graphStatus = std::uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFFu;

inline std::size_t GetSizeByDataType(DataType t) {
  switch (t) {
    case DT_FLOAT:
    case DT_INT32:
    case DT_UINT32:
      return 4;
    case DT_FLOAT16:
    case DT_BF16:
    case DT_INT16:
    case DT_UINT16:
      return 2;
    case DT_INT64:
    case DT_UINT64:
    case DT_DOUBLE:
      return 8;
    case DT_INT8:
    case DT_UINT8:
    case DT_BOOL:
      return 1;
    default:
      return 0;
  }
}

}  // namespace ge

namespace gert {

class Shape {
 public:
  static constexpr std::size_t kMaxDimNum = 25;
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t size : sizes) AppendDim(size);
  }
  std::size_t GetDimNum() const { return count_; }
  void SetDimNum(std::size_t n) { count_ = n < kMaxDimNum ? n : kMaxDimNum; }
  std::int64_t GetDim(std::size_t i) const { return i < count_ ? dims_[i] : 0; }
  void SetDim(std::size_t i, std::int64_t size) {
    if (i < kMaxDimNum) dims_[i] = size;
    if (i >= count_ && i < kMaxDimNum) count_ = i + 1;
  }
  Shape& AppendDim(std::int64_t size) {
    if (count_ < kMaxDimNum) dims_[count_++] = size;
    return *this;
  }
  std::int64_t GetShapeSize() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < count_; ++i) n *= dims_[i];
    return n;
  }
  bool IsScalar() const { return count_ == 0; }
  std::int64_t operator[](std::size_t i) const { return GetDim(i); }
  std::int64_t& operator[](std::size_t i) { return dims_[i < kMaxDimNum ? i : kMaxDimNum - 1]; }
  bool operator==(const Shape& o) const {
    if (count_ != o.count_) return false;
    for (std::size_t i = 0; i < count_; ++i)
      if (dims_[i] != o.dims_[i]) return false;
    return true;
  }
  bool operator!=(const Shape& o) const { return !(*this == o); }

 private:
  std::size_t count_ = 0;
  std::int64_t dims_[kMaxDimNum] = {};
};

class StorageShape {
 public:
  const Shape& GetStorageShape() const { return shape; }
  const Shape& GetOriginShape() const { return shape; }
  Shape& MutableStorageShape() { return shape; }
  Shape& MutableOriginShape() { return shape; }
  Shape shape;
};

class CompileTimeTensorDesc {
 public:
  ge::DataType GetDataType() const { return dtype; }
  ge::Format GetStorageFormat() const { return ge::FORMAT_ND; }
  ge::Format GetOriginFormat() const { return ge::FORMAT_ND; }
  ge::DataType dtype = ge::DT_FLOAT;
};

class Tensor {
 public:
  ge::DataType GetDataType() const { return dtype; }
  const Shape& GetStorageShape() const { return shape.shape; }
  const Shape& GetOriginShape() const { return shape.shape; }
  const StorageShape& GetShape() const { return shape; }
  std::int64_t GetShapeSize() const { return shape.shape.GetShapeSize(); }
  // No host function sees contents.
  template <typename T>
  const T* GetData() const {
    return nullptr;
  }
  std::size_t GetSize() const {
    return static_cast<std::size_t>(GetShapeSize()) * ge::GetSizeByDataType(dtype);
  }
  StorageShape shape;
  ge::DataType dtype = ge::DT_FLOAT;
};

}  // namespace gert
