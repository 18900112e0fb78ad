#include "generate/kernel_printer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "base/check.h"
#include "generate/ir_forms.h"
#include "generate/vector_code.h"

namespace evk {
namespace {

bool is_reduction(Prim prim) {
  return prim == Prim::kReduceSum || prim == Prim::kReduceMax || prim == Prim::kReduceMin;
}

class KernelPrinter {
 public:
  KernelPrinter(const std::string& op, const KernelPlan& plan, ChoiceBook& book)
      : op_(op), camel_(camel_case(op)), book_(book), plan_(written_out(plan, book)) {
    if (plan_.loop == LoopForm::kInner && book_.is("axis.inner", "as_last")) plan_.loop = LoopForm::kRows;
    find_needed();
  }

  PrintedKernel run() {
    code_.emplace(plan_, book_, plan_.loop == LoopForm::kInner);
    body();
    PrintedKernel made;
    made.needs = needs();
    std::string text = fmt::format("// Constructs: {}\n", "@choices@");
    text += "#include \"kernel_operator.h\"\n\nnamespace {\n\n";
    text += fmt::format("class {}Kernel {{\n public:\n", camel_);
    text += init_text() + text_of(process_) + " private:\n" + helpers_text() + members_text() +
            "};\n\n}  // namespace\n\n";
    text += entry_text();
    const std::string mark = "@choices@";
    text.replace(text.find(mark), mark.size(), write_choices(book_.taken()));
    made.text = std::move(text);
    return made;
  }

 private:
  struct Line {
    int indent;
    CodeLine code;
  };

  // --- what must be computed
  // --------------------------------------------------------------------------------------
  const IrValue& at(int value) const { return plan_.values[static_cast<std::size_t>(value)]; }

  void mark(int value) {
    if (!needed_.insert(value).second) return;
    if (at(value).a >= 0) mark(at(value).a);
    if (at(value).b >= 0) mark(at(value).b);
  }

  void find_needed() {
    for (const int output : plan_.outputs) mark(output);
    for (const int value : needed_) {
      if (is_reduction(at(value).prim)) levels_ = std::max(levels_, at(value).level);
      if (at(value).prim == Prim::kInput) inputs_.push_back(value);
      if (at(value).prim == Prim::kInverseLength) inverse_length_ = true;
    }
  }

  std::vector<int> reductions(int level) const {
    std::vector<int> found;
    for (const int value : needed_)
      if (is_reduction(at(value).prim) && at(value).level == level) found.push_back(value);
    return found;
  }

  // Inputs that the computation of `roots` reads in a tile loop; reductions and statistics end the search.
  std::set<int> inputs_of(const std::vector<int>& roots) const {
    std::set<int> found, seen;
    std::vector<int> open = roots;
    while (!open.empty()) {
      const int value = open.back();
      open.pop_back();
      if (!seen.insert(value).second) continue;
      const IrValue& v = at(value);
      if (v.prim == Prim::kInput) found.insert(value);
      if (v.extent == Extent::kStat || v.extent == Extent::kScalar) continue;
      if (v.a >= 0) open.push_back(v.a);
      if (v.b >= 0) open.push_back(v.b);
    }
    return found;
  }

  // --- lines
  // --------------------------------------------------------------------------------------------------------
  void say(std::string text, std::vector<std::string> tags = {}) {
    process_.push_back({indent_, {std::move(text), std::move(tags)}});
  }
  void open(std::string text, std::vector<std::string> tags = {}) {
    say(std::move(text), std::move(tags));
    indent_ += 2;
  }
  void close() {
    indent_ -= 2;
    say("}");
  }
  // Takes over the lines that the vector code has written. Lines without a construct of their own can still
  // be at the end of a buffer or a row.
  void flush() {
    for (auto& line : code_->take_lines()) {
      for (const auto& tag : vector_tags_) line.tags.push_back(tag);
      process_.push_back({indent_, std::move(line)});
    }
  }

  static std::string text_of(const Line& line) {
    std::string text(static_cast<std::size_t>(line.indent), ' ');
    text += line.code.text;
    if (!line.code.tags.empty()) text += fmt::format("  // [{}]", fmt::join(line.code.tags, " "));
    return text + "\n";
  }
  static std::string text_of(const std::vector<Line>& lines) {
    std::string text;
    for (const auto& line : lines) text += text_of(line);
    return text;
  }
  static std::string line(int indent, std::string text, std::vector<std::string> tags = {}) {
    return text_of(Line{indent, {std::move(text), std::move(tags)}});
  }

