#include "task/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "task/safetensors.h"

namespace evk {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kJsonBytesMax = 16 << 20;
constexpr int kNestingMax = 24;
constexpr int kArgumentNestingMax = 8;
constexpr std::size_t kRankMax = 8;
constexpr std::int64_t kElementsMax = std::int64_t{1} << 40;
constexpr std::size_t kTextMax = 1 << 20;

// A broken rule, at a place of the document. Caught in parse_pack.
struct Bad {
  std::string where, rule;
};

// A value of the document with its place, so that every complaint can name it.
class Node {
 public:
  Node(const json& value, std::string where) : value_(value), where_(std::move(where)) {}

  [[noreturn]] void bad(const std::string& rule) const { throw Bad{where_, rule}; }
  void require(bool holds, const char* rule) const {
    if (!holds) bad(rule);
  }

  bool has(const char* key) const { return value_.is_object() && value_.contains(key); }
  Node at(const char* key) const {
    require(value_.is_object(), "must be an object");
    const auto found = value_.find(key);
    if (found == value_.end()) bad(fmt::format("needs the key \"{}\"", key));
    return Node(*found, where_ + "." + key);
  }

  std::vector<Node> list(std::size_t most) const {
    require(value_.is_array(), "must be a list");
    if (value_.size() > most) bad(fmt::format("has more than {} entries", most));
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < value_.size(); ++i)
      nodes.emplace_back(value_[i], fmt::format("{}[{}]", where_, i));
    return nodes;
  }

  std::string text(std::size_t most = 200) const {
    require(value_.is_string(), "must be a string");
    const auto& found = value_.get_ref<const std::string&>();
    if (found.size() > most) bad(fmt::format("is longer than {} bytes", most));
    return found;
  }
  // One line without control characters, at least one character.
  std::string label(std::size_t most = 200) const {
    const std::string found = text(most);
    const bool clean = std::none_of(found.begin(), found.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    require(!found.empty() && clean, "must be a line of text without control characters");
    return found;
  }

  std::int64_t integer(std::int64_t low, std::int64_t high) const {
    require(value_.is_number_integer(), "must be an integer");
    const bool fits =
        !value_.is_number_unsigned() || value_.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
    if (!fits || value_.get<std::int64_t>() < low || value_.get<std::int64_t>() > high)
      bad(fmt::format("must lie in [{}, {}]", low, high));
    return value_.get<std::int64_t>();
  }
  double number(double low, double high) const {
    require(value_.is_number(), "must be a number");
    const double found = value_.get<double>();
    if (!(found >= low && found <= high)) bad(fmt::format("must lie in [{}, {}]", low, high));
    return found;
  }
  bool truth() const {
    require(value_.is_boolean(), "must be true or false");
    return value_.get<bool>();
  }

  const json& raw() const { return value_; }
  const std::string& where() const { return where_; }

 private:
  const json& value_;
  std::string where_;
};

template <typename T>
T one_of(const Node& node, const std::map<std::string, T>& names) {
  const auto found = names.find(node.text());
  if (found == names.end()) {
    std::string all;
    for (const auto& [name, value] : names) all += (all.empty() ? "" : ", ") + name;
    node.bad("must be one of " + all);
  }
  return found->second;
}

TensorType tensor_type(const Node& node) {
  TensorType type;
  const auto dtype = dtype_named(node.at("dtype").text(16));
  if (!dtype) node.at("dtype").bad("is no known element type");
  type.dtype = *dtype;
  std::int64_t elements = 1;
  for (const Node& each : node.at("shape").list(kRankMax)) {
    const std::int64_t size = each.integer(0, kElementsMax);
    if (size != 0 && elements > kElementsMax / size) each.bad("makes more than 2^40 elements");
    elements *= size;
    type.shape.push_back(size);
  }
  return type;
}

std::string identifier(const Node& node) {
  const std::string name = node.text(128);
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  node.require(
      !name.empty() && name[0] >= 'a' && name[0] <= 'z' && std::all_of(name.begin(), name.end(), allowed),
      "must be a snake-case identifier");
  return name;
}

// A path that stays in the pack's folder whatever lies there.
std::string inner_path(const Node& node) {
  const std::string path = node.label();
  const fs::path parts(path);
  node.require(parts.is_relative() && path.find('\\') == std::string::npos, "must be a relative path");
  for (const auto& part : parts)
    node.require(!part.empty() && part != ".." && part != ".", "must not leave its folder");
  return path;
}

class GraphReader {
 public:
  GraphReader(const Node& node, const ShapeSet& set, std::size_t forward_inputs)
      : node_(node), set_(set), forward_inputs_(forward_inputs) {}

