// The engine proper: one object executes all records of a launch. Split over several files by what the
// records do.
//
// Every instruction goes the same way: its fields are checked; the ranges that it touches are checked
// (bounds, buffers, alignment) and located; the touches are checked for order against the shadows; the data
// are moved or computed; the clocks advance. A refused instruction ends after its finding and moves nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "twin/abi/cross_core.h"
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
  static constexpr int kS = 0, kV = 1, kM = 2, kMte1 = 3, kMte2 = 4, kMte3 = 5, kFix = 6;

  // One stretch of elements of an instruction, contiguous in every operand: offsets in bytes from the
  // operands' addresses, and the index of its first element among all that the instruction names.
  struct Piece {
    std::uint64_t at[3] = {};  // dst, src0, src1
    std::uint64_t n = 0;
    std::uint64_t first = 0;
  };
  // A range of bytes that an instruction touches, with where its bytes are (null in timing-only runs or if it
  // is refused).
  struct Range {
    std::uint64_t lo = 0, bytes = 0;
    std::byte* data = nullptr;
    GmTensor* tensor = nullptr;  // of GM ranges
    bool ok = false;
  };
  // A copy of rows. Steps are in bytes from row to row.
  struct Rows {
    std::uint64_t count = 0, bytes = 0, src_step = 0, dst_step = 0;
    // Of loads with padding: where in its row of `row_bytes` the data lie, and what fills the rest.
    std::uint64_t left_bytes = 0, row_bytes = 0, pad_bits = 0;
    enum class Fill { kNone, kFirstElement, kValue } fill = Fill::kNone;
  };

  // --- core.cc: life of the program, blocks, answers
  Answer life(const abi::Record& r, const std::byte* bulk, std::uint32_t bulk_bytes);
  Answer tiling_result(const abi::Record& r);
  Answer refuse_tiling(const char* code, std::string message, const char* remedy, std::uint32_t loc);
  bool begin_block(const abi::Record& r);
  void end_block();
  void host_finding(const std::byte* bulk, std::uint32_t bulk_bytes);
  void dispatch(const abi::Record& r, Answer& answer);
  void fault(const char* code, std::string message, const char* remedy = "", std::uint32_t other = 0);
  void note(const char* code, std::string message, const char* remedy = "", std::uint32_t other = 0);
  static constexpr std::uint32_t kNoCore = ~0u;
  // The number of the core that a record begins or switches to; kNoCore if the launch has none such.
  std::uint32_t core_key(const abi::Record& r) const;
  // Cores that the launch runs: one or several a block.
  std::size_t cores_launched() const {
    return std::size_t{block_dim_} * (abi::has_aic(kind_) + abi::aivs_of(kind_));
  }
  int block_index() const { return block_ ? static_cast<int>(block_->index() & 0xffff) : -1; }

  // --- sync.cc: buffers, queues, flags, barriers, the pipes' clocks
  void sync(const abi::Record& r);
  void buffer_init(const abi::Record& r);
  void queue_op(const abi::Record& r);
  void queue_alloc(Buffer& buffer, int source);
  void queue_stall(const abi::Record& r);
  void flag(const abi::Record& r);
  void set_flag(int source, int destination, std::uint64_t id);
  void wait_flag(int source, int destination, std::uint64_t id);
  Flag release(int pipe);
  void acquire(int pipe, const Flag& flag);
  void barrier(std::uint64_t pipe);
  void barrier_all();
  void sync_all(bool vectors_only);
  void leaks();
  // Charges an instruction to its pipe; its result is there `latency` after the pipe is free again. The
  // start.
  double run_on(int pipe, double cycles, double latency = 0);
  void scalar(double cycles);
  LineCost& line_cost();

  // --- cross.cc: flags between cores
  void cross_set(const abi::Record& r);
  void cross_wait(const abi::Record& r);
  void sync_cores(bool vectors_only);
  std::uint32_t core_number(std::uint32_t key) const;
  abi::CoreId core_id() const;
  CrossRelease release_to_others(int pipe);
  void learn(const CrossRelease& release);
  void acquire_from_others(const CrossRelease& release);
  void begin_segment(std::shared_ptr<const CrossKnowledge> known);
  // Whether the access of one core happened before the later one of another, through flags between them.
  bool knows(const GmRange& earlier, std::uint32_t earlier_core, const GmRange& later,
             const BlockTotals& core) const;
  static constexpr std::size_t kKnownMax = 256;          // cores that one core knows of
  static constexpr std::size_t kKnowledgeMax = 4 << 20;  // entries of all cores together

  // --- access.cc: bounds, alignment, hazards
  Range range(const abi::Operand& o, std::uint64_t offset_bytes, std::uint64_t bytes, bool write,
              const char* what);
  bool in_chip_bounds(const abi::Operand& o, std::uint64_t lo, std::uint64_t bytes, const char* what);
  Range gm_range(std::uint64_t lo, std::uint64_t bytes, bool write, const char* what);
  bool aligned(const abi::Operand& o, const char* what, std::uint64_t bytes = 32);
  std::byte* chip_memory(abi::Space space);
  // Happens-before checks; REQUIRES: the range is ok.
  void touch(int pipe, const abi::Operand& o, const Range& range, bool write);
  void hazard(HazardKind kind, int pipe, const Access& earlier, bool gm, std::uint64_t lo, std::uint64_t hi);
  void note_gm(int pipe, const Range& range, bool write);
  std::uint64_t bytes_of_space(abi::Space space) const;

  // --- move.cc: copies and scalar access
  void data_copy(const abi::Record& r);
  void data_copy_pad(const abi::Record& r);
  void chip_copy(const abi::Record& r, const Rows& rows);
  void load_rows(const abi::Record& r, const Rows& rows);
  void fill_row(const Range& to, const Rows& rows, std::uint64_t element_bytes, const std::byte* first);
  void store_rows(const abi::Record& r, const Rows& rows);
  void charge_load(const abi::Operand& src, const Rows& rows, std::uint64_t done);
  void charge_store(const abi::Operand& dst, const Rows& rows, std::uint64_t done);
  void write_gm(const Range& to, const std::byte* from, std::uint64_t bytes, abi::DType dtype);
  void set_atomic(const abi::Record& r);
  void init_gm(const abi::Record& r);
  std::uint64_t get_value(const abi::Record& r);
  void set_value(const abi::Record& r);
  void charge_scalar_access(const abi::Operand& o, bool write);
  Answer read_gm(const abi::Record& r);

  // --- cube.cc, fixpipe.cc: the cube core
  void cube(const abi::Record& r);
  void nd2nz(const abi::Record& r);
  bool nd2nz_matrix(const abi::Record& r, std::uint64_t from_at, std::uint64_t to_at, std::uint64_t size,
                    std::uint64_t& done);
  bool cube_copy(int pipe, const abi::Record& r, std::uint64_t src_at, std::uint64_t dst_at,
                 std::uint64_t bytes);
  bool check_load(const abi::Record& r);
  void charge_cube_load(const abi::Record& r, int pipe, std::uint64_t bytes);
  void load_data_2d(const abi::Record& r);
  bool load_square(const abi::Record& r, std::uint64_t src_at, std::uint64_t first, std::uint64_t second,
                   std::uint64_t size);
  void load_data_transpose(const abi::Record& r);
  void bias_copy(const abi::Record& r, const Rows& rows);
  bool check_mmad(const abi::Record& r, std::uint64_t m, std::uint64_t n, std::uint64_t k);
  void order_products(std::uint64_t fractals);
  void mmad_instruction(const abi::Record& r);
  bool check_fixpipe(const abi::Record& r);
  void fixpipe(const abi::Record& r);
  bool touch_fix_source(const abi::Record& r, std::uint64_t at, std::uint64_t m, std::uint64_t n,
                        std::uint64_t strip, Range& whole);
  std::uint64_t fix_rows(const abi::Record& r, std::uint64_t src_at, std::uint64_t dst_at, std::uint64_t m,
                         std::uint64_t n);
  std::uint64_t fix_fractals(const abi::Record& r, std::uint64_t m, std::uint64_t n);
  void charge_fixpipe(const abi::Record& r, std::uint64_t elements, std::uint64_t bytes);

  // --- vector.cc: elementwise instructions
  void vector(const abi::Record& r);
  bool check_vector(const abi::Record& r, unsigned operands);
  bool check_dtypes(const abi::Record& r);
  bool check_overlap(const abi::Record& r, unsigned operands);
  bool vector_piece(const abi::Record& r, const Piece& piece, unsigned operands);
  void compute(const abi::Record& r, const Piece& piece, const Range* ranges);
  // The stretches that the instruction works on, in pieces_. `operands` of the three walk.
  void make_pieces(const abi::Record& r, unsigned operands);
  void make_runs(const abi::Record& r, const abi::Strides& s, unsigned operands);
  void add_piece(const Piece& piece, const std::uint64_t* size, unsigned operands);
  void charge_vector(const abi::Record& r, std::uint64_t elements, std::uint64_t element_bytes, int sources);

  // --- reduce.cc
  void reduce(const abi::Record& r);
  void reduce_to_one(const abi::Record& r);
  // Calls `visit(first, data, n)` for each part of the source, cut at multiples of `stretch` elements; false
  // if one is refused.
  template <typename Visit>
  bool visit_source(const abi::Record& r, std::uint64_t stretch, Visit visit);
  float sum_of(const abi::Record& r, bool& ok);
  void reduce_by_repeat(const abi::Record& r);
  bool reduce_one_repeat(const abi::Record& r, std::uint64_t repeat);
  bool load_repeat(const abi::Record& r, std::uint64_t repeat, std::byte* values, bool* chosen);
  void store_group(const abi::Record& r, const std::byte* values, const bool* chosen, std::uint64_t group,
                   std::byte* dst);
  void charge_reduction(const abi::Record& r, std::uint64_t repeats, bool to_one);

  // --- shuffle.cc: moves between elements
  void gather(const abi::Record& r);
  void gather_mask(const abi::Record& r);
  void broadcast_blocks(const abi::Record& r);
  void vector_index(const abi::Record& r);
  void transpose(const abi::Record& r);

  // --- rearrange.cc, sort.cc: moves that leave a count, and orders
  void gather_repeats(const abi::Record& r);
  void gather_blocks(const abi::Record& r);
  void gather_mask_repeats(const abi::Record& r);
  void trans_data(const abi::Record& r);
  void sort_32(const abi::Record& r);
  void merge_sorted(const abi::Record& r);
  std::uint64_t reduced(const abi::Record& r);

  // --- finish.cc
  void conflicts_between_blocks();
  RunProfile profile() const;
  double copies_of_all_blocks(RunProfile& p) const;
  void describe_lines(RunProfile& p) const;
  std::string stream_hash() const;

  const Device device_;
  Launch launch_;
  GlobalMemory gm_;
  std::vector<std::uint64_t> addresses_;
  Findings findings_;
  std::optional<CostModel> cost_;
  std::map<std::uint32_t, std::unique_ptr<Block>> live_;
  std::map<std::uint32_t, BlockTotals> ended_;
  std::vector<std::vector<std::byte>> spare_ub_;  // arenas of ended blocks
  std::vector<LineCost> lines_;                   // by location
  Block* block_ = nullptr;                        // the running one
  std::uint32_t block_dim_ = 0;
  std::uint64_t workspace_bytes_ = 0, tiling_key_ = 0, records_ = 0, gm_bytes_ = 0, gm_ranges_ = 0;
  std::uint32_t loc_ = 0;  // of the record under execution
  std::uint32_t last_loc_ = 0;
  bool exited_ = false, tiling_failed_ = false, runaway_ = false;
  std::string printed_;
  std::vector<std::byte> answer_bulk_;
  std::vector<std::byte> fix_row_;  // while Fixpipe works
  abi::KernelKind kind_ = abi::KernelKind::kAiv;
  std::span<const std::byte> bulk_;  // beside the record under execution
  abi::CrossFlags<CrossRelease> cross_;
  CrossRelease sync_release_;        // gathered by the vector cores that have arrived in SyncAll
  std::size_t cross_knowledge_ = 0;  // entries that are kept; beyond its limit order between cores is unknown
  std::vector<Piece> pieces_;
  std::vector<Piece> runs_;  // the pieces of one repeat, while pieces_ is made
};

}  // namespace evk::twin
