// Reads a task pack: the folder that probe/probe.py makes of a task file (its format: probe/README.md).
#pragma once

#include <string>

#include "base/result.h"
#include "core/task.h"

namespace evk {

// The task of the pack in `folder`. Nothing in it is trusted: every field has its type and range, every
// reference of the graph points backwards, every file named is a plain file inside the folder (no link, no
// "..", no absolute path). Tensors are not read (see case.h). The Error names the file, the place in it and
// the rule.
Result<Task> read_pack(const std::string& folder);

// The same for the text of task.json; the files that it names are not looked for. `folder` becomes
// Task::folder.
Result<Task> parse_pack(const std::string& json_text, const std::string& folder);

}  // namespace evk