  OpGraph read() {
    for (const Node& each : node_.at("inputs").list(512)) graph_.inputs.push_back(input(each));
    for (const Node& each : node_.at("nodes").list(5000)) graph_.nodes.push_back(step(each));
    for (const Node& each : node_.at("outputs").list(16)) graph_.outputs.push_back(output(each));
    check_outputs();
    return std::move(graph_);
  }

 private:
  void remember(const Node& node, const std::string& id, std::vector<TensorType> outs) {
    node.require(!id.empty() && made_.emplace(id, std::move(outs)).second,
                 "must be an id that is not used yet");
  }

  GraphInput input(const Node& node) {
    GraphInput head;
    head.id = node.at("id").label(64);
    head.kind = one_of<GraphInputKind>(node.at("kind"), {{"input", GraphInputKind::kInput},
                                                         {"param", GraphInputKind::kParam},
                                                         {"buffer", GraphInputKind::kBuffer},
                                                         {"const", GraphInputKind::kConst}});
    head.type = tensor_type(node);
    head.index = head.kind == GraphInputKind::kInput ? forward_index(node.at("index"))
                                                     : parameter_index(node.at("name"));
    const TensorSpec& spec = set_.inputs[static_cast<std::size_t>(head.index)];
    head.name = spec.name;
    node.require(spec.type == head.type, "must have the type of the input or parameter that it names");
    remember(node, head.id, {head.type});
    return head;
  }

  int forward_index(const Node& node) const {
    return static_cast<int>(node.integer(0, static_cast<std::int64_t>(forward_inputs_) - 1));
  }

  int parameter_index(const Node& node) const {
    const std::string name = node.label();
    for (std::size_t i = forward_inputs_; i < set_.inputs.size(); ++i)
      if (set_.inputs[i].name == name) return static_cast<int>(i);
    node.bad("must name one of the parameters");
  }

  GraphNode step(const Node& node) {
    GraphNode made;
    made.op = node.at("op").label(128);
    for (const Node& each : node.at("args").list(64)) made.args.push_back(argument(each, 0));
    const Node kwargs = node.at("kwargs");
    kwargs.require(kwargs.raw().is_object() && kwargs.raw().size() <= 32,
                   "must be an object of at most 32 keys");
    for (const auto& [key, value] : kwargs.raw().items())
      made.kwargs[key] = argument(Node(value, kwargs.where() + "." + key), 0);
    for (const Node& each : node.at("outs").list(16))
      made.outs.push_back(each.raw().is_null() ? TensorType{} : tensor_type(each));
    made.id = node.at("id").label(64);
    remember(node, made.id, made.outs);
    return made;
  }

  GraphArg argument(const Node& node, int depth) const {
    node.require(depth <= kArgumentNestingMax, "nests too deep");
    const json& value = node.raw();
    if (value.is_null()) return {};
    if (value.is_boolean()) return {value.get<bool>()};
    if (value.is_number_integer()) return {node.integer(INT64_MIN, INT64_MAX)};
    if (value.is_number()) return {value.get<double>()};
    if (value.is_string()) return {node.text(256)};
    if (value.is_array()) {
      GraphArgs list;
      for (const Node& each : node.list(4096)) list.push_back(argument(each, depth + 1));
      return {std::move(list)};
    }
    if (node.has("float"))
      return {
          one_of<double>(node.at("float"), {{"inf", HUGE_VAL}, {"-inf", -HUGE_VAL}, {"nan", std::nan("")}})};
    return {reference(node)};
  }

