// Speaks to an engine as a compiled kernel does, without one: for streams of instructions whose cost is
// asked.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "twin/engine/engine.h"

namespace evk::twin {

class Stream {
 public:
  // A launch of `blocks` that moves no data. Fails as Engine::create does.
  static Result<Stream> open(const Device& device, std::vector<std::int64_t> inputs,
                             std::vector<std::int64_t> outputs, abi::DType dtype, std::uint64_t blocks) {
    Launch launch;
    launch.op = "calibration";
    launch.move_data = false;
    for (const auto n : inputs) launch.inputs.push_back({"x", dtype, {n}, {}});
    for (const auto n : outputs) launch.outputs.push_back({"y", dtype, {n}, {}});
    EVK_TRY(auto engine, Engine::create(device, std::move(launch)));
    Stream s(std::move(engine));
    s.send(abi::Op::kTilingResult, {blocks, 0, 1 << 20});
    return s;
  }
  void send(abi::Op op, const std::vector<std::uint64_t>& a, const std::vector<abi::Operand>& operands = {},
            abi::Form form = abi::Form{}) {
    abi::Record r;
    r.op = op;
    r.form = form;
    r.operands = static_cast<std::uint8_t>(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) r.operand[i] = operands[i];
    for (std::size_t i = 0; i < a.size(); ++i) r.a[i] = a[i];
    r.scalar_work = std::exchange(work_, 0u);
    engine_->execute(r, nullptr, 0);
  }
  // Basic blocks of scalar code that run before the next instruction.
  void scalar_blocks(std::uint32_t n) { work_ = n; }

  void block(std::uint64_t index) { send(abi::Op::kBlockBegin, {index}); }
  void end() { send(abi::Op::kBlockEnd, {}); }
  // `rows` of `bytes`; a pitch is the distance of rows in GM.
  void load(std::uint64_t to, abi::Operand from, std::uint64_t rows, std::uint64_t bytes,
            std::uint64_t pitch) {
    send(abi::Op::kDataCopyPad, {rows | bytes << 32, pitch - bytes, 0, 0}, {ub(to, from.dtype), from});
  }
  void store(abi::Operand to, std::uint64_t from, std::uint64_t rows, std::uint64_t bytes,
             std::uint64_t pitch) {
    send(abi::Op::kDataCopyPad, {rows | bytes << 32, 0, pitch - bytes, 0}, {to, ub(from, to.dtype)});
  }
  void repeat(abi::Op op, const abi::Strides& s, const std::vector<abi::Operand>& operands) {
    send(op, {~0ull, ~0ull, 0, abi::pack_low(s), abi::pack_high(s)}, operands, abi::Form::kRepeat);
  }
  void set(abi::Pipe from, abi::Pipe to, std::uint64_t id) { flag(abi::Op::kSetFlag, from, to, id); }
  void wait(abi::Pipe from, abi::Pipe to, std::uint64_t id) { flag(abi::Op::kWaitFlag, from, to, id); }
  void get(abi::Operand o) { send(abi::Op::kGetValue, {}, {o}); }
  void put(abi::Operand o) { send(abi::Op::kSetValue, {}, {o}); }

  static abi::Operand ub(std::uint64_t addr, abi::DType dtype) {
    return {addr, 0, 0, abi::Space::kUb, dtype};
  }
  abi::Operand input(std::size_t i, std::uint64_t element, abi::DType dtype) const {
    return {engine_->input_addr(i) + abi::bytes_of(dtype) * element, 0, 0, abi::Space::kGm, dtype};
  }
  abi::Operand output(std::uint64_t element, abi::DType dtype) const {
    return {engine_->output_addr(0) + abi::bytes_of(dtype) * element, 0, 0, abi::Space::kGm, dtype};
  }
  RunReport finish() {
    send(abi::Op::kExit, {});
    return engine_->finish(RunEnd::kComplete);
  }

 private:
  explicit Stream(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
  void flag(abi::Op op, abi::Pipe from, abi::Pipe to, std::uint64_t id) {
    send(op, {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), id});
  }
  std::unique_ptr<Engine> engine_;
  std::uint32_t work_ = 0;
};

}  // namespace evk::twin
