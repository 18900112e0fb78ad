// GlobalTensor and LocalTensor: names of memory, without data.
#pragma once

#include "ascendc/params.h"
#include "ascendc/scalar_types.h"

namespace AscendC {

enum class TPosition : std::uint8_t {
  GM,
  A1,
  A2,
  B1,
  B2,
  C1,
  C2,
  CO1,
  CO2,
  VECIN,
  VECOUT,
  VECCALC,
  LCM = VECCALC,
  SPM,
  SHM = SPM,
  TSCM,
  C2PIPE2GM,
  C2PIPE2LOCAL,
  MAX
};
using QuePosition = TPosition;

// Shapes that a tensor may carry; nothing in the twin depends on them.
struct ShapeInfo {};

template <typename T>
class LocalTensor;

namespace evk_detail {

constexpr abi::Space space_of(TPosition p) {
  switch (p) {
    case TPosition::GM:
    case TPosition::CO2:
    case TPosition::SPM:
      return abi::Space::kGm;
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
    case TPosition::TSCM:
      return abi::Space::kL1;
    case TPosition::A2:
      return abi::Space::kL0A;
    case TPosition::B2:
      return abi::Space::kL0B;
    case TPosition::C2:
      return abi::Space::kBt;
    case TPosition::C2PIPE2GM:
      return abi::Space::kFb;
    case TPosition::CO1:
      return abi::Space::kL0C;
    default:
      return abi::Space::kUb;
  }
}

template <typename T>
T read_element(const abi::Operand& at, Loc loc) {
  abi::Record r = record(abi::Op::kGetValue, loc);
  r.operands = 1;
  r.operand[0] = at;
  return from_bits<T>(ask(r));
}
template <typename T>
void write_element(const abi::Operand& at, T value, Loc loc) {
  abi::Record r = record(abi::Op::kSetValue, loc);
  r.operands = 1;
  r.operand[0] = at;
  r.a[2] = bits_of(value);
  emit(r);
}

// An element as something that can be read and assigned.
template <typename T>
class Element {
 public:
  Element(const abi::Operand& at, Loc loc) : at_(at), loc_(loc) {}
  operator T() const { return read_element<T>(at_, loc_); }
  Element& operator=(T value) {
    write_element<T>(at_, value, loc_);
    return *this;
  }
  Element& operator=(const Element& other) { return *this = static_cast<T>(other); }
  Element& operator+=(T value) { return *this = static_cast<T>(static_cast<T>(*this) + value); }
  Element& operator-=(T value) { return *this = static_cast<T>(static_cast<T>(*this) - value); }
  Element& operator*=(T value) { return *this = static_cast<T>(static_cast<T>(*this) * value); }
  Element& operator/=(T value) { return *this = static_cast<T>(static_cast<T>(*this) / value); }
  Element(const Element&) = default;

 private:
  abi::Operand at_;
  Loc loc_;
};

template <typename T>
struct Expression;
template <typename T>
void assign(const LocalTensor<T>& dst, const Expression<T>& e);

}  // namespace evk_detail

template <typename T>
class GlobalTensor {
 public:
  using PrimType = T;
  GlobalTensor() = default;
  void SetGlobalBuffer(T* buffer, std::uint64_t size) {
    addr_ = reinterpret_cast<std::uint64_t>(buffer);
    size_ = size;
  }
  void SetGlobalBuffer(T* buffer) { SetGlobalBuffer(buffer, 0); }
  GlobalTensor operator[](std::uint64_t offset) const {
    GlobalTensor t = *this;
    t.addr_ += offset * sizeof(T);
    t.size_ = size_ > offset ? size_ - offset : 0;
    return t;
  }
  T GetValue(std::uint64_t offset, EVK_LOC) const {
    return evk_detail::read_element<T>(operand(offset), EVK_HERE);
  }
  evk_detail::Element<T> operator()(std::uint64_t offset, EVK_LOC) const {
    return {operand(offset), EVK_HERE};
  }
  void SetValue(std::uint64_t offset, T value, EVK_LOC) const {
    evk_detail::write_element<T>(operand(offset), value, EVK_HERE);
  }
  const T* GetPhyAddr() const { return reinterpret_cast<const T*>(addr_); }
  const T* GetPhyAddr(std::uint64_t offset) const { return GetPhyAddr() + offset; }
  std::uint64_t GetSize() const { return size_; }
  template <CacheRwMode mode = CacheRwMode::RW>
  void SetL2CacheHint(CacheMode) {}
  template <typename U>
  GlobalTensor<U> ReinterpretCast() const {
    GlobalTensor<U> t;
    t.SetGlobalBuffer(reinterpret_cast<U*>(addr_), size_ * sizeof(T) / sizeof(U));
    return t;
  }
  void SetShapeInfo(const ShapeInfo&) {}
  evk_detail::abi::Operand operand(std::uint64_t offset = 0) const {
    return {addr_ + offset * sizeof(T), 0, 0, evk_detail::abi::Space::kGm, evk_detail::TypeOf<T>::value};
  }

