// Cores that wait for one another: SyncAll and the flags between cores.
#include <algorithm>
#include <utility>

#include "twin/program/program.h"
#include "twin/program/runner.h"

namespace evk::twin {
namespace {

using abi::Op;

abi::CoreId id_of(const Fiber& fiber) {
  return {fiber.group, fiber.block.sub_block_idx, fiber.block.core_type == 1};
}

bool takes_part(const Fiber& fiber, bool vectors_only) { return !vectors_only || fiber.block.core_type == 0; }

// Scalar work belongs to the core that did it.
void tell(Op op, std::uint64_t a0, std::uint64_t a1, std::uint64_t a2, std::uint32_t loc) {
  abi::Record r;
  r.op = op;
  r.loc = loc;
  r.scalar_work = std::exchange(program().scalar_work, 0);
  r.a[0] = a0;
  r.a[1] = a1;
  r.a[2] = a2;
  program().port.emit(r, nullptr, 0);
}

void wait_until_free(const Waiting& waiting) {
  Fiber& self = *program().current;
  self.waiting = waiting;
  if (!may_go_on(self)) {
    const std::uint32_t work = std::exchange(program().scalar_work, 0);
    if (work) emit(Op::kScalarWork, work);
    ::swapcontext(&self.context, &program().scheduler);
  }
  self.waiting = {};
}

std::string name_of(const Fiber& fiber) {
  const bool mixed = abi::has_aic(program().kind) && abi::aivs_of(program().kind) > 0;
  const std::string block = "block " + std::to_string(fiber.group);
  if (!mixed) return block;
  return block +
         (fiber.block.core_type == 1 ? " cube" : " vector " + std::to_string(fiber.block.sub_block_idx));
}

std::string wait_of(const Fiber& fiber) {
  const Waiting& w = fiber.waiting;
  const std::string what = w.what == Waiting::For::kSyncAll ? "SyncAll"
                           : w.mode == abi::kChannelMode    ? "another block"
                                                            : "flag " + std::to_string(w.flag);
  return name_of(fiber) + " waits for " + what + " at " + program().locations.text(w.loc);
}

}  // namespace

bool may_go_on(const Fiber& fiber) {
  const Waiting& w = fiber.waiting;
  switch (w.what) {
    case Waiting::For::kNothing:
      return true;
    case Waiting::For::kFlag:
      return w.mode == abi::kChannelMode ? program().cross.is_posted(w.flag)
                                         : program().cross.is_set(id_of(fiber), w.flag);
    case Waiting::For::kMessage: {
      const auto of_block = [&](const auto& other) {
        return other->group == fiber.group && other->block.core_type == 0;
      };
      const auto mail = program().messages.find(fiber.group);
      return (mail != program().messages.end() && !mail->second.empty()) ||
             std::all_of(program().blocks.begin(), program().blocks.end(),
                         [&](const auto& other) { return !of_block(other) || other->ended; });
    }
    case Waiting::For::kSyncAll:
      return std::all_of(program().blocks.begin(), program().blocks.end(), [&](const auto& other) {
        return !takes_part(*other, w.vectors_only) ||
               other->syncs[w.vectors_only] >= fiber.syncs[w.vectors_only];
      });
  }
  return true;
}

void sync_all(std::uint32_t loc, bool vectors_only) {
  tell(Op::kSyncAll, vectors_only, 0, 0, loc);
  ++program().current->syncs[vectors_only];
  wait_until_free({Waiting::For::kSyncAll, vectors_only, 0, 0, loc});
}

void cross_set(std::uint64_t mode, int pipe, std::uint64_t flag, std::uint32_t loc) {
  tell(Op::kCrossSet, mode, static_cast<std::uint64_t>(pipe), flag, loc);
  if (mode == abi::kChannelMode)
    program().cross.post(flag, {});
  else if (flag < abi::kCrossFlags)  // the engine refuses others
    program().cross.set(id_of(*program().current), mode, flag, {});
}

void cross_wait(std::uint64_t mode, std::uint64_t flag, std::uint32_t loc) {
  wait_until_free({Waiting::For::kFlag, false, mode, flag, loc});
  if (mode == abi::kChannelMode)
    program().cross.take_posted(flag);
  else
    program().cross.take(id_of(*program().current), flag);
  tell(Op::kCrossWait, mode, 0, flag, loc);
}

bool send_message(std::vector<std::byte> message) {
  if (!abi::has_aic(program().kind)) return false;
  program().messages[program().current->group].push_back(std::move(message));
  return true;
}

bool receive_message(std::vector<std::byte>& message, std::uint32_t loc) {
  wait_until_free({Waiting::For::kMessage, false, 0, 0, loc});
  auto& mail = program().messages[program().current->group];
  if (mail.empty()) return false;
  message = std::move(mail.front());
  mail.pop_front();
  return true;
}

void end_in_deadlock() {
  std::size_t waiting = 0, at_sync = 0;
  std::string list;
  constexpr std::size_t kListed = 6;
  for (const auto& fiber : program().blocks) {
    if (fiber->ended) continue;
    if (waiting == 0) program().last_loc = fiber->waiting.loc;
    if (waiting < kListed) list += (list.empty() ? "" : "; ") + wait_of(*fiber);
    ++waiting;
    at_sync += fiber->waiting.what == Waiting::For::kSyncAll;
  }
  if (waiting > kListed) list += "; and " + std::to_string(waiting - kListed) + " more";
  const std::size_t ended = program().blocks.size() - waiting;
  if (at_sync == waiting)
    finding("sync_all_mismatch",
            std::to_string(waiting) + " blocks wait in SyncAll and " + std::to_string(ended) +
                " have ended without it: the device would hang here",
            "let every block call SyncAll equally often", true);
  else
    finding("cross_core_deadlock", "no core can go on, the device would hang here: " + list,
            "let every CrossCoreWaitFlag have its CrossCoreSetFlag, in an order that some core can begin",
            true);
  leave_program();
}

}  // namespace evk::twin