  bool queued() { return book_.is("queue.sync", "enque_deque"); }
  bool many_blocks() { return !book_.is("sched.blocks", "one"); }
  bool tile_is_constant() {
    return !book_.is("sched.tile", "ub_max") &&
           !(plan_.loop == LoopForm::kRows && book_.is("row.long", "whole_row"));
  }

  // Constructs that decide addresses and lengths: the suspects of an access outside its bounds.
  std::vector<std::string> access_tags(std::vector<std::string> first) {
    first.push_back("tail.length");
    if (many_blocks()) first.push_back("block.split");
    return first;
  }

  // --- body
  // ------------------------------------------------------------------------------------------------------------
  void body() {
    if (!tile_is_constant()) vector_tags_ = {"buffer.align"};
    indent_ = 2;
    open("__aicore__ inline void Process() {");
    switch (plan_.loop) {
      case LoopForm::kFlat:
        flat_body();
        break;
      case LoopForm::kRows:
        rows_body();
        break;
      case LoopForm::kInner:
        inner_body();
        break;
    }
    close();
    process_.push_back({0, {"", {}}});
  }

  void flat_body() {
    scalars(0);
    flush();
    tile_loop("first_", "end_", plan_.outputs,
              [&](const std::string& count) { write_outputs("start", count); });
  }

  // The whole tensor is one row, and several blocks share it.
  bool splits_row() {
    return plan_.loop == LoopForm::kRows && plan_.axis_begin == 0 && plan_.axis_end == plan_.rank &&
           levels_ > 0 && many_blocks() && book_.is("sched.whole", "partial_sums");
  }

  void shared_row_body() {
    for (int level = 1; level <= levels_; ++level) {
      scalars(level - 1);
      flush();
      row_pass(level, "first_", "end_");
      for (const int value : reductions(level)) meet(value);
    }
    scalars(levels_);
    flush();
    if (at(plan_.outputs.front()).extent == Extent::kStat) {
      open("if (AscendC::GetBlockIdx() == 0) {");
      store_row_statistic("0");
      return close();
    }
    tile_loop("first_", "end_", plan_.outputs,
              [&](const std::string& count) { write_outputs("start", count); });
  }

  // Every block leaves its part in the workspace, eight equal numbers a block; after the meeting each reads
  // all parts.
  void meet(int value) {
    const Prim prim = at(value).prim;
    const std::string part = fmt::format("s{}", value);
    const std::string base = fmt::format("{} * blocks_", 8 * meetings_++);
    open("{");
    say("AscendC::LocalTensor<float> y = outQueue_.AllocTensor<float>();");
    code_->fill("y", prim == Prim::kReduceSum ? part + " * 0.125f" : part, "8");
    flush();
    say("outQueue_.EnQue(y);");
    say("AscendC::LocalTensor<float> mine = outQueue_.DeQue<float>();");
    say(fmt::format("AscendC::DataCopy(partsGm_[{} + 8 * AscendC::GetBlockIdx()], mine, 8);", base),
        {"block.meet"});
    say("outQueue_.FreeTensor(mine);");
    close();
    if (book_.is("block.meet", "sync_all")) say("AscendC::SyncAll();", {"block.meet"});
    const int input = at(inputs_.front()).input;
    open("{");
    say(fmt::format("AscendC::LocalTensor<float> parts = inQueue{}_.AllocTensor<float>();", input));
    say(fmt::format("AscendC::DataCopy(parts, partsGm_[{}], 8 * blocks_);", base), {"block.meet"});
    say(fmt::format("inQueue{}_.EnQue(parts);", input));
    say(fmt::format("parts = inQueue{}_.DeQue<float>();", input));
    reduce_call(value, "parts", "8 * blocks_");
    say(fmt::format("{} = {};", part, read_reduced()), {"read.scalar"});
    say(fmt::format("inQueue{}_.FreeTensor(parts);", input));
    close();
  }

  // A row that fits into one tile is read once: what a pass computes stays for the next.
  void resident_row() {
    const auto known = code_->known();
    const auto written = written_;
    open("if (reduceLength_ <= tileLength_) {");
    say("const uint32_t count = static_cast<uint32_t>(reduceLength_);");
    for (const int value : inputs_) load(value, at(value).extent == Extent::kRow ? "0" : "base");
    for (int level = 1; level <= levels_; ++level) {
      scalars(level - 1);
      flush();
      for (const int value : reductions(level)) {
        code_->write({at(value).a}, {}, "count");
        flush();
        reduce_call(value, code_->name_of(at(value).a), "count");
        say(fmt::format("const float s{} = {};", value, read_reduced()), {"read.scalar"});
        code_->know(value, fmt::format("s{}", value));
      }
    }
    scalars(levels_);
    flush();
    if (at(plan_.outputs.front()).extent == Extent::kStat)
      store_row_statistic("row");
    else
      write_outputs("base", "count");
    for (const int value : inputs_) free_input(value);
    say("continue;");
    close();
    code_->restore(known);
    written_ = written;
  }

