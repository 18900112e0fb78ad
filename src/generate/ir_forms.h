// Writes composite primitives (activations) out by the chosen forms, until only primitives with a direct
// instruction or a named call are left.
#pragma once

#include "generate/choice_book.h"
#include "generate/kernel_ir.h"

namespace evk {

KernelPlan written_out(const KernelPlan& plan, ChoiceBook& book);

}  // namespace evk
