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
// Blocks that wait in SyncAll keep their memories. The device could not hold more than its cores anyway.
constexpr std::size_t kLiveMax = 256;
constexpr std::size_t kSpareMax = 4;

std::uint64_t bytes_of(const LaunchTensor& t) {
  std::uint64_t n = abi::bytes_of(t.dtype);
  for (const auto size : t.shape) n *= static_cast<std::uint64_t>(size);
  return n;
}

std::string text_of(const std::byte* bulk, std::uint64_t bytes, std::uint32_t available) {
  return bulk ? std::string(reinterpret_cast<const char*>(bulk), std::min<std::uint64_t>(bytes, available))
              : std::string();
}

// What a trace is about: all that says what is done and where; not the values that are computed with.
std::uint64_t hash_of(const abi::Record& r) {
  const bool scalar_is_data = r.op >= Op::kAdd || r.op == Op::kSetValue || r.op == Op::kInitGm;
  std::uint64_t h = static_cast<std::uint64_t>(r.op) | static_cast<std::uint64_t>(r.form) << 16 |
                    std::uint64_t{r.operands} << 24 | std::uint64_t{r.mode} << 32 |
                    std::uint64_t{r.flags} << 48;
  const auto fold = [&](std::uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15ULL, h ^= h >> 29; };
  for (int i = 0; i < r.operands; ++i) {
    const abi::Operand& o = r.operand[i];
    fold(o.addr);
    fold(std::uint64_t{o.bytes} << 32 | std::uint64_t{o.buf} << 16 |
         static_cast<std::uint64_t>(o.space) << 8 | static_cast<std::uint64_t>(o.dtype));
  }
  for (int i = 0; i < 6; ++i)
    if (i != 2 || !scalar_is_data)
      if (i != 3 || r.op != Op::kDataCopyPad) fold(r.a[i]);
  return h;
}

// Enumerations of a record hold known values only.
bool is_sane(const abi::Record& r) {
  if (r.operands > 4 || r.form > abi::Form::kCounter) return false;
  return std::all_of(r.operand, r.operand + r.operands, [](const abi::Operand& o) {
    return o.space <= abi::Space::kFb && o.dtype <= abi::DType::kI4;
  });
}

const Engine::Answer kStop{0, nullptr, 0, true};

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(const Device& device, Launch launch) {
  auto core = std::make_unique<Core>(device, std::move(launch));
  EVK_TRY_STATUS(core->lay_out());
  return core;
}

Core::Core(const Device& device, Launch launch)
    : device_(device), launch_(std::move(launch)), gm_(launch_.move_data, launch_.poison) {}

Status Core::lay_out() {
  for (const auto* list : {&launch_.inputs, &launch_.outputs})
    for (const auto& t : *list) gm_bytes_ += bytes_of(t);
  if (launch_.move_data && gm_bytes_ > launch_.gm_bytes_max)
    return failure(fmt::format("the launch needs {} bytes of device memory, {} are allowed", gm_bytes_,
                               launch_.gm_bytes_max));
  for (auto& t : launch_.inputs) {
    if (launch_.move_data && t.data.size() != bytes_of(t))
      return failure(
          fmt::format("input {} has {} bytes, its shape asks for {}", t.name, t.data.size(), bytes_of(t)));
    const auto index =
        gm_.add(t.name, GmTensor::Kind::kInput, bytes_of(t), std::move(t.data), t.padding_bytes);
    addresses_.push_back(gm_.tensors()[index].base);
  }
  for (auto& t : launch_.outputs) {
    const auto index =
        gm_.add(t.name, GmTensor::Kind::kOutput, bytes_of(t), std::move(t.data), t.padding_bytes);
    addresses_.push_back(gm_.tensors()[index].base);
  }
  return {};
}

void Core::fault(const char* code, std::string message, const char* remedy, std::uint32_t other) {
  findings_.add(code, std::move(message), remedy, loc_, block_index(), other);
}

void Core::note(const char* code, std::string message, const char* remedy, std::uint32_t other) {
  findings_.add(code, std::move(message), remedy, loc_, block_index(), other, true);
}