  void rows_body() {
    if (splits_row()) return shared_row_body();
    open("for (uint64_t row = first_; row < end_; ++row) {");
    say("const uint64_t base = row * reduceLength_;");
    if (levels_ > 0 && !book_.is("row.long", "whole_row") && book_.is("sched.resident", "short_rows"))
      resident_row();
    const auto online = online_sum();
    if (online && book_.is("sched.online", "running_maximum")) {
      online_pass(online->maximum, online->sum);
    } else {
      for (int level = 1; level <= levels_; ++level) {
        scalars(level - 1);
        flush();
        row_pass(level, "0", "reduceLength_");
      }
    }
    scalars(levels_);
    flush();
    if (at(plan_.outputs.front()).extent == Extent::kStat) {
      store_row_statistic("row");
      return close();
    }
    tile_loop("0", "reduceLength_", plan_.outputs,
              [&](const std::string& count) { write_outputs("base + start", count); });
    close();
  }

  // Scalar expressions that depend on no reduction beyond `level` and were not written before.
  void scalars(int level) {
    std::vector<int> roots;
    for (const int value : needed_) {
      const IrValue& v = at(value);
      if (v.level > level || code_->is_vector(value) || is_reduction(v.prim) || written_.contains(value))
        continue;
      if (v.prim == Prim::kConst || v.prim == Prim::kInverseLength) continue;
      roots.push_back(value);
      written_.insert(value);
    }
    code_->write(roots, {}, "8");
  }

  struct OnlineSum {
    int maximum = -1, sum = -1;
  };

  // The two reductions, if they are a maximum of x and a sum of exp(x - maximum) and nothing else.
  std::optional<OnlineSum> online_sum() const {
    const auto first = reductions(1), second = reductions(2);
    if (levels_ != 2 || first.size() != 1 || second.size() != 1) return std::nullopt;
    const IrValue &maximum = at(first[0]), &sum = at(second[0]);
    if (maximum.prim != Prim::kReduceMax || sum.prim != Prim::kReduceSum) return std::nullopt;
    const IrValue& power = at(sum.a);
    if (power.prim != Prim::kExp || at(power.a).prim != Prim::kSub) return std::nullopt;
    if (at(power.a).a != maximum.a || at(power.a).b != first[0]) return std::nullopt;
    return OnlineSum{first[0], second[0]};
  }

  // Maximum and sum in one pass: whenever the maximum grows, the sum so far shrinks by exp(old - new).
  void online_pass(int maximum, int sum) {
    const std::string m = fmt::format("s{}", maximum), s = fmt::format("s{}", sum);
    process_.push_back(
        {indent_, {fmt::format("float {} = {};", m, initial(maximum)), initial_tags(maximum)}});
    say(fmt::format("float {} = 0.0f;", s));
    const int x = at(maximum).a;
    tile_loop("0", "reduceLength_", {x}, [&](const std::string& count) {
      code_->write({x}, {}, count);
      flush();
      say(fmt::format("const float before = {};", m));
      reduce_to_scalar(maximum, count);
      code_->know(maximum, m);
      code_->write_scalar_exp("shrink", fmt::format("before - {}", m));
      flush();
      say(fmt::format("{0} = {0} * shrink;", s));
      code_->write({at(sum).a}, {}, count);
      reduce_to_scalar(sum, count);
    });
    code_->know(maximum, m);
    code_->know(sum, s);
  }

  void row_pass(int level, const std::string& begin, const std::string& end) {
    const auto found = reductions(level);
    const bool in_vector = book_.is("sched.accumulate", "vector");
    for (const int value : found) {
      if (in_vector) {
        code_->fill(fmt::format("acc{}", value), initial(value), "tileLength_");
        accumulators_.insert(value);
      } else {
        process_.push_back(
            {indent_, {fmt::format("float s{} = {};", value, initial(value)), initial_tags(value)}});
      }
    }
    flush();
    std::vector<int> sources;
    for (const int value : found) sources.push_back(at(value).a);
    tile_loop(begin, end, sources, [&](const std::string& count) {
      code_->write(sources, {}, count);
      for (const int value : found) in_vector ? accumulate(value, count) : reduce_to_scalar(value, count);
      flush();
    });
    if (in_vector)
      for (const int value : found) reduce_accumulator(value);
    for (const int value : found) code_->know(value, fmt::format("s{}", value));
  }