  GraphRef reference(const Node& node) const {
    GraphRef ref{node.at("ref").label(64), 0};
    const auto found = made_.find(ref.id);
    node.require(found != made_.end(), "must refer to an input or an earlier node");
    if (node.has("index")) ref.index = static_cast<int>(node.at("index").integer(0, 15));
    node.require(static_cast<std::size_t>(ref.index) < found->second.size(),
                 "must refer to an output that its node has");
    return ref;
  }

  GraphRef output(const Node& node) const {
    if (!node.raw().is_string()) return reference(node);
    const GraphRef ref{node.label(64), 0};
    const auto found = made_.find(ref.id);
    node.require(found != made_.end() && !found->second.empty(), "must refer to an input or a node");
    return ref;
  }

  void check_outputs() const {
    node_.require(graph_.outputs.size() == set_.outputs.size(), "must have as many outputs as the shape set");
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const GraphRef& ref = graph_.outputs[i];
      node_.require(made_.at(ref.id)[static_cast<std::size_t>(ref.index)] == set_.outputs[i].type,
                    "must have outputs of the types that the shape set says");
    }
  }

  const Node& node_;
  const ShapeSet& set_;
  std::size_t forward_inputs_;
  OpGraph graph_;
  std::map<std::string, std::vector<TensorType>> made_;
};

TensorSpec forward_input(const Node& node) {
  return {node.at("name").label(), "input", node.at("precondition").label(64), tensor_type(node)};
}

TensorSpec parameter(const Node& node) {
  return {node.at("name").label(), node.at("role").label(64), "none", tensor_type(node)};
}

OutputSpec output_spec(const Node& node, std::size_t index) {
  OutputSpec spec;
  spec.name = fmt::format("out{}", index);
  spec.type = tensor_type(node);
  spec.compare = one_of<CompareBy>(
      node.at("compare"),
      {{"float", CompareBy::kFloat}, {"exact", CompareBy::kExact}, {"index_value", CompareBy::kIndexValue}});
  return spec;
}

TaskCase task_case(const Node& node) {
  TaskCase made;
  made.id = identifier(node.at("id"));
  made.hidden = one_of<bool>(node.at("visibility"), {{"public", false}, {"hidden", true}});
  made.inputs_file = inner_path(node.at("inputs"));
  made.expected_file = inner_path(node.at("expected"));
  return made;
}

TimedCase timed_case(const Node& node, std::size_t inputs) {
  TimedCase made;
  made.expected_file = inner_path(node.at("expected"));
  for (const Node& each : node.at("draws").list(512)) {
    made.draws.push_back({each.at("low").number(-1e6, 1e6), each.at("step").number(0, 1),
                          static_cast<std::uint32_t>(each.at("seed").integer(0, 0xffffffff))});
  }
  node.require(made.draws.size() == inputs, "needs a draw for every input and parameter");
  return made;
}

ShapeSet shape_set(const Node& node) {
  ShapeSet set;
  set.id = one_of<std::string>(node.at("id"), {{"small", "small"}, {"ragged", "ragged"}, {"bench", "bench"}});
  for (const Node& each : node.at("changes").list(256))
    set.changes.push_back({each.at("name").text(), each.at("from").integer(0, kElementsMax),
                           each.at("to").integer(0, kElementsMax)});
  for (const Node& each : node.at("inputs").list(64)) set.inputs.push_back(forward_input(each));
  const std::size_t forward_inputs = set.inputs.size();
  std::set<std::string> names;
  for (const Node& each : node.at("params").list(256)) {
    set.inputs.push_back(parameter(each));
    each.require(names.insert(set.inputs.back().name).second, "must have a name of its own");
  }
  for (const Node& each : node.at("outputs").list(16))
    set.outputs.push_back(output_spec(each, set.outputs.size()));
  node.require(!set.outputs.empty(), "needs an output");
  set.graph = GraphReader(node.at("graph"), set, forward_inputs).read();
  for (const Node& each : node.at("cases").list(64)) set.cases.push_back(task_case(each));
  if (node.has("timed")) set.timed = timed_case(node.at("timed"), set.inputs.size());
  return set;
}