 private:
  std::uint64_t addr_ = 0, size_ = 0;
};

template <typename T>
class LocalTensor {
 public:
  using PrimType = T;
  LocalTensor() = default;
  // At a fixed place, without TPipe: the kernel orders every access by itself.
  LocalTensor(TPosition position, std::uint32_t addr, std::uint32_t elements)
      : addr_(addr),
        bytes_(elements * static_cast<std::uint32_t>(sizeof(T))),
        space_(evk_detail::space_of(position)) {}
  LocalTensor(evk_detail::abi::Space space, std::uint64_t addr, std::uint32_t bytes, std::uint16_t buffer)
      : addr_(addr), bytes_(bytes), buffer_(buffer), space_(space) {}
  LocalTensor operator[](std::uint32_t offset) const {
    const std::uint64_t skipped = static_cast<std::uint64_t>(offset) * sizeof(T);
    return {space_, addr_ + skipped, skipped < bytes_ ? static_cast<std::uint32_t>(bytes_ - skipped) : 0,
            buffer_};
  }
  T GetValue(std::uint32_t offset, EVK_LOC) const {
    return evk_detail::read_element<T>(operand(offset), EVK_HERE);
  }
  template <typename V>
  void SetValue(std::uint32_t offset, V value, EVK_LOC) const {
    evk_detail::write_element<T>(operand(offset), static_cast<T>(value), EVK_HERE);
  }
  evk_detail::Element<T> operator()(std::uint32_t offset, EVK_LOC) const {
    return {operand(offset), EVK_HERE};
  }
  std::uint32_t GetSize() const { return bytes_ / static_cast<std::uint32_t>(sizeof(T)); }
  std::uint32_t GetLength() const { return bytes_; }
  void SetSize(std::uint32_t elements) { bytes_ = elements * static_cast<std::uint32_t>(sizeof(T)); }
  template <typename U>
  LocalTensor<U> ReinterpretCast() const {
    return {space_, addr_, bytes_, buffer_};
  }
  std::uint64_t GetPhyAddr(std::uint32_t offset = 0) const { return addr_ + offset * sizeof(T); }
  void SetShapeInfo(const ShapeInfo&) {}
  evk_detail::abi::Operand operand(std::uint32_t offset = 0) const {
    return {addr_ + static_cast<std::uint64_t>(offset) * sizeof(T), bytes_, buffer_, space_,
            evk_detail::TypeOf<T>::value};
  }
  std::uint16_t buffer() const { return buffer_; }

  // The right side of an operator, with the place where it stands.
  struct Located {
    Located(const LocalTensor& tensor, EVK_LOC) : t(tensor), loc(EVK_HERE) {}
    const LocalTensor& t;
    evk_detail::Loc loc;
  };
  LocalTensor& operator=(const evk_detail::Expression<T>& e) {
    evk_detail::assign(*this, e);
    return *this;
  }
  LocalTensor(const LocalTensor&) = default;
  LocalTensor& operator=(const LocalTensor&) = default;
  using Sum = evk_detail::Expression<T>;
  friend Sum operator+(const LocalTensor& a, Located b) { return {evk_detail::abi::Op::kAdd, a, b.t, b.loc}; }
  friend Sum operator-(const LocalTensor& a, Located b) { return {evk_detail::abi::Op::kSub, a, b.t, b.loc}; }
  friend Sum operator*(const LocalTensor& a, Located b) { return {evk_detail::abi::Op::kMul, a, b.t, b.loc}; }
  friend Sum operator/(const LocalTensor& a, Located b) { return {evk_detail::abi::Op::kDiv, a, b.t, b.loc}; }
  friend Sum operator&(const LocalTensor& a, Located b) { return {evk_detail::abi::Op::kAnd, a, b.t, b.loc}; }
  friend Sum operator|(const LocalTensor& a, Located b) { return {evk_detail::abi::Op::kOr, a, b.t, b.loc}; }

 private:
  std::uint64_t addr_ = 0;
  std::uint32_t bytes_ = 0;
  std::uint16_t buffer_ = 0;
  evk_detail::abi::Space space_ = evk_detail::abi::Space::kNone;
};

namespace evk_detail {
// a op b, until it is assigned.
template <typename T>
struct Expression {
  abi::Op op;
  LocalTensor<T> a, b;
  Loc loc;
};
}  // namespace evk_detail

}  // namespace AscendC
