// The engine proper: one object executes all records of a launch. Split over several files by what the
// records do.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "twin/engine/block.h"
#include "twin/engine/cost.h"
#include "twin/engine/engine.h"
#include "twin/engine/findings.h"
#include "twin/engine/gm.h"

namespace evk::twin {

class Core final : public Engine {
 public:
  Core(const Device& device, Launch launch);
  Status lay_out();

  std::uint64_t input_addr(std::size_t i) const override { return addresses_[i]; }
  std::uint64_t output_addr(std::size_t j) const override { return addresses_[launch_.inputs.size() + j]; }
  Answer execute(const abi::Record& record, const std::byte* bulk, std::uint32_t bulk_bytes) override;
  RunReport finish(RunEnd end) override;

 private:
  // One contiguous stretch of elements of an instruction, as element offsets from each operand's address.
  struct Piece {
    std::uint64_t dst = 0, src0 = 0, src1 = 0, n = 0;
  };
  // A range of bytes that an instruction touches, with where its bytes are (null in timing-only runs or if it
  // is refused).
  struct Range {
    std::uint64_t lo = 0, bytes = 0;
    std::byte* data = nullptr;
    GmTensor* tensor = nullptr;  // of GM ranges
    bool ok = false;
  };

  // --- core.cc: life of the program, blocks, answers
  Answer life(const abi::Record& r, const std::byte* bulk, std::uint32_t bulk_bytes);
  Answer tiling_result(const abi::Record& r, std::uint32_t bulk_bytes);
  void begin_block(const abi::Record& r);
  void end_block();
  void host_finding(const std::byte* bulk, std::uint32_t bulk_bytes);
  void dispatch(const abi::Record& r, Answer& answer);
  void fault(const char* code, std::string message, const char* remedy = "", std::uint32_t other = 0);
  void note(const char* code, std::string message, const char* remedy = "");

  // --- sync.cc: buffers, queues, flags, barriers, the pipes' clocks
  void sync(const abi::Record& r);
  void buffer_init(const abi::Record& r);
  void queue_op(const abi::Record& r);
  void set_flag(int source, int destination, std::uint64_t id);
  void wait_flag(int source, int destination, std::uint64_t id);
  Flag release(int pipe);
  void acquire(int pipe, const Flag& flag);
  void barrier_all();
  void sync_all();
  // Charges an instruction to its pipe.
  void run_on(int pipe, double cycles);
  void scalar(double cycles);

  // --- access.cc: bounds, alignment, hazards
  Range range(const abi::Operand& o, std::uint64_t offset_bytes, std::uint64_t bytes, bool write,
              const char* what);
  bool in_chip_bounds(const abi::Operand& o, std::uint64_t lo, std::uint64_t bytes, const char* what);
  Range gm_range(const abi::Operand& o, std::uint64_t lo, std::uint64_t bytes, bool write, const char* what);
  bool aligned(const abi::Operand& o, const char* what);
  // Happens-before checks; REQUIRES: the range is ok.
  void touch(int pipe, const abi::Operand& o, const Range& range, bool write);
  void note_gm(const Range& range, bool write);
  std::uint64_t bytes_of_space(abi::Space space) const;

  // --- move.cc: copies and scalar access
  void data_copy(const abi::Record& r);
  void data_copy_pad(const abi::Record& r);
  void chip_copy(const abi::Record& r, std::uint64_t count, std::uint64_t bytes, std::uint64_t src_gap,
                 std::uint64_t dst_gap);
  void load_rows(const abi::Record& r, std::uint64_t count, std::uint64_t bytes, std::uint64_t src_step,
                 std::uint64_t dst_step, std::uint64_t left_bytes, std::uint64_t row_bytes, bool pad,
                 std::uint64_t pad_bits);
  void store_rows(const abi::Record& r, std::uint64_t count, std::uint64_t bytes, std::uint64_t src_step,
                  std::uint64_t dst_step);
  void write_gm(const Range& to, const std::byte* from, std::uint64_t bytes, abi::DType dtype);
  std::uint64_t get_value(const abi::Record& r);
  void set_value(const abi::Record& r);
  Answer read_gm(const abi::Record& r);

  // --- vector.cc
  void vector(const abi::Record& r);
  void reduce(const abi::Record& r);
  void reduce_to_one(const abi::Record& r);
  void reduce_by_repeat(const abi::Record& r);
  void gather(const abi::Record& r);
  void broadcast_blocks(const abi::Record& r);
  void vector_index(const abi::Record& r);
  std::vector<Piece> pieces(const abi::Record& r, abi::DType dtype);
  void charge_vector(const abi::Record& r, std::uint64_t elements, std::uint64_t element_bytes,
                     bool two_sources);
  bool check_dtype(const abi::Record& r, abi::DType dtype);

  // --- finish.cc
  void conflicts_between_blocks();
  void leaks();
  std::uint64_t unwritten_bytes(const GmTensor& output) const;
  RunProfile profile() const;
  std::string stream_hash() const;

  const Device device_;
  Launch launch_;
  GlobalMemory gm_;
  std::vector<std::uint64_t> addresses_;
  Findings findings_;
  std::optional<CostModel> cost_;
  std::map<std::uint32_t, std::unique_ptr<Block>> blocks_;
  Block* block_ = nullptr;  // the running one
  std::uint32_t block_dim_ = 0;
  std::uint64_t workspace_bytes_ = 0, tiling_key_ = 0, records_ = 0;
  std::uint32_t loc_ = 0;  // of the record under execution
  std::uint32_t last_loc_ = 0;
  bool exited_ = false, tiling_failed_ = false, runaway_ = false;
  std::string printed_;
  std::vector<std::byte> answer_bulk_;
};

}  // namespace evk::twin
