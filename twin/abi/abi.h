// The contract between a program (a compiled kernel and the headers it was compiled with) and the engine
// (which owns every byte of the device's memories, its clocks and its verdicts).
//
// A program holds no tensor data. Each Ascend C call becomes one fixed-size Record, which crosses either by a
// function call (transport `direct`: engine and program share a process) or through a ring in shared memory
// (transport `ring`: the engine lives in the judge's process). The engine trusts nothing in a Record: each
// field is checked before use.
//
// Numbers of this file are stable: they are stored in traces. Append, never renumber; bump kAbiVersion on a
// change.
#pragma once

#include <cstdint>
#include <type_traits>

namespace evk::twin::abi {

inline constexpr std::uint32_t kAbiVersion = 1;

enum class Space : std::uint8_t { kNone = 0, kGm, kUb, kL1, kL0A, kL0B, kL0C, kBt, kFb };

enum class DType : std::uint8_t {
  kNone = 0,
  kF32,
  kF16,
  kBf16,
  kF64,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,
  kI4
};

// Bytes of one element; 0 for kNone, and for kI4, whose elements are half a byte.
constexpr std::uint32_t bytes_of(DType t) {
  switch (t) {
    case DType::kF32:
    case DType::kI32:
    case DType::kU32:
      return 4;
    case DType::kF16:
    case DType::kBf16:
    case DType::kI16:
    case DType::kU16:
      return 2;
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
      return 8;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
    case DType::kNone:
    case DType::kI4:
      return 0;
  }
  return 0;
}

// The hardware queues of one core. An instruction runs on one of them, in order with its like.
enum class Pipe : std::uint8_t { kS = 0, kV, kM, kMte1, kMte2, kMte3, kFix, kAll };
inline constexpr int kPipes = 7;

// Where an operand lies. GM addresses are virtual: no process maps them. On-chip addresses are offsets in
// their space.
struct Operand {
  std::uint64_t addr = 0;
  std::uint32_t bytes = 0;  // extent of the tensor that the program named, from addr; 0 if unknown
  std::uint16_t buf = 0;    // buffer that the tensor was taken from (Op::kBufInit), 0 if none
  Space space = Space::kNone;
  DType dtype = DType::kNone;
};
static_assert(sizeof(Operand) == 16);

// How a vector instruction says which elements it touches.
enum class Form : std::uint8_t {
  kNone = 0,
  kCount,    // a[0] elements, contiguous from each operand's addr
  kRepeat,   // mask a[0] (low), a[1] (high) over the 256 bytes of a repeat; strides in a[3], a[4]
  kCounter,  // as kRepeat, but a[0] is the total number of elements (mask in counter mode)
};

enum class Op : std::uint16_t {
  kNone = 0,
  // --- program life
  // ---------------------------------------------------------------------------------------------
  kHello = 1,     // first record: a[0] = kAbiVersion
  kLocation,      // declares location id a[0]; text "file:line" lies in the bulk area, a[1] bytes
  kTilingResult,  // ask: after the host tiling. a[0] block dim, a[1] tiling key, a[2] workspace bytes, a[3]
                  // tiling bytes (in the bulk area), a[4] 0 = success else the ge status. Answer: GM address
                  // of workspace. a[5] = KernelKind
  kBlockBegin,    // a[0] block index, a[1] sub-block, a[2] 0 = AIV 1 = AIC
  kBlockEnd,
  kBlockSwitch,  // the following records belong to block a[0], sub-block a[1], core a[2] (fibers)
  kExit,         // every block ended; the last record of an orderly run
  kHostFinding,  // the program's own finding: a[0] = code, text in the bulk area, a[1] bytes
  kPrint,        // device printf: text in the bulk area, a[0] bytes

  // --- on-chip memory management
  // --------------------------------------------------------------------------------
  kPipeInit = 32,  // TPipe constructed
  kPipeReset,      // TPipe::Reset / Destroy: all buffers end, all pipes join
  kBufInit,   // declares buffer operand[0] {space, addr, bytes, buf}; a[0] queue id (0 = TBuf), a[1] source
              // Pipe, a[2] destination Pipe, a[3] depth, a[4] TPosition, a[5] slot within the queue
  kQueAlloc,  // queue a[0], buffer operand[0].buf
  kQueEnque,
  kQueDeque,
  kQueFree,
  kQueStall,  // no free (a[1] = 0) or no enqueued (a[1] = 1) buffer in queue a[0]: the device would hang here

  // --- synchronisation
  // ------------------------------------------------------------------------------------------
  kSetFlag = 64,  // a[0] source Pipe, a[1] destination Pipe, a[2] event id
  kWaitFlag,
  kPipeBarrier,  // a[0] Pipe
  kSyncAll,      // a[0] = 1: of the vector cores only, where there are cube cores too
  kCrossSet,     // a[0] mode, a[1] Pipe, a[2] flag id (cross_core.h; mode 3: a channel)
  kCrossWait,    // a[0] mode, a[2] flag id or channel
  kDataCache,    // DataCacheCleanAndInvalid: operand[0]
  kDataSync,     // dsb

