// For tests: speaks to an engine as a program does. Each record's source line is its ordinal in "k.cpp".
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "twin/engine/engine.h"

namespace evk::twin::testing {

using abi::DType;
using abi::Op;
using abi::Operand;
using abi::Pipe;
using abi::Space;

inline const Device& a2() {
  static const Device device = *load_device(std::string(EVK_SOURCE_DIR) + "/twin/devices/ascend910b1.toml");
  return device;
}

template <typename T>
struct TypeTag;
template <>
struct TypeTag<float> {
  static constexpr DType dtype = DType::kF32;
};
template <>
struct TypeTag<std::int32_t> {
  static constexpr DType dtype = DType::kI32;
};
template <>
struct TypeTag<std::int16_t> {
  static constexpr DType dtype = DType::kI16;
};
template <>
struct TypeTag<std::int64_t> {
  static constexpr DType dtype = DType::kI64;
};
template <>
struct TypeTag<std::uint8_t> {
  static constexpr DType dtype = DType::kU8;
};
template <>
struct TypeTag<std::int8_t> {
  static constexpr DType dtype = DType::kI8;
};
// Bits of a half or a bfloat16, depending on the operand that they are given to.
template <>
struct TypeTag<std::uint16_t> {
  static constexpr DType dtype = DType::kF16;
};

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename T>
LaunchTensor filled(const char* name, const std::vector<T>& values) {
  return {name, TypeTag<T>::dtype, {static_cast<std::int64_t>(values.size())}, bytes_of(values)};
}
inline LaunchTensor empty(const char* name, std::int64_t n, DType dtype = DType::kF32) {
  return {name, dtype, {n}, {}};
}
// A tensor of a timing-only launch.
inline LaunchTensor shaped(const char* name, std::int64_t n, DType dtype = DType::kF32) {
  return {name, dtype, {n}, {}};
}

inline std::vector<float> counting(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 0.25f * static_cast<float>(i % 97) - 3;
  return v;
}

inline Operand ub(std::uint64_t addr, DType dtype = DType::kF32, std::uint16_t buf = 0) {
  return {addr, 0, buf, Space::kUb, dtype};
}

class Program {
 public:
  explicit Program(Launch launch, std::uint64_t blocks = 1, const Device& device = a2(),
                   abi::KernelKind kind = abi::KernelKind::kAiv) {
    auto engine = Engine::create(device, std::move(launch));
    EVK_CHECK(engine.has_value(), "{}", engine.error().text());
    engine_ = *std::move(engine);
    abi::Record r;
    r.op = Op::kTilingResult;
    r.a[0] = blocks;
    r.a[2] = 1 << 20;
    r.a[5] = static_cast<std::uint64_t>(kind);
    workspace = engine_->execute(r, nullptr, 0).value;
  }
  Engine::Answer send(abi::Record r) {
    ++line_;
    if (line_ < 60000) {
      const std::string text = "k.cpp:" + std::to_string(line_);
      abi::Record location;
      location.op = Op::kLocation;
      location.a[0] = line_;
      location.a[1] = text.size();
      engine_->execute(location, reinterpret_cast<const std::byte*>(text.data()),
                       static_cast<std::uint32_t>(text.size()));
      r.loc = line_;
    }
    return engine_->execute(r, nullptr, 0);
  }
  // Records without a source line: many of them.
  Engine::Answer send_plain(const abi::Record& r) { return engine_->execute(r, nullptr, 0); }

  static abi::Record record(Op op, const std::vector<Operand>& operands,
                            const std::vector<std::uint64_t>& a = {}) {
    abi::Record r;
    r.op = op;
    r.operands = static_cast<std::uint8_t>(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) r.operand[i] = operands[i];
    for (std::size_t i = 0; i < a.size(); ++i) r.a[i] = a[i];
    return r;
  }
  static abi::Record by_count(Op op, std::uint64_t n, const std::vector<Operand>& operands,
                              std::uint64_t scalar_bits = 0, std::uint16_t mode = 0) {
    abi::Record r = record(op, operands, {n, 0, scalar_bits});
    r.form = abi::Form::kCount;
    r.mode = mode;
    return r;
  }
  static abi::Record by_repeat(Op op, std::uint64_t mask_low, std::uint64_t mask_high, const abi::Strides& s,
                               const std::vector<Operand>& operands, std::uint64_t scalar_bits = 0,
                               std::uint16_t mode = 0) {
    abi::Record r =
        record(op, operands, {mask_low, mask_high, scalar_bits, abi::pack_low(s), abi::pack_high(s)});
    r.form = abi::Form::kRepeat;
    r.mode = mode;
    return r;
  }

