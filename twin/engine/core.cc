#include "twin/engine/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace evk::twin {
namespace {

using abi::Op;

constexpr std::uint64_t kBlockDimMax = 65535;
constexpr std::size_t kPrintMax = 64 * 1024;

std::uint64_t bytes_of(const LaunchTensor& t) {
  std::uint64_t n = abi::bytes_of(t.dtype);
  for (const auto size : t.shape) n *= static_cast<std::uint64_t>(size);
  return n;
}

std::string text_of(const std::byte* bulk, std::uint64_t bytes, std::uint32_t available) {
  return bulk ? std::string(reinterpret_cast<const char*>(bulk), std::min<std::uint64_t>(bytes, available))
              : std::string();
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(const Device& device, Launch launch) {
  auto core = std::make_unique<Core>(device, std::move(launch));
  EVK_TRY_STATUS(core->lay_out());
  return core;
}

Core::Core(const Device& device, Launch launch)
    : device_(device), launch_(std::move(launch)), gm_(launch_.move_data, launch_.poison) {}

Status Core::lay_out() {
  std::uint64_t total = 0;
  for (const auto* list : {&launch_.inputs, &launch_.outputs})
    for (const auto& t : *list) total += bytes_of(t);
  if (launch_.move_data && total > launch_.gm_bytes_max)
    return failure(fmt::format("the launch needs {} bytes of device memory, {} are allowed", total,
                               launch_.gm_bytes_max));
  for (auto& t : launch_.inputs) {
    if (launch_.move_data && t.data.size() != bytes_of(t))
      return failure(
          fmt::format("input {} has {} bytes, its shape asks for {}", t.name, t.data.size(), bytes_of(t)));
    addresses_.push_back(gm_.tensors().empty() ? 0 : 0);
    const auto index = gm_.add(t.name, GmTensor::Kind::kInput, bytes_of(t), std::move(t.data));
    addresses_.back() = gm_.tensors()[index].base;
  }
  for (const auto& t : launch_.outputs) {
    const auto index = gm_.add(t.name, GmTensor::Kind::kOutput, bytes_of(t), {});
    addresses_.push_back(gm_.tensors()[index].base);
  }
  return {};
}

void Core::fault(const char* code, std::string message, const char* remedy, std::uint32_t other) {
  findings_.add(code, std::move(message), remedy, loc_, block_ ? static_cast<int>(block_->index) : -1, other);
}

void Core::note(const char* code, std::string message, const char* remedy) {
  findings_.add(code, std::move(message), remedy, loc_, block_ ? static_cast<int>(block_->index) : -1, 0,
                true);
}

Engine::Answer Core::execute(const abi::Record& r, const std::byte* bulk, std::uint32_t bulk_bytes) {
  if (++records_ > launch_.records_max) {
    runaway_ = true;
    return {0, nullptr, 0, true};
  }
  loc_ = r.loc;
  if (r.loc) last_loc_ = r.loc;
  if (r.operands > 4) {
    fault("bad_record", "an instruction with more than four operands");
    return {0, nullptr, 0, true};
  }
  if (static_cast<std::uint16_t>(r.op) < static_cast<std::uint16_t>(Op::kPipeInit))
    return life(r, bulk, bulk_bytes);
  if (!block_) {
    fault("bad_record", "an instruction outside a block");
    return {0, nullptr, 0, true};
  }
  block_->stream_hash =
      mix(block_->stream_hash, mix(static_cast<std::uint64_t>(r.op),
                                   mix(r.a[0], mix(r.a[1], mix(r.operand[0].addr, r.operand[1].addr)))));
  Answer answer;
  if (r.scalar_work) scalar(cost_->at("s.block_cycles") * static_cast<double>(r.scalar_work));
  dispatch(r, answer);
  answer.stop = answer.stop || findings_.full();
  return answer;
}

void Core::dispatch(const abi::Record& r, Answer& answer) {
  const auto op = static_cast<std::uint16_t>(r.op);
  const auto from = [](Op o) { return static_cast<std::uint16_t>(o); };
  if (op < from(Op::kGetValue)) return sync(r);
  switch (r.op) {
    case Op::kGetValue:
      answer.value = get_value(r);
      return;
    case Op::kSetValue:
      return set_value(r);
    case Op::kReadGm:
      answer = read_gm(r);
      return;
    case Op::kScalarWork:
      return scalar(cost_->at("s.block_cycles") *
                    static_cast<double>(std::min<std::uint64_t>(r.a[0], 1ull << 40)));
    case Op::kGetCycle:
      answer.value = static_cast<std::uint64_t>(block_->now());
      return;
    case Op::kDataCopy:
      return data_copy(r);
    case Op::kDataCopyPad:
      return data_copy_pad(r);
    case Op::kSetAtomic:
      block_->atomic = {static_cast<int>(std::min<std::uint64_t>(r.a[0], 3)),
                        static_cast<abi::DType>(r.mode)};
      return scalar(cost_->issue());
    case Op::kSetMask:
      block_->mask[0] = r.a[0], block_->mask[1] = r.a[1], block_->counter_mask = r.mode == 1;
      return scalar(cost_->issue());
    case Op::kResetMask:
      block_->mask[0] = block_->mask[1] = ~0ull, block_->counter_mask = false;
      return scalar(cost_->issue());
    default:
      break;
  }
  if (op >= from(Op::kAdd) && op < from(Op::kSetMask)) return vector(r);
  if (r.op == Op::kCopy) return vector(r);
  fault("unsupported_instruction", fmt::format("the twin has no instruction number {}", op),
        "use another instruction");
}

Engine::Answer Core::life(const abi::Record& r, const std::byte* bulk, std::uint32_t bulk_bytes) {
  switch (r.op) {
    case Op::kHello:
      if (r.a[0] == abi::kAbiVersion) return {};
      findings_.add("bad_record", "the program speaks another version of the interface", "compile it again",
                    0, -1);
      return {0, nullptr, 0, true};
    case Op::kLocation:
      findings_.declare(r.a[0], text_of(bulk, r.a[1], bulk_bytes));
      return {};
    case Op::kTilingResult:
      return tiling_result(r, bulk_bytes);
    case Op::kBlockBegin:
      begin_block(r);
      return {};
    case Op::kBlockEnd:
      end_block();
      return {};
    case Op::kBlockSwitch: {
      const auto found =
          r.a[0] <= kBlockDimMax ? blocks_.find(static_cast<std::uint32_t>(r.a[0])) : blocks_.end();
      block_ = found == blocks_.end() ? nullptr : found->second.get();
      return {};
    }
    case Op::kExit:
      exited_ = true;
      return {0, nullptr, 0, true};
    case Op::kHostFinding:
      host_finding(bulk, bulk_bytes);
      return {};
    case Op::kPrint:
      if (printed_.size() < kPrintMax)
        printed_ += text_of(bulk, std::min<std::uint64_t>(r.a[0], kPrintMax - printed_.size()), bulk_bytes);
      return {};
    default:
      return {};
  }
}

Engine::Answer Core::tiling_result(const abi::Record& r, std::uint32_t) {
  if (r.a[4] != 0) {
    tiling_failed_ = true;
    findings_.add("tiling_failed", fmt::format("the tiling function returned status {}", r.a[4]),
                  "return ge::GRAPH_SUCCESS when the shapes are supported", r.loc, -1);
    return {0, nullptr, 0, true};
  }
  if (r.a[0] < 1 || r.a[0] > kBlockDimMax) {
    tiling_failed_ = true;
    findings_.add(
        "block_dim_invalid",
        fmt::format("the tiling asked for {} blocks; 1 to {} can be launched", r.a[0], kBlockDimMax),
        "call SetBlockDim with at least 1", r.loc, -1);
    return {0, nullptr, 0, true};
  }
  if (blocks_.size() || block_dim_) return {0, nullptr, 0, true};
  block_dim_ = static_cast<std::uint32_t>(r.a[0]);
  tiling_key_ = r.a[1];
  workspace_bytes_ = r.a[2];
  if (workspace_bytes_ > launch_.gm_bytes_max) {
    findings_.add("workspace_too_large",
                  fmt::format("the tiling asked for {} bytes of workspace", workspace_bytes_), "ask for less",
                  r.loc, -1);
    return {0, nullptr, 0, true};
  }
  cost_.emplace(device_, block_dim_);
  const auto index = gm_.add("workspace", GmTensor::Kind::kWorkspace, workspace_bytes_, {});
  return {gm_.tensors()[index].base, nullptr, 0, launch_.tiling_only};
}

void Core::begin_block(const abi::Record& r) {
  block_ = nullptr;
  if (!cost_ || r.a[0] >= block_dim_ || blocks_.contains(static_cast<std::uint32_t>(r.a[0]))) return;
  auto block = std::make_unique<Block>();
  block->index = static_cast<std::uint32_t>(r.a[0]);
  for (std::size_t p = 0; p < block->clock.size(); ++p) block->clock[p][p] = 1;
  block_ = block.get();
  blocks_[block->index] = std::move(block);
  scalar(cost_->at("launch.block_start_cycles"));
}

void Core::end_block() {
  if (!block_) return;
  leaks();
  block_->ended = true;
  for (auto& arena : block_->arena) arena = {};
  for (auto& shadow : block_->shadow) shadow.clear();
  block_->gm_shadow.clear();
  block_ = nullptr;
}

// "code|file:line|message|remedy", made by the runner. The program could forge it: it can only harm itself.
void Core::host_finding(const std::byte* bulk, std::uint32_t bulk_bytes) {
  const std::string text = text_of(bulk, 4096, bulk_bytes);
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == '|' && parts.size() < 4)
      parts.emplace_back();
    else
      parts.back() += c;
  parts.resize(4);
  Finding f;
  f.code = parts[0].empty() ? "program_finding" : parts[0].substr(0, 64);
  f.message = parts[2].empty() ? text.substr(0, 400) : parts[2].substr(0, 400);
  f.remedy = parts[3].substr(0, 400);
  const auto colon = parts[1].rfind(':');
  if (colon != std::string::npos) {
    f.file = parts[1].substr(0, colon);
    f.line = std::atoi(parts[1].c_str() + colon + 1);
  }
  f.block = block_ ? static_cast<int>(block_->index) : -1;
  findings_.add_text(std::move(f));
}

}  // namespace evk::twin