  // --- scalar access
  // --------------------------------------------------------------------------------------------
  kGetValue = 96,  // ask: operand[0].addr is the element's; answer: its bits
  kSetValue,       // a[2] = bits
  kReadGm,         // ask: a[0] bytes (at most kBulkBytes) from operand[0], delivered in the bulk area
  kScalarWork,     // a[0] basic-block executions of scalar code since the last record
  kGetCycle,       // ask: the block's current simulated cycle
  kGetReduced,     // ask: what a vector instruction left in registers; a[0] says what: see Reduced

  // --- data movement
  // -------------------------------------------------------------------------------------------- dst
  // operand[0], src operand[1]. a[0] = block count | block length << 32, a[1] = src stride | dst stride
  // << 32.
  kDataCopy = 128,  // units of 32 bytes. a[0] = 1 | bytes << 32 with mode 1: the count form, length in BYTES
                    // as asked, which the device rounds down to 32
  kDataCopyPad,     // length in bytes; stride in bytes on the GM side, in 32-byte blocks on the UB side.
                    // a[2] = left pad | right pad << 16 | is_pad << 32 (elements), a[3] = pad value bits
  kCopy,            // UB to UB with mask and repeat (vector pipe)
  kNd2Nz,      // rows of GM to fractals of L1. a[0..4]: ndNum, nValue, dValue, srcNdMatrixStride, srcDValue;
               // a[5]: dstNzC0Stride | dstNzNStride << 16 | dstNzMatrixStride << 32
  kInitGm,     // fill operand[0] with a[2] bits, a[0] elements (InitOutput, Fill)
  kSetAtomic,  // a[0]: 0 none, 1 add, 2 max, 3 min; mode = DType