Tolerance tolerance(const Node& node) {
  static const std::set<std::string> kClasses = {"copy",          "one_rounding", "elementwise", "sum",
                                                 "normalisation", "scan",         "composite"};
  Tolerance made;
  made.atol = node.at("atol").number(0, 1);
  made.rtol = node.at("rtol").number(0, 1);
  made.centred_rel = node.at("centred_rel").number(0, 1);
  made.op_class = node.at("op_class").text();
  node.at("op_class").require(kClasses.contains(made.op_class), "is no row of the tolerance table");
  made.reduction_length = node.at("reduction_length").integer(1, kElementsMax);
  made.transcendentals = static_cast<int>(node.at("transcendentals").integer(0, 10000));
  return made;
}

std::string sha256_text(const Node& node) {
  const std::string found = node.text(64);
  node.require(found.size() == 64 && found.find_first_not_of("0123456789abcdef") == std::string::npos,
               "must be 64 hexadecimal digits");
  return found;
}

Task task_of(const Node& root, const std::string& folder) {
  root.at("schema").integer(1, 1);
  Task task;
  task.id.text = root.at("task_id").label();
  task.name = identifier(root.at("name"));
  task.title = root.at("title").label();
  task.doc = root.at("doc").text(kTextMax);
  task.category = identifier(root.at("category"));
  task.mode = root.at("mode").label(32);
  task.source_text = root.at("source_text").text(kTextMax);
  task.source_sha256 = sha256_text(root.at("source_sha256"));
  task.tolerance = tolerance(root.at("tolerance"));
  task.structurally_constant = root.at("sensitivity").at("structurally_constant").truth();
  for (const Node& each : root.at("shape_sets").list(3)) {
    task.shape_sets.push_back(shape_set(each));
    const auto same = [&](const ShapeSet& set) { return set.id == task.shape_sets.back().id; };
    each.require(std::count_if(task.shape_sets.begin(), task.shape_sets.end(), same) == 1,
                 "must have an id of its own");
  }
  root.require(task.shapes("small") && !task.shapes("small")->cases.empty(),
               "needs a shape set \"small\" with cases");
  task.folder = folder;
  return task;
}

Result<std::string> read_text(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error)))
    return failure(path.string() + ": is no plain file; make the pack again");
  if (fs::file_size(path, error) > kJsonBytesMax)
    return failure(path.string() + ": is larger than 16 MiB; make the pack again");
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file) return failure(path.string() + ": cannot be read; check its permissions", Retry::kAfterFix);
  return text;
}

// Neither the file nor a folder on its way may be a link.
Status check_file(const fs::path& folder, const std::string& name) {
  fs::path walked = folder;
  std::error_code error;
  for (const auto& part : fs::path(name)) {
    walked /= part;
    if (fs::is_symlink(fs::symlink_status(walked, error)))
      return failure(walked.string() + ": is a link, which a pack must not hold; make the pack again");
  }
  if (!fs::is_regular_file(walked, error))
    return failure(walked.string() + ": is missing; make the pack again");
  return {};
}

}  // namespace

Result<Task> parse_pack(const std::string& json_text, const std::string& folder) {
  const auto broken = [&](const std::string& where, const std::string& rule) {
    return failure(fmt::format("{}/task.json: {} {}; make the pack again", folder, where, rule));
  };
  if (json_text.size() > kJsonBytesMax) return broken("document", "is larger than 16 MiB");
  if (!nests_at_most(json_text, kNestingMax)) return broken("document", "nests too deep");
  const json document = json::parse(json_text, nullptr, false);
  if (document.is_discarded()) return broken("document", "is no JSON");
  try {
    return task_of(Node(document, "document"), folder);
  } catch (const Bad& bad) {
    return broken(bad.where, bad.rule);
  }
}

Result<Task> read_pack(const std::string& folder) {
  EVK_TRY(const std::string text, read_text(fs::path(folder) / "task.json"));
  EVK_TRY(Task task, parse_pack(text, folder));
  for (const ShapeSet& set : task.shape_sets)
    for (const TaskCase& each : set.cases) {
      EVK_TRY_STATUS(check_file(folder, each.inputs_file));
      EVK_TRY_STATUS(check_file(folder, each.expected_file));
    }
  for (const ShapeSet& set : task.shape_sets)
    if (set.timed) EVK_TRY_STATUS(check_file(folder, set.timed->expected_file));
  return task;
}

}  // namespace evk