  std::string initial(int value) {
    const Prim prim = at(value).prim;
    if (prim == Prim::kReduceSum || (start_matters(value) && book_.is("reduce.initial", "zero")))
      return "0.0f";
    return prim == Prim::kReduceMax ? "-3.40282347e+38f" : "3.40282347e+38f";
  }
  std::vector<std::string> initial_tags(int value) const {
    return at(value).prim == Prim::kReduceSum || !start_matters(value)
               ? std::vector<std::string>{}
               : std::vector<std::string>{"reduce.initial"};
  }

  // A maximum that is only subtracted from its elements (softmax) may be any number near them.
  bool start_matters(int value) const {
    if (std::find(plan_.outputs.begin(), plan_.outputs.end(), value) != plan_.outputs.end()) return true;
    return std::any_of(needed_.begin(), needed_.end(), [&](int user) {
      const IrValue& v = at(user);
      return v.a == value || (v.b == value && v.prim != Prim::kSub);
    });
  }

  static Prim combining(Prim reduction) {
    return reduction == Prim::kReduceSum   ? Prim::kAdd
           : reduction == Prim::kReduceMax ? Prim::kMax
                                           : Prim::kMin;
  }

  void accumulate(int value, const std::string& count) {
    const std::string acc = fmt::format("acc{}", value);
    code_->two_vectors(combining(at(value).prim), acc, acc, code_->name_of(at(value).a), count);
    flush();
  }

  void reduce_call(int value, const std::string& source, const std::string& count) {
    const Prim prim = at(value).prim;
    const std::string construct = prim == Prim::kReduceSum   ? "reduce.sum"
                                  : prim == Prim::kReduceMax ? "reduce.max"
                                                             : "reduce.min";
    const std::string name = prim == Prim::kReduceSum   ? "ReduceSum"
                             : prim == Prim::kReduceMax ? "ReduceMax"
                                                        : "ReduceMin";
    const std::string form = book_.form(construct);
    reduces_in_row_ = true;
    std::vector<std::string> tags = {construct, "reduce.count"};
    for (const auto& tag : vector_tags_) tags.push_back(tag);
    if (form == "with_work")
      return say(fmt::format("AscendC::{}(reducedLocal, {}, workLocal, {});", name, source, count), tags);
    if (form == "no_work")
      return say(fmt::format("AscendC::{}(reducedLocal, {}, {});", name, source, count), tags);
    say(fmt::format("AscendC::{}(reducedLocal, {}, {});", form, source, count), tags);
  }

  std::string read_reduced() {
    return book_.is("read.scalar", "get_value") ? "reducedLocal.GetValue(0)" : "reducedLocal[0]";
  }

  void reduce_to_scalar(int value, const std::string& count) {
    flush();
    reduce_call(value, code_->name_of(at(value).a),
                book_.is("reduce.count", "current") ? count : "tileLength_");
    const std::string part = fmt::format("part{}", value), total = fmt::format("s{}", value);
    say(fmt::format("const float {} = {};", part, read_reduced()), {"read.scalar"});
    const Prim prim = at(value).prim;
    if (prim == Prim::kReduceSum) return say(fmt::format("{0} = {0} + {1};", total, part));
    say(fmt::format("{0} = {1} {2} {0} ? {1} : {0};", total, part, prim == Prim::kReduceMax ? ">" : "<"));
  }

  void reduce_accumulator(int value) {
    reduce_call(value, fmt::format("acc{}", value), "tileLength_");
    say(fmt::format("float s{} = {};", value, read_reduced()), {"read.scalar"});
  }

  void store_row_statistic(const std::string& place) {
    const int value = plan_.outputs.front();
    say("AscendC::LocalTensor<float> y = outQueue_.AllocTensor<float>();");
    code_->fill("y", code_->name_of(value), "8");
    flush();
    store(place, "1");
  }

  // for (start...) { load; compute; free }: the loop that every pass is made of.
  template <typename Compute>
  void tile_loop(const std::string& begin, const std::string& end, const std::vector<int>& roots,
                 Compute compute) {
    open(fmt::format("for (uint64_t start = {}; start < {}; start += tileLength_) {{", begin, end));
    count_line(end, "start");
    const auto reads = inputs_of(roots);
    const bool flat = plan_.loop == LoopForm::kFlat || splits_row();
    for (const int value : reads)
      load(value, flat || at(value).extent == Extent::kRow ? "start" : "base + start");
    compute("count");
    for (const int value : reads) free_input(value);
    close();
    code_->forget_slots();
  }