  void block(std::uint64_t index) { send(record(Op::kBlockBegin, {}, {index})); }
  // A core of a block: the cube core, or vector core `sub`.
  void cube_core(std::uint64_t index) { send(record(Op::kBlockBegin, {}, {index, 0, 1})); }
  void vector_core(std::uint64_t index, std::uint64_t sub) {
    send(record(Op::kBlockBegin, {}, {index, sub, 0}));
  }
  void resume_cube(std::uint64_t index) { send(record(Op::kBlockSwitch, {}, {index, 0, 1})); }
  void resume(std::uint64_t index) { send(record(Op::kBlockSwitch, {}, {index})); }
  void end() { send(record(Op::kBlockEnd, {})); }
  void op(Op o, const std::vector<std::uint64_t>& a, const std::vector<Operand>& operands = {}) {
    send(record(o, operands, a));
  }
  void vec(Op o, std::uint64_t n, const std::vector<Operand>& operands, float scalar = 0) {
    send(by_count(o, n, operands, std::bit_cast<std::uint32_t>(scalar)));
  }
  // DataCopy by count, DataCopyPad of one row.
  void copy(const Operand& dst, const Operand& src, std::uint64_t bytes) {
    abi::Record r = record(Op::kDataCopy, {dst, src}, {1 | bytes << 32});
    r.mode = 1;
    send(r);
  }
  void copy_pad(const Operand& dst, const Operand& src, std::uint64_t bytes) {
    op(Op::kDataCopyPad, {1 | bytes << 32, 0, 0, 0}, {dst, src});
  }
  void sync(Pipe from, Pipe to, std::uint64_t id = 0) {
    set(from, to, id);
    wait(from, to, id);
  }
  void set(Pipe from, Pipe to, std::uint64_t id = 0) {
    op(Op::kSetFlag, {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), id});
  }
  void wait(Pipe from, Pipe to, std::uint64_t id = 0) {
    op(Op::kWaitFlag, {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), id});
  }
  // A queue with `buffers` buffers of `bytes` from `addr`; buffer ids are 16 * queue + slot.
  void queue(std::uint64_t id, Pipe from, Pipe to, std::uint64_t addr, std::uint32_t bytes,
             std::uint64_t buffers, std::uint64_t position = 9) {
    for (std::uint64_t i = 0; i < buffers; ++i)
      op(Op::kBufInit,
         {id, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), buffers, position, i},
         {{addr + i * bytes, bytes, static_cast<std::uint16_t>(16 * id + i), Space::kUb, DType::kNone}});
  }
  void que(Op o, std::uint64_t id, std::uint64_t slot) {
    op(o, {id}, {{0, 0, static_cast<std::uint16_t>(16 * id + slot), Space::kUb, DType::kNone}});
  }
  std::uint64_t get(const Operand& o) { return send(record(Op::kGetValue, {o})).value; }

  Operand input(std::size_t i, std::uint64_t element = 0, DType dtype = DType::kF32) const {
    return {engine_->input_addr(i) + abi::bytes_of(dtype) * element, 0, 0, Space::kGm, dtype};
  }
  Operand output(std::size_t i, std::uint64_t element = 0, DType dtype = DType::kF32) const {
    return {engine_->output_addr(i) + abi::bytes_of(dtype) * element, 0, 0, Space::kGm, dtype};
  }
  std::uint32_t line() const { return line_; }
  RunReport finish() {
    op(Op::kExit, {});
    return engine_->finish(RunEnd::kComplete);
  }
  std::uint64_t workspace = 0;

 private:
  std::unique_ptr<Engine> engine_;
  std::uint32_t line_ = 0;
};

// "code@line/other_line " of each finding.
inline std::string codes(const RunReport& report, bool notes = false) {
  std::string text;
  for (const auto& f : report.findings)
    if (notes || !f.note)
      text += f.code + "@" + std::to_string(f.line) +
              (f.other_line ? "/" + std::to_string(f.other_line) : "") + " ";
  return text;
}
inline bool has(const RunReport& report, const std::string& code) {
  for (const auto& f : report.findings)
    if (f.code == code) return true;
  return false;
}

}  // namespace evk::twin::testing
