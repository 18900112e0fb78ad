#include "generate/prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "base/check.h"
#include "generate/kernel_printer.h"

namespace evk {
namespace {

constexpr std::size_t kTemplateBytesMax = 256u << 10;
constexpr std::string_view kNothing = "(nothing)";

using Fields = std::map<std::string, std::function<std::string()>, std::less<>>;

std::string joined(const std::vector<std::string>& parts, std::string_view between = "\n\n") {
  return parts.empty() ? std::string(kNothing) : fmt::format("{}", fmt::join(parts, between));
}

std::string code_of(const std::vector<SourceFile>& files) {
  std::string text;
  for (const auto& file : files)
    text += fmt::format("```cpp title=\"{}\"\n{}{}```\n", file.path, file.text,
                        file.text.ends_with('\n') ? "" : "\n");
  return text;
}

std::string outcome_of(const MemoryItem& item) {
  if (item.kind == ItemKind::kApi || item.kind == ItemKind::kPractice) return "";
  if (item.feasible)
    return item.latency_ns ? fmt::format(", correct, {:.2f} us", *item.latency_ns / 1000)
                           : ", correct, not timed";
  return fmt::format(", failed at {}{}", item.gate.empty() ? "an unknown gate" : item.gate,
                     item.code.empty() ? "" : " with " + item.code);
}

std::string heading_of(const MemoryItem& item) {
  const std::string from = item.task ? " of " + item.task->text : "";
  return fmt::format(
      "## [{}] {}{}{}: {}", item.id.number,
      item.kind == ItemKind::kPractice && item.category == "pitfall" ? "pitfall" : name_of(item.kind), from,
      outcome_of(item), item.title);
}

std::string shown(const MemoryItem& item, bool with_code) {
  std::string text = heading_of(item);
  if (!item.text.empty()) text += "\n\n" + item.text;
  if (with_code && !item.files.empty()) text += "\n\n" + code_of(item.files);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string chosen(const Context& context, std::initializer_list<SelectedBy> by, bool with_code) {
  std::vector<std::string> parts;
  for (const auto& item : context.items)
    if (item.item && std::find(by.begin(), by.end(), item.by) != by.end())
      parts.push_back(shown(*item.item, with_code));
  return joined(parts);
}

std::string shapes_of(const Task& task) {
  std::vector<std::string> lines;
  for (const auto& set : task.shape_sets) {
    std::vector<std::string> parts;
    for (const auto& input : set.inputs)
      parts.push_back(
          fmt::format("{} {}[{}]", input.name, name_of(input.type.dtype), fmt::join(input.type.shape, ", ")));
    for (const auto& output : set.outputs)
      parts.push_back(fmt::format("-> {} {}[{}]", output.name, name_of(output.type.dtype),
                                  fmt::join(output.type.shape, ", ")));
    lines.push_back(fmt::format("* {}: {}", set.id, fmt::join(parts, ", ")));
  }
  return joined(lines, "\n");
}

std::string task_of(const Task& task) {
  std::string text = fmt::format("{} ({})", task.title.empty() ? task.name : task.title, task.category);
  if (const ShapeSet* small = task.shapes("small")) {
    std::vector<std::string> ops;
    for (const auto& node : small->graph.nodes) ops.push_back(node.op);
    text += fmt::format("\n\nOperations: {}", fmt::join(ops, ", "));
  }
  return text;
}

// A name as C++ writes it: "ln.weight" -> "ln_weight".
std::string spelled(std::string name) {
  for (auto& ch : name)
    if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return name;
}

std::string arguments_of(const Task& task) {
  std::string text;
  const ShapeSet* small = task.shapes("small");
  if (small) {
    for (const auto& input : small->inputs) text += fmt::format("GM_ADDR {}, ", spelled(input.name));
    for (const auto& output : small->outputs) text += fmt::format("GM_ADDR {}, ", spelled(output.name));
  }
  return text + "GM_ADDR workspace, GM_ADDR tiling";
}

std::string start_of(const Context& context) {
  const MemoryItem* start = context.start();
  if (!start) return std::string(kNothing);
  std::string text = shown(*start, true);
  if (!start->bottleneck.empty()) text += fmt::format("\n\nBottleneck: {}", start->bottleneck);
  return text;
}

std::string children_of(const Context& context) {
  std::vector<std::string> lines;
  const MemoryItem* start = context.start();
  for (const auto* child : context.chosen(SelectedBy::kChild)) {
    const MemoryItem& item = *child->item;
    std::string line = fmt::format("* [{}]{}", item.id.number, outcome_of(item));
    if (start && start->latency_ns && item.latency_ns && *item.latency_ns > 0)
      line += fmt::format(" ({:.2f} times as fast)", *start->latency_ns / *item.latency_ns);
    lines.push_back(line + (item.hypothesis.empty() ? "" : ": " + item.hypothesis));
  }
  return joined(lines, "\n");
}

// All fields; a template uses those of its stage.
Fields fields_of(const Task& task, const Context& context) {
  using enum SelectedBy;
  return {
      {"op", [&] { return task.name; }},
      {"Op", [&] { return camel_case(task.name); }},
      {"arguments", [&] { return arguments_of(task); }},
      {"task", [&] { return task_of(task); }},
      {"shapes", [&] { return shapes_of(task); }},
      {"reference", [&] { return task.source_text.substr(0, 16384); }},
      {"tolerance",
       [&] { return fmt::format("atol {:g} and rtol {:g}", task.tolerance.atol, task.tolerance.rtol); }},
      {"apis",
       [&] {
         return chosen(context, {kApiStatic, kApiExact, kApiSemantic}, false);
       }},
      {"items",
       [&] {
         return chosen(context, {kGreedy, kExplore}, true);
       }},
      {"last_attempt", [&] { return chosen(context, {kPinned}, true); }},
      {"start", [&] { return start_of(context); }},
      {"children", [&] { return children_of(context); }},
      {"variants", [&] { return chosen(context, {kVariant}, true); }},
  };
}

// Calls `field` with each placeholder's name and `plain` with the text between; both in order.
template <typename Plain, typename Field>
void walk(std::string_view text, Plain plain, Field field) {
  while (true) {
    const auto begin = text.find("{{");
    const auto end = begin == std::string_view::npos ? begin : text.find("}}", begin);
    if (end == std::string_view::npos) break;
    plain(text.substr(0, begin));
    field(text.substr(begin + 2, end - begin - 2));
    text.remove_prefix(end + 2);
  }
  plain(text);
}

Result<std::string> load_template(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || text.empty())
    return failure(fmt::format("{}: cannot be read, or is empty", path), Retry::kAfterFix);
  if (text.size() > kTemplateBytesMax)
    return failure(fmt::format("{}: larger than {} bytes", path, kTemplateBytesMax), Retry::kAfterFix);
  const Fields known = fields_of({}, {});
  std::string wrong;
  walk(
      text, [](std::string_view) {},
      [&](std::string_view name) {
        if (!known.contains(name)) wrong = name;
      });
  if (!wrong.empty())
    return failure(fmt::format("{}: unknown placeholder \"{}\"", path, wrong), Retry::kAfterFix);
  return text;
}

}  // namespace

Result<PromptTemplates> load_templates(const std::string& dir) {
  PromptTemplates templates;
  EVK_TRY(templates.draft, load_template(dir + "/draft.md"));
  EVK_TRY(templates.refine, load_template(dir + "/refine.md"));
  return templates;
}

std::string build_prompt(const Task& task, const Context& context, const PromptTemplates& templates) {
  const Fields fields = fields_of(task, context);
  std::string prompt;
  walk(
      context.stage == Stage::kDraft ? templates.draft : templates.refine,
      [&](std::string_view text) { prompt += text; },
      [&](std::string_view name) {
        const auto field = fields.find(name);
        EVK_CHECK(field != fields.end(), "unknown placeholder {}", name);
        prompt += field->second();
      });
  return prompt;
}

}  // namespace evk
