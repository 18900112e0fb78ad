#include "memory/item_identity.h"

#include <fmt/format.h>

#include "base/sha256.h"

namespace evk {

std::string content_hash(const MemoryItem& item) {
  Sha256 sha;
  sha.field(name_of(item.kind));
  sha.field(item.task ? "task " + item.task->text : "name " + item.name);
  sha.field(item.backend);
  sha.field(item.title);
  sha.field(item.text);
  sha.field(item.key_text);
  sha.field(item.category);
  for (const auto& f : item.facts)
    sha.field(fmt::format("fact {}\n{}\n{}", f.choice.construct, f.choice.form, f.works));
  for (const auto& name : item.names) sha.field("documents " + name);
  for (const auto& code : item.answers) sha.field("answers " + code);
  for (const auto& file : item.files) sha.field("file " + file.path + "\n" + file.text);
  sha.field(fmt::format("{} {} {} {}", item.static_bundle, item.feasible, item.gate, item.code));
  sha.field(item.latency_ns ? fmt::format("{}", *item.latency_ns) : "");
  sha.field(item.bottleneck);
  sha.field(item.hypothesis);
  return sha.hex();
}

}  // namespace evk