  void count_line(const std::string& end, const std::string& start) {
    if (book_.is("tail.length", "remainder"))
      return say(fmt::format("const uint32_t count = {0} - {1} < tileLength_ ? static_cast<uint32_t>({0} - "
                             "{1}) : tileLength_;",
                             end, start),
                 {"tail.length"});
    say("const uint32_t count = tileLength_;", {"tail.length"});
  }

  void load(int value, const std::string& offset) {
    const int input = at(value).input;
    if (queued()) {
      say(fmt::format("Load(inQueue{0}_, in{0}Gm_, {1}, count);", input, offset));
      say(fmt::format("AscendC::LocalTensor<float> x{0} = inQueue{0}_.DeQue<float>();", input));
    } else {
      say(fmt::format("AscendC::LocalTensor<float> x{0} = Load(inQueue{0}_, in{0}Gm_, {1}, count);", input,
                      offset),
          {"queue.sync"});
    }
    code_->know(value, fmt::format("x{}", input));
  }

  void free_input(int value) {
    if (book_.is("queue.free", "freed"))
      say(fmt::format("inQueue{0}_.FreeTensor(x{0});", at(value).input), {"queue.free"});
  }

  void write_outputs(const std::string& offset, const std::string& count) {
    const int value = plan_.outputs.front();
    say("AscendC::LocalTensor<float> y = outQueue_.AllocTensor<float>();");
    code_->write({value}, {{value, "y"}}, count);
    flush();
    store(offset, count);
  }

  void store(const std::string& offset, const std::string& count) {
    if (queued()) {
      say("outQueue_.EnQue(y);", {"queue.sync"});
      return say(fmt::format("Store({}, {});", offset, count));
    }
    say(fmt::format("Store(y, {}, {});", offset, count), {"queue.sync"});
  }

  void inner_body() {
    open("for (uint64_t item = first_; item < end_; ++item) {");
    say("const uint64_t outer = item / columnTiles_;");
    say("const uint64_t column = item % columnTiles_ * tileLength_;");
    count_line("innerLength_", "column");
    say("const uint64_t base = outer * reduceLength_ * innerLength_ + column;");
    for (int level = 1; level <= levels_; ++level) inner_pass(level);
    if (at(plan_.outputs.front()).extent == Extent::kStat) {
      store_inner_statistic();
    } else {
      inner_loop(plan_.outputs, [&](const std::string& count) {
        const int value = plan_.outputs.front();
        say("AscendC::LocalTensor<float> y = outQueue_.AllocTensor<float>();");
        code_->write({value}, {{value, "y"}}, count);
        flush();
        store("base + r * innerLength_", count);
      });
    }
    close();
  }

  void inner_pass(int level) {
    const auto found = reductions(level);
    std::vector<int> sources;
    for (const int value : found) {
      accumulators_.insert(value);
      code_->fill(fmt::format("acc{}", value), initial(value), "count");
      if (!initial_tags(value).empty()) vector_tags_.push_back("reduce.initial");
      flush();
      if (!initial_tags(value).empty()) vector_tags_.pop_back();
      sources.push_back(at(value).a);
    }
    inner_loop(sources, [&](const std::string& count) {
      code_->write(sources, {}, count);
      for (const int value : found) accumulate(value, count);
    });
    for (const int value : found) code_->know(value, fmt::format("acc{}", value));
    statistics(level);
  }

  // Statistics that later loops or the output read go to tensors of their own.
  void statistics(int level) {
    std::vector<int> roots;
    std::map<int, std::string> into;
    for (const int value : needed_) {
      const IrValue& v = at(value);
      if (v.extent != Extent::kStat || is_reduction(v.prim) || v.level != level || !read_outside(value))
        continue;
      roots.push_back(value);
      into[value] = fmt::format("acc{}", value);
      accumulators_.insert(value);
    }
    code_->write(roots, into, "count");
    flush();
    code_->forget_slots();
  }

  bool read_outside(int value) const {
    if (std::find(plan_.outputs.begin(), plan_.outputs.end(), value) != plan_.outputs.end()) return true;
    return std::any_of(needed_.begin(), needed_.end(), [&](int user) {
      const IrValue& v = at(user);
      return (v.a == value || v.b == value) && (v.extent != Extent::kStat || v.level != at(value).level);
    });
  }

