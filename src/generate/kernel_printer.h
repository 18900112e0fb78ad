// Prints an operator project from a plan: host tiling, host registration and kernel, by the forms that a book
// chooses.
#pragma once

#include <string>
#include <vector>

#include "core/candidate.h"
#include "generate/choice_book.h"
#include "generate/kernel_ir.h"

namespace evk {

// What the host code must know about the printed kernel.
struct KernelNeeds {
  LoopForm loop = LoopForm::kFlat;
  int input_queues = 0, output_queues = 0;  // each of `depth` tiles
  int plain_tiles = 0;                      // temporaries, accumulators, statistics, work space
  int depth = 1;
  bool inverse_length = false;
  bool splits_row = false;  // blocks share the one row, and meet in the workspace
  int meetings = 0;         // reductions whose parts meet there
};

struct PrintedKernel {
  std::string text;
  KernelNeeds needs;
};

// The name in CamelCase, as OpDef and tiling class want it: "layer_norm" -> "LayerNorm".
std::string camel_case(std::string_view snake);

PrintedKernel print_kernel(const std::string& op, const KernelPlan& plan, ChoiceBook& book);

// The three files of the project, sorted by path. `op` is a C++ identifier in snake case.
std::vector<SourceFile> print_project(const std::string& op, const KernelPlan& plan, ChoiceBook& book);

}  // namespace evk