Engine::Answer Core::execute(const abi::Record& r, const std::byte* bulk, std::uint32_t bulk_bytes) {
  if (++records_ > launch_.records_max) {
    runaway_ = true;
    return kStop;
  }
  loc_ = r.loc;
  if (r.loc) last_loc_ = r.loc;
  if (!is_sane(r)) {
    fault("bad_record", "an instruction whose fields have no meaning");
    return kStop;
  }
  if (r.op < Op::kPipeInit) return life(r, bulk, bulk_bytes);
  if (!block_) {
    fault("bad_record", "an instruction outside a block");
    return kStop;
  }
  block_->totals.stream_hash = (block_->totals.stream_hash ^ hash_of(r)) * 0xff51afd7ed558ccdULL;
  Answer answer;
  if (r.scalar_work) scalar(cost_->block * static_cast<double>(r.scalar_work));
  bulk_ = {bulk, bulk ? bulk_bytes : 0};
  dispatch(r, answer);
  answer.stop = answer.stop || findings_.full();
  return answer;
}

void Core::dispatch(const abi::Record& r, Answer& answer) {
  if (r.op < Op::kGetValue) return sync(r);
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
      return scalar(cost_->block * static_cast<double>(std::min<std::uint64_t>(r.a[0], 1ull << 32)));
    case Op::kGetCycle:
      answer.value = static_cast<std::uint64_t>(std::min(block_->ready[kS], 0x1p62));
      return;
    case Op::kGetReduced:
      answer.value = reduced(r);
      return;
    case Op::kDataCopy:
      return data_copy(r);
    case Op::kDataCopyPad:
      return data_copy_pad(r);
    case Op::kInitGm:
      return init_gm(r);
    case Op::kSetAtomic:
      return set_atomic(r);
    case Op::kNd2Nz:
    case Op::kLoadData2D:
    case Op::kLoadDataTranspose:
    case Op::kMmad:
    case Op::kFixpipe:
      return cube(r);
    case Op::kSetMask:
    case Op::kResetMask:
      return scalar(cost_->issue);
    default:
      break;
  }
  if ((r.op >= Op::kAdd && r.op < Op::kSetMask) || r.op == Op::kCopy) {
    vector(r);
    if (r.op == Op::kGatherMask) answer.value = block_->reduced.kept;
    return;
  }
  fault("unsupported_instruction",
        fmt::format("the twin has no instruction number {}", static_cast<int>(r.op)),
        "use another instruction");
}

Engine::Answer Core::life(const abi::Record& r, const std::byte* bulk, std::uint32_t bulk_bytes) {
  switch (r.op) {
    case Op::kHello:
      if (r.a[0] == abi::kAbiVersion) return {};
      findings_.add("bad_record", "the program speaks another version of the interface", "compile it again",
                    0, -1);
      return kStop;
    case Op::kLocation:
      findings_.declare(r.a[0], text_of(bulk, r.a[1], bulk_bytes));
      return {};
    case Op::kTilingResult:
      return tiling_result(r);
    case Op::kBlockBegin:
      return {0, nullptr, 0, !begin_block(r)};
    case Op::kBlockEnd:
      end_block();
      return {};
    case Op::kBlockSwitch: {
      const auto found = live_.find(core_key(r));
      block_ = found == live_.end() ? nullptr : found->second.get();
      return {};
    }
    case Op::kExit:
      exited_ = true;
      return kStop;
    case Op::kHostFinding:
      host_finding(bulk, bulk_bytes);
      return {0, nullptr, 0, findings_.full()};
    case Op::kPrint:
      if (printed_.size() < kPrintMax)
        printed_ += text_of(bulk, std::min<std::uint64_t>(r.a[0], kPrintMax - printed_.size()), bulk_bytes);
      return {};
    default:
      return {};
  }
}

Engine::Answer Core::refuse_tiling(const char* code, std::string message, const char* remedy,
                                   std::uint32_t loc) {
  tiling_failed_ = true;
  findings_.add(code, std::move(message), remedy, loc, -1);
  return kStop;
}