  void store_inner_statistic() {
    const int value = plan_.outputs.front();
    say("AscendC::LocalTensor<float> y = outQueue_.AllocTensor<float>();");
    const std::string& spelled = book_.form("scalar.add");
    process_.push_back({indent_,
                        {fmt::format("AscendC::{}(y, {}, 0.0f, count);",
                                     spelled == "Add_scalar" ? "Add" : spelled, code_->name_of(value)),
                         {"scalar.add"}}});
    store("outer * innerLength_ + column", "count");
  }

  template <typename Compute>
  void inner_loop(const std::vector<int>& roots, Compute compute) {
    open("for (uint64_t r = 0; r < reduceLength_; ++r) {");
    const auto reads = inputs_of(roots);
    for (const int value : reads) load(value, "base + r * innerLength_");
    compute("count");
    for (const int value : reads) free_input(value);
    close();
    code_->forget_slots();
  }

  // --- the rest of the class
  // ------------------------------------------------------------------------------------------
  KernelNeeds needs() {
    KernelNeeds found;
    found.loop = plan_.loop;
    found.input_queues = static_cast<int>(inputs_.size());
    found.output_queues = 1;
    found.depth = book_.is("sched.buffers", "double") ? 2 : 1;
    found.plain_tiles = code_->slots() + static_cast<int>(accumulators_.size()) + (reduces_in_row_ ? 1 : 0);
    found.inverse_length = inverse_length_;
    found.splits_row = splits_row();
    found.meetings = meetings_;
    return found;
  }

  std::string parameters() const {
    std::string text;
    for (std::size_t i = 0; i < plan_.input_names.size(); ++i) text += fmt::format("GM_ADDR in{}, ", i);
    return text + (meetings_ > 0 ? "GM_ADDR out, GM_ADDR workspace" : "GM_ADDR out");
  }

  std::vector<std::string> lengths() const {
    std::vector<std::string> names = {"units", "unitsPerBlock"};
    if (plan_.loop != LoopForm::kFlat) names.push_back("reduceLength");
    if (plan_.loop == LoopForm::kInner) {
      names.push_back("innerLength");
      names.push_back("columnTiles");
    }
    return names;
  }

  std::string init_text() {
    std::string text = line(2, "template <typename Tiling>");
    text +=
        line(2, fmt::format("__aicore__ inline void Init(AscendC::TPipe* pipe, {}, const Tiling& tiling) {{",
                            parameters()));
    if (plan_.loop != LoopForm::kFlat) text += line(4, "reduceLength_ = tiling.reduceLength;");
    if (plan_.loop == LoopForm::kInner) {
      text += line(4, "innerLength_ = tiling.innerLength;");
      text += line(4, "columnTiles_ = tiling.columnTiles;");
    }
    text += line(4, "tileLength_ = tiling.tileLength;");
    if (inverse_length_) text += inverse_length_text();
    text += split_text();
    for (const int value : inputs_) {
      const int i = at(value).input;
      text += line(4, fmt::format("in{0}Gm_.SetGlobalBuffer((__gm__ float*)in{0});", i));
      text +=
          line(4, fmt::format("pipe->InitBuffer(inQueue{}_, {}, tileLength_ * sizeof(float));", i, depth()),
               buffer_tags());
    }
    text += line(4, "outGm_.SetGlobalBuffer((__gm__ float*)out);");
    text += line(4, fmt::format("pipe->InitBuffer(outQueue_, {}, tileLength_ * sizeof(float));", depth()),
                 buffer_tags());
    if (meetings_ > 0) {
      text += line(4, "partsGm_.SetGlobalBuffer((__gm__ float*)workspace);");
      text += line(4, "blocks_ = static_cast<uint32_t>(AscendC::GetBlockNum());");
    }
    text += temporaries_text();
    return text + "  }\n\n";
  }

  int depth() { return book_.is("sched.buffers", "double") ? 2 : 1; }

  std::vector<std::string> buffer_tags() {
    std::vector<std::string> tags;
    if (plan_.loop == LoopForm::kRows) tags.push_back("row.long");
    if (book_.is("sched.tile", "ub_max") &&
        !(plan_.loop == LoopForm::kRows && book_.is("row.long", "whole_row")))
      tags.push_back("ub.budget");
    return tags;
  }

  std::string inverse_length_text() {
    if (book_.is("mean.factor", "host_float"))
      return line(4, "inverseLength_ = tiling.inverseLength;", {"mean.factor"});
    return line(4, "inverseLength_ = static_cast<float>(static_cast<int32_t>(1 / reduceLength_));",
                {"mean.factor"});
  }

