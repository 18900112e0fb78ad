// The seed memory M0: API templates, practices and pitfalls, read from typed Markdown files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/memory_item.h"

namespace evk {

// One file: TOML front matter between two lines "+++", then Markdown. The keys, all required but the lists:
//   kind      "api" | "practice" | "pitfall"
//   name      "api/data_copy_pad": the kind (practice, pitfall) or "api", a slash, the file's stem
//   title     one line
//   category  "data_move", "vector", ...; a pitfall's is always "pitfall"
//   names     API names that an exact look-up finds the item by, wrong spellings included
//   static    true: every draft sees it (of an api only)
//   shows     "construct=form" that works;   avoid: "construct=form" that does not
//   answers   of a pitfall: finding codes, exactly; of a practice: bottleneck labels
// A pitfall becomes an item of kind practice with category "pitfall". Fails on anything else, naming file and
// key.
Result<MemoryItem> read_knowledge(std::string_view text, const std::string& file, const std::string& backend);

// All "*.md" files in the folders of `dir`, sorted by name, so that items numbered in this order keep their
// numbers. Fails if two files have one name, or if `dir` holds none.
Result<std::vector<MemoryItem>> load_knowledge(const std::string& dir, const std::string& backend);

}  // namespace evk
