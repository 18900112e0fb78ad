// The text that a model is sent: template, task and context, in a fixed order of sections.
#pragma once

#include <string>

#include "base/result.h"
#include "core/context.h"
#include "core/task.h"

namespace evk {

// Templates with placeholders {{name}}; checked when loaded.
struct PromptTemplates {
  std::string draft;
  std::string refine;
};

// Reads draft.md and refine.md of `dir`. Fails if one is missing or too large, or holds a placeholder that is
// not filled in its stage; names file and placeholder.
Result<PromptTemplates> load_templates(const std::string& dir);

// Equal arguments give equal texts. Shows no case of a task (inputs, goldens, hidden or not), no value of an
// item. REQUIRES: templates from load_templates.
std::string build_prompt(const Task& task, const Context& context, const PromptTemplates& templates);

}  // namespace evk