  std::string split_text() {
    if (!many_blocks()) return line(4, "first_ = 0;") + line(4, "end_ = tiling.units;");
    std::string text = line(4, "first_ = AscendC::GetBlockIdx() * tiling.unitsPerBlock;", {"block.split"});
    text += line(4, "end_ = first_ + tiling.unitsPerBlock;", {"block.split"});
    if (book_.is("block.split", "ceil_clamped"))
      text += line(4, "if (end_ > tiling.units) end_ = tiling.units;", {"block.split"});
    return text;
  }

  std::string temporaries_text() {
    std::string text;
    const int slots = code_->slots();
    if (slots > 0) {
      text += line(4, fmt::format("pipe->InitBuffer(tempBuffer_, {} * tileLength_ * sizeof(float));", slots),
                   buffer_tags());
      for (int i = 0; i < slots; ++i)
        text += line(
            4, i == 0 ? "t0 = tempBuffer_.Get<float>();" : fmt::format("t{0} = t0[{0} * tileLength_];", i));
    }
    for (const int value : accumulators_) {
      text += line(4, fmt::format("pipe->InitBuffer(accBuffer{}_, tileLength_ * sizeof(float));", value),
                   buffer_tags());
      text += line(4, fmt::format("acc{0} = accBuffer{0}_.Get<float>();", value));
    }
    if (reduces_in_row_) {
      text += line(4, "pipe->InitBuffer(workBuffer_, tileLength_ * sizeof(float));", buffer_tags());
      text += line(4, "workLocal = workBuffer_.Get<float>();");
      text += line(4, "pipe->InitBuffer(reducedBuffer_, 32);");
      text += line(4, "reducedLocal = reducedBuffer_.Get<float>();");
    }
    if (code_->needs_scalar_buffer()) {
      text += line(4, "pipe->InitBuffer(scalarBuffer_, 32);");
      text += line(4, "scalarLocal = scalarBuffer_.Get<float>();");
    }
    return text;
  }

  std::string helpers_text() { return load_text() + "\n" + store_text() + "\n"; }

  std::string load_text() {
    const bool queue = queued();
    std::string text =
        "  using InQueue = AscendC::TQue<AscendC::TPosition::VECIN, 1>;\n  using OutQueue = "
        "AscendC::TQue<AscendC::TPosition::VECOUT, 1>;\n\n";
    text += line(2, fmt::format("__aicore__ inline {} Load(InQueue& queue, AscendC::GlobalTensor<float>& "
                                "source, uint64_t offset, uint32_t count) {{",
                                queue ? "void" : "AscendC::LocalTensor<float>"));
    text += line(4, "AscendC::LocalTensor<float> local = queue.AllocTensor<float>();", {"queue.free"});
    text += copy_in_text();
    text += queue ? line(4, "queue.EnQue(local);", {"queue.sync"}) : line(4, "return local;");
    return text + "  }\n";
  }

  std::string copy_in_text() {
    const std::string form = book_.form("copy.tail");
    if (form == "count")
      return line(4, "AscendC::DataCopy(local, source[offset], count);", access_tags({"copy.tail"}));
    if (form == "rounded_up")
      return line(4, "AscendC::DataCopy(local, source[offset], (count + 7) / 8 * 8);",
                  access_tags({"copy.tail"}));
    std::string text = length_text();
    if (book_.is("copy.pad_params", "none"))
      return text + line(4, "AscendC::DataCopyPad(local, source[offset], params);",
                         access_tags({"copy.pad_params"}));
    text += line(4, "AscendC::DataCopyPadExtParams<float> padding{false, 0, 0, 0.0f};", {"copy.pad_params"});
    return text + line(4, "AscendC::DataCopyPad(local, source[offset], params, padding);",
                       access_tags({"copy.pad_params"}));
  }

  std::string length_text() {
    const char* length =
        book_.is("copy.length_unit", "bytes") ? "static_cast<uint32_t>(count * sizeof(float))" : "count";
    return line(4, fmt::format("AscendC::DataCopyExtParams params{{1, {}, 0, 0, 0}};", length),
                {"copy.length_unit"});
  }

