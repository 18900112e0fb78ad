// Turns values of a plan into vector instructions and scalar expressions, by the chosen spellings.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "generate/choice_book.h"
#include "generate/kernel_ir.h"

namespace evk {

// One line of code with the constructs that decided it, most likely culprit first.
struct CodeLine {
  std::string text;
  std::vector<std::string> tags;
};

// A float literal of C++: "1.0f", "-3.40282347e+38f".
std::string float_literal(double number);

// Writes the code of one stretch of a kernel. Temporaries are slots `t0`, `t1`, ... of `count` elements.
class VectorCode {
 public:
  // `known` names values that already exist; a name in `vectors` is a LocalTensor, any other a float.
  VectorCode(const KernelPlan& plan, ChoiceBook& book, bool stats_are_vectors)
      : plan_(plan), book_(book), stats_are_vectors_(stats_are_vectors) {}

  void know(int value, std::string name) { known_[value] = std::move(name); }
  // Ends all temporaries: the values in them are no longer known.
  void forget_slots();
  // What is known now, to come back to after a second way through the same values.
  const std::map<int, std::string>& known() const { return known_; }
  void restore(std::map<int, std::string> known) {
    forget_slots();
    known_ = std::move(known);
  }
  bool is_vector(int value) const;

  // Code that makes `roots` available, each into the tensor that `into` names for it, if it does. `count` is
  // the number of elements as written in code.
  void write(const std::vector<int>& roots, const std::map<int, std::string>& into, const std::string& count);
  // The name of a value after write(); a literal for a constant.
  std::string name_of(int value) const;

  // A float `name` = e to the power of a scalar expression.
  void write_scalar_exp(const std::string& name, const std::string& argument);
  // One fill of a tensor, as the chosen form spells it.
  void fill(const std::string& tensor, const std::string& value, const std::string& count);
  // dst = a <prim> b over vectors.
  void two_vectors(Prim prim, const std::string& dst, const std::string& a, const std::string& b,
                   const std::string& count);

  std::vector<CodeLine> take_lines() { return std::exchange(lines_, {}); }
  int slots() const { return slots_; }
  bool needs_scalar_buffer() const { return needs_scalar_buffer_; }

 private:
  void say(std::string text, std::vector<std::string> tags = {});
  void need(int value, std::map<int, int>& uses) const;
  void write_value(int value, const std::string& into, const std::string& count);
  void write_scalar(int value);
  std::string scalar_expression(const IrValue& v, int value);
  std::string scalar_function(const IrValue& v, const std::string& argument);
  void say_scalar_function(const std::string& name, const IrValue& v, const std::string& argument);
  void write_vector(int value, const std::string& dst, const std::string& count);
  void vector_and_scalar(const IrValue& v, const std::string& dst, const std::string& vec,
                         const std::string& scalar, bool scalar_first, const std::string& count);
  void divide_by_scalar(const IrValue& v, const std::string& dst, const std::string& vec,
                        const std::string& scalar, const std::string& count);
  void one_vector(const IrValue& v, const std::string& dst, const std::string& src, const std::string& count);
  std::string new_slot();
  void give_back(int value);

  const KernelPlan& plan_;
  ChoiceBook& book_;
  bool stats_are_vectors_;
  std::map<int, std::string> known_;
  std::map<int, std::string> slot_of_;
  std::vector<std::string> free_;
  std::vector<CodeLine> lines_;
  int used_ = 0, slots_ = 0;
  bool needs_scalar_buffer_ = false;
};

}  // namespace evk
