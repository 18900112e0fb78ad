// Resolves what a person names: a task file, a folder of task files, or one of our own suites.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/ids.h"

namespace evk {

struct SuiteEntry {
  TaskId id;                 // "<folder>/<file without .py>"
  std::string file;          // the Python file
  std::string shipped_pack;  // folder of the pack that came with the program; empty if there is none
};

// `what` is a .py file, a folder with .py files, or the name of a folder in `root`/tasks (such as "demo");
// what exists in the file system wins. In natural order: by leading number, then by name (1_, 2_, ... 100_).
// An Error names what was looked for, and the suites there are.
Result<std::vector<SuiteEntry>> resolve_suite(const std::string& what, const std::string& root);

// The entries that `only` names, in their order: a comma list of leading numbers ("47"), ranges of them
// ("19-32") and names ("softmax_rows"; with or without leading number, case and underscores at the ends being
// the same). An item that matches nothing is an Error that names the nearest task. An empty list takes all.
Result<std::vector<SuiteEntry>> select_tasks(const std::vector<SuiteEntry>& entries, const std::string& only);

}  // namespace evk