  std::string store_text() {
    const bool queue = queued();
    std::string text =
        line(2, fmt::format("__aicore__ inline void Store({}uint64_t offset, uint32_t count) {{",
                            queue ? "" : "AscendC::LocalTensor<float> local, "));
    if (queue) text += line(4, "AscendC::LocalTensor<float> local = outQueue_.DeQue<float>();");
    const std::string form = book_.form("copy.tail");
    if (form == "count") {
      text += line(4, "AscendC::DataCopy(outGm_[offset], local, count);", access_tags({"copy.tail"}));
    } else if (form == "rounded_up") {
      text += line(4, "AscendC::DataCopy(outGm_[offset], local, (count + 7) / 8 * 8);",
                   access_tags({"copy.tail"}));
    } else {
      text += length_text();
      const bool padded = book_.is("copy.out_params", "with_pad");
      if (padded)
        text +=
            line(4, "AscendC::DataCopyPadExtParams<float> padding{false, 0, 0, 0.0f};", {"copy.out_params"});
      text += line(
          4, fmt::format("AscendC::DataCopyPad(outGm_[offset], local, params{});", padded ? ", padding" : ""),
          access_tags({"copy.out_params"}));
    }
    text += line(4, "outQueue_.FreeTensor(local);");
    return text + "  }\n";
  }

  std::string members_text() {
    std::string text;
    for (const int value : inputs_) {
      text += line(2, fmt::format("AscendC::GlobalTensor<float> in{}Gm_;", at(value).input));
      text += line(2, fmt::format("InQueue inQueue{}_;", at(value).input));
    }
    text += "  AscendC::GlobalTensor<float> outGm_;\n  OutQueue outQueue_;\n";
    const auto buffer = [&](const std::string& name) {
      text += line(2, fmt::format("AscendC::TBuf<AscendC::TPosition::VECCALC> {};", name));
    };
    const auto tensor = [&](const std::string& name) {
      text += line(2, fmt::format("AscendC::LocalTensor<float> {};", name));
    };
    if (code_->slots() > 0) buffer("tempBuffer_");
    for (int i = 0; i < code_->slots(); ++i) tensor(fmt::format("t{}", i));
    for (const int value : accumulators_) {
      buffer(fmt::format("accBuffer{}_", value));
      tensor(fmt::format("acc{}", value));
    }
    if (reduces_in_row_) {
      buffer("workBuffer_");
      buffer("reducedBuffer_");
      tensor("workLocal");
      tensor("reducedLocal");
    }
    if (code_->needs_scalar_buffer()) {
      buffer("scalarBuffer_");
      tensor("scalarLocal");
    }
    if (meetings_ > 0) text += "  AscendC::GlobalTensor<float> partsGm_;\n  uint32_t blocks_ = 1;\n";
    text += "  uint64_t first_ = 0, end_ = 0;\n  uint32_t tileLength_ = 0;\n";
    if (plan_.loop != LoopForm::kFlat) text += "  uint64_t reduceLength_ = 0;\n";
    if (plan_.loop == LoopForm::kInner) text += "  uint64_t innerLength_ = 0, columnTiles_ = 0;\n";
    if (inverse_length_) text += "  float inverseLength_ = 0.0f;\n";
    return text;
  }

  std::string entry_text() {
    std::string arguments;
    for (std::size_t i = 0; i < plan_.input_names.size(); ++i) arguments += fmt::format("in{}, ", i);
    std::string text = fmt::format("extern \"C\" __global__ __aicore__ void {}({}, GM_ADDR tiling) {{\n", op_,
                                   parameters() + (meetings_ > 0 ? "" : ", GM_ADDR workspace"));
    if (meetings_ > 0) text += "  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);\n";
    text += "  GET_TILING_DATA(tilingData, tiling);\n  AscendC::TPipe pipe;\n";
    text += fmt::format(
        "  {}Kernel kernel;\n  kernel.Init(&pipe, {}out, {}tilingData);\n  kernel.Process();\n}}\n", camel_,
        arguments, meetings_ > 0 ? "workspace, " : "");
    return text;
  }

  std::string op_, camel_;
  ChoiceBook& book_;
  KernelPlan plan_;
  std::set<int> needed_, written_, accumulators_;
  std::vector<int> inputs_;
  int levels_ = 0, indent_ = 0, meetings_ = 0;
  bool inverse_length_ = false, reduces_in_row_ = false;
  std::optional<VectorCode> code_;
  std::vector<Line> process_;
  std::vector<std::string> vector_tags_;
};

}  // namespace

std::string camel_case(std::string_view snake) {
  std::string text;
  bool upper = true;
  for (const char ch : snake) {
    if (ch == '_') {
      upper = true;
      continue;
    }
    text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(ch))) : ch;
    upper = false;
  }
  return text;
}

PrintedKernel print_kernel(const std::string& op, const KernelPlan& plan, ChoiceBook& book) {
  return KernelPrinter(op, plan, book).run();
}

}  // namespace evk