  // --- vector, two sources: dst operand[0], src operand[1], operand[2]
  // ---------------------------------------------
  kAdd = 256,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kAnd,
  kOr,
  kAddRelu,
  kSubRelu,
  kMulAddDst,
  kFusedMulAdd,
  kFusedMulAddRelu,
  kCompare,  // mode = CmpMode; dst bits
  kSelect,   // operand[0] dst, operand[1] src0, operand[2] src1, operand[3] mask; mode = SelMode; a[2] scalar
             // bits
  kGather,   // operand[0] dst, [1] src, [2] offsets (bytes); a[2] base
  kGatherMask,
  kXor,
  kPow,
  kGatherBlocks,  // operand[0] dst, [1] src, [2] offsets in bytes, one for each block of 32 bytes
  // --- vector, one source
  // -------------------------------------------------------------------------------------------
  kExp = 320,
  kLn,
  kAbs,
  kReciprocal,
  kSqrt,
  kRsqrt,
  kNot,
  kRelu,
  kCast,  // mode = RoundMode
  kBrcb,
  kTranspose,
  kCreateVecIndex,
  kTransData,  // bulk: 16 destination, 16 source addresses (32 bits each); a[0] = repeats | dst repeat
               // stride << 16 | src repeat stride << 32; a[1]: 1 = high half of dst, 2 = of src (8-bit)
  // --- vector, one source and a scalar: a[2] = scalar bits in the dtype of src
  // --------------------------------------
  kAdds = 384,
  kMuls,
  kMaxs,
  kMins,
  kLeakyRelu,
  kAxpy,
  kShiftLeft,
  kShiftRight,
  kCompareScalar,
  kDuplicate,  // dst only
  // --- reductions: dst operand[0], src operand[1], work operand[2]
  // ----------------------------------------------------
  kReduceSum = 448,
  kReduceMax,
  kReduceMin,  // count or mask + repeat; a[5] = 1: index wanted
  kWholeReduceSum,
  kWholeReduceMax,
  kWholeReduceMin,  // one result a repeat; a[5] = order of value and index
  kBlockReduceSum,
  kBlockReduceMax,
  kBlockReduceMin,  // one result a 32-byte block
  kPairReduceSum,
  kSort32,
  kMrgSort,
  // --- vector control
  // ----------------------------------------------------------------------------------------------
  kSetMask = 512,  // a[0], a[1]; mode 0 = normal, 1 = counter
  kResetMask,
  // --- cube
  // ----------------------------------------------------------------------------------------------------------
  // dst operand[0], src operand[1]; fractals of 512 bytes. a[0] = first | repeats << 16 | source stride <<
  // 32, a[1] = gap at the destination | gap between the fractals of one square << 16; flags: 1 transpose, 2
  // addresses decrease
  kLoadData2D = 576,
  kLoadData3D,         // a[0..5]: see Image
  kLoadDataTranspose,  // as kLoadData2D, in squares of 16 (32 for one byte) rows
  kMmad,     // L0C operand[0], L0A operand[1], L0B operand[2], bias operand[3] or none. a[0] = m | n << 16 |
             // k << 32; mode: MmadStart; flags: 1 unit flag, 2 k in whole 16s (float)
  kFixpipe,  // dst operand[0] (GM or L1), L0C operand[1]. mode: Quant; flags: 1 relu, 2 to rows, 4 unit flag;
             // a[0] = n | m << 16, a[1] = source stride | dst stride << 32, a[2] = scale as bits of float,
             // a[3] = matrices | source step << 16, a[4] = destination step
  kSetFixpipe,
  // --- macro operations: exact results and cost of the documented expansion
  // ---------------------------------------
  kMacro = 640,  // mode = MacroOp
};

enum class RoundMode : std::uint16_t { kNone = 0, kRint, kFloor, kCeil, kRound, kTrunc, kOdd };
enum class CmpMode : std::uint16_t { kLt = 0, kGt, kEq, kLe, kGe, kNe };
enum class SelMode : std::uint16_t { kTensorTensorByMask = 0, kTensorScalar = 1, kTensorTensor = 2 };
enum class Reduced : std::uint64_t { kSum = 0, kValue, kIndex, kMergedCounts };
enum class MacroOp : std::uint16_t {
  kNone = 0,
  kSoftmax,
  kLayerNorm,
  kRmsNorm,
  kGelu,
  kTanh,
  kSigmoid,
  kSum,
  kMean,
  kBroadcast
};

// What Mmad adds the products to.
enum class MmadStart : std::uint16_t { kZero = 0, kAccumulate, kBias };
// What happens to elements on their way out of L0C; kDequant multiplies int32 by a scale.
enum class Quant : std::uint16_t { kNone = 0, kF32ToF16, kF32ToBf16, kDequant };
// The mode of kCrossSet and kCrossWait whose flag is a channel.
inline constexpr std::uint64_t kChannelMode = 3;
// Which cores a kernel runs on, numbered as the KERNEL_TYPE names.
enum class KernelKind : std::uint8_t { kAiv = 0, kAic, kMixAiv10, kMixAic10, kMix11, kMix12 };
inline constexpr std::uint64_t kKernelKinds = 6;
constexpr bool has_aic(KernelKind k) { return k != KernelKind::kAiv && k != KernelKind::kMixAiv10; }
constexpr std::uint32_t aivs_of(KernelKind k) {
  return k == KernelKind::kMix12 ? 2 : k == KernelKind::kAic || k == KernelKind::kMixAic10 ? 0 : 1;
}

// One instruction. 128 bytes: two cache lines.
struct Record {
  Op op = Op::kNone;
  Form form = Form::kNone;
  std::uint8_t operands = 0;  // how many of `operand` are used
  std::uint32_t loc = 0;      // source location, declared by kLocation; 0 = unknown
  std::uint16_t mode = 0;     // round mode, compare mode, ...: see the op
  std::uint16_t flags = 0;
  std::uint32_t scalar_work = 0;  // basic blocks of scalar code executed since the previous record
  Operand operand[4];
  std::uint64_t a[6] = {};
};
static_assert(sizeof(Record) == 128 && std::is_trivially_copyable_v<Record>);

// Strides of a repeat-form vector instruction, packed into a[3] and a[4].
// Block strides are in 32-byte blocks between the blocks of one repeat, repeat strides between repeats.
struct Strides {
  std::uint8_t repeat = 1;
  std::uint8_t dst_block = 1, src0_block = 1, src1_block = 1;
  std::uint16_t dst_repeat = 8, src0_repeat = 8, src1_repeat = 8;
};
constexpr std::uint64_t pack_low(const Strides& s) {
  return std::uint64_t{s.repeat} | std::uint64_t{s.dst_block} << 8 | std::uint64_t{s.src0_block} << 16 |
         std::uint64_t{s.src1_block} << 24;
}
constexpr std::uint64_t pack_high(const Strides& s) {
  return std::uint64_t{s.dst_repeat} | std::uint64_t{s.src0_repeat} << 16 |
         std::uint64_t{s.src1_repeat} << 32;
}
constexpr Strides unpack_strides(std::uint64_t low, std::uint64_t high) {
  return {static_cast<std::uint8_t>(low),        static_cast<std::uint8_t>(low >> 8),
          static_cast<std::uint8_t>(low >> 16),  static_cast<std::uint8_t>(low >> 24),
          static_cast<std::uint16_t>(high),      static_cast<std::uint16_t>(high >> 16),
          static_cast<std::uint16_t>(high >> 32)};
}

// Bytes that one record may bring beside itself (location texts, prints, tiling, GM reads).
inline constexpr std::uint32_t kBulkBytes = 64 * 1024;

// What an engine offers to the program's side. Both transports implement it.
class Port {
 public:
  virtual ~Port() = default;
  // Hands over a record that needs no answer, with `bulk` bytes beside it (may be null).
  virtual void emit(const Record& record, const void* bulk = nullptr, std::uint32_t bulk_bytes = 0) = 0;
  // Hands over a record and waits for its answer; up to `out_bytes` bytes of answering bulk are copied to
  // `out`.
  virtual std::uint64_t ask(const Record& record, const void* bulk = nullptr, std::uint32_t bulk_bytes = 0,
                            void* out = nullptr, std::uint32_t out_bytes = 0) = 0;
};

}  // namespace evk::twin::abi