Engine::Answer Core::tiling_result(const abi::Record& r) {
  if (block_dim_) return kStop;
  if (r.a[4] != 0)
    return refuse_tiling("tiling_failed", fmt::format("the tiling function returned status {}", r.a[4]),
                         "return ge::GRAPH_SUCCESS when the shapes are supported", r.loc);
  if (r.a[0] < 1 || r.a[0] > kBlockDimMax)
    return refuse_tiling(
        "block_dim_invalid",
        fmt::format("the tiling asked for {} blocks; 1 to {} can be launched", r.a[0], kBlockDimMax),
        "call SetBlockDim with at least 1", r.loc);
  const std::uint64_t room = launch_.gm_bytes_max - std::min(launch_.gm_bytes_max, gm_bytes_);
  if (r.a[2] > (launch_.move_data ? room : launch_.gm_bytes_max))
    return refuse_tiling("workspace_too_large",
                         fmt::format("the tiling asked for {} bytes of workspace, {} are left", r.a[2], room),
                         "ask for less", r.loc);
  if (r.a[5] >= abi::kKernelKinds) {
    fault("bad_record", "a kernel of a kind that does not exist");
    return kStop;
  }
  kind_ = static_cast<abi::KernelKind>(r.a[5]);
  block_dim_ = static_cast<std::uint32_t>(r.a[0]);
  tiling_key_ = r.a[1];
  workspace_bytes_ = r.a[2];
  cost_.emplace(device_, block_dim_, kind_);
  cross_ = {kind_, block_dim_};
  const auto index = gm_.add("workspace", GmTensor::Kind::kWorkspace, workspace_bytes_, {});
  return {gm_.tensors()[index].base, nullptr, 0, launch_.tiling_only};
}

// Cores are numbered by their block; in a block of several, the cube core comes first and each vector core a
// step of 65536 later.
std::uint32_t Core::core_key(const abi::Record& r) const {
  const bool mixed = abi::has_aic(kind_) && abi::aivs_of(kind_) > 0, cube = r.a[2] == 1;
  const std::uint64_t cores = cube ? abi::has_aic(kind_) : abi::aivs_of(kind_);
  if (r.a[0] >= block_dim_ || r.a[2] > 1 || r.a[1] >= cores) return kNoCore;
  return static_cast<std::uint32_t>(r.a[0]) +
         (mixed && !cube ? static_cast<std::uint32_t>(r.a[1] + 1) << 16 : 0);
}

// False if the program should end: it runs more blocks at once than can be.
bool Core::begin_block(const abi::Record& r) {
  block_ = nullptr;
  const std::uint32_t index = core_key(r);
  if (!cost_ || index == kNoCore || live_.contains(index) || ended_.contains(index)) {
    fault("bad_record", "a block begins that was not launched, or begins twice");
    return false;
  }
  if (live_.size() >= kLiveMax) {
    fault("sync_all_too_many_blocks",
          fmt::format("more than {} blocks wait for each other, the device has {} cores: it would hang here",
                      kLiveMax, device_.aiv_cores),
          "launch at most as many blocks as there are cores when they use SyncAll");
    return false;
  }
  auto block = std::make_unique<Block>();
  block->totals.index = index;
  block->totals.is_cube = r.a[2] == 1;
  block->l2.resize(cost_->l2_share_bytes());
  block_ = block.get();
  live_[index] = std::move(block);
  if (!block_->totals.is_cube && !spare_ub_.empty()) {
    auto& arena = block_->arena[static_cast<std::size_t>(abi::Space::kUb)];
    arena = std::move(spare_ub_.back());
    spare_ub_.pop_back();
    fill_with_poison(arena.data(), arena.size(), mix(launch_.poison, 1000 + index));
  }
  scalar(cost_->block_start);
  return true;
}

void Core::end_block() {
  if (!block_) return;
  leaks();
  block_->totals.end_cycle = std::min(block_->end_cycle(), 0x1p60);
  block_->totals.copy_cycles = block_->copies.cycles();
  auto& arena = block_->arena[static_cast<std::size_t>(abi::Space::kUb)];
  if (!arena.empty() && spare_ub_.size() < kSpareMax) spare_ub_.push_back(std::move(arena));
  const std::uint32_t index = block_->index();
  ended_[index] = std::move(block_->totals);
  live_.erase(index);
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
  f.block = block_index();
  findings_.add_text(std::move(f));
}

}  // namespace evk::twin
