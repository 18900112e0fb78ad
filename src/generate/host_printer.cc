#include <fmt/format.h>
#include <fmt/ranges.h>

#include "generate/kernel_printer.h"

namespace evk {
namespace {

std::string tagged(int indent, const std::string& text, const std::vector<std::string>& tags = {}) {
  std::string line(static_cast<std::size_t>(indent), ' ');
  line += text;
  if (!tags.empty()) line += fmt::format("  // [{}]", fmt::join(tags, " "));
  return line + "\n";
}

struct Field {
  const char *type, *name;
};

std::vector<Field> fields_of(const KernelNeeds& needs) {
  std::vector<Field> fields = {{"uint64_t", "units"}, {"uint64_t", "unitsPerBlock"}};
  if (needs.loop != LoopForm::kFlat) fields.push_back({"uint64_t", "reduceLength"});
  if (needs.loop == LoopForm::kInner) {
    fields.push_back({"uint64_t", "innerLength"});
    fields.push_back({"uint64_t", "columnTiles"});
  }
  fields.push_back({"uint32_t", "tileLength"});
  if (needs.inverse_length) fields.push_back({"float", "inverseLength"});
  return fields;
}

class HostPrinter {
 public:
  HostPrinter(const std::string& op, const KernelPlan& plan, const KernelNeeds& needs, ChoiceBook& book)
      : op_(op), camel_(camel_case(op)), plan_(plan), needs_(needs), book_(book) {}

  std::string tiling_header() const {
    std::string guard = fmt::format("{}_TILING_H", op_);
    for (auto& ch : guard) ch = static_cast<char>(std::toupper(static_cast<unsigned char>(ch)));
    std::string text = fmt::format(
        "#ifndef {0}\n#define {0}\n\n#include \"register/tilingdata_base.h\"\n\nnamespace optiling {{\n\n",
        guard);
    text += fmt::format("BEGIN_TILING_DATA_DEF({}TilingData)\n", camel_);
    for (const auto& field : fields_of(needs_))
      text += fmt::format("  TILING_DATA_FIELD_DEF({}, {});\n", field.type, field.name);
    text += fmt::format(
        "END_TILING_DATA_DEF;\n\nREGISTER_TILING_DATA_CLASS({0}, {0}TilingData)\n\n}}  // namespace "
        "optiling\n\n#endif\n",
        camel_);
    return text;
  }

  std::string operator_source() {
    return includes() + "namespace optiling {\n\n" + tiling_function() +
           "}  // namespace optiling\n\nnamespace ge {\n\n" + infer_shape() +
           "}  // namespace ge\n\nnamespace ops {\n\n" + definition() + "}  // namespace ops\n";
  }

 private:
  std::string includes() const {
    return fmt::format(
        "#include \"{}_tiling.h\"\n#include \"register/op_def_registry.h\"\n#include "
        "\"tiling/platform/platform_ascendc.h\"\n\n",
        op_);
  }

  bool flat() const { return needs_.loop == LoopForm::kFlat; }
  bool inner() const { return needs_.loop == LoopForm::kInner; }

  std::string tiling_function() {
    std::string text = "static ge::graphStatus TilingFunc(gert::TilingContext* context) {\n";
    text += tagged(2, fmt::format("{}TilingData tiling;", camel_));
    text += sizes() + tile_length() + units() + blocks() + save();
    return text + "  return ge::GRAPH_SUCCESS;\n}\n\n";
  }

  std::string sizes() {
    std::string text;
    if (book_.is("host.shape", "storage_shape"))
      text += tagged(2,
                     fmt::format("const gert::Shape& shape = context->GetInputShape({})->GetStorageShape();",
                                 plan_.reference_input),
                     {"host.shape"});
    else
      text += tagged(
          2, fmt::format("const gert::Shape& shape = *context->GetInputShape({});", plan_.reference_input),
          {"host.shape"});
    text +=
        "  uint64_t outer = 1, reduced = 1, inner = 1;\n  for (size_t i = 0; i < shape.GetDimNum(); ++i) {\n";
    text += tagged(4, "const uint64_t size = static_cast<uint64_t>(shape.GetDim(i));");
    text += tagged(4, fmt::format("if (i < {}) outer *= size;", plan_.axis_begin));
    text += tagged(4, fmt::format("else if (i < {}) reduced *= size;", plan_.axis_end));
    return text + "    else inner *= size;\n  }\n";
  }

  bool whole_row() { return needs_.loop == LoopForm::kRows && book_.is("row.long", "whole_row"); }

  std::string tile_length() {
    const std::string tile = book_.form("sched.tile");
    std::string text;
    if (whole_row()) {
      text += tagged(2, "uint64_t tileLength = reduced;", {"row.long"});
    } else if (tile == "ub_max") {
      text += tagged(2, "uint64_t ubBytes = 0;");
      text += tagged(2, "auto memory = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());");
      text += tagged(2, "memory.GetCoreMemSize(platform_ascendc::CoreMemType::UB, ubBytes);");
      text += tagged(
          2, fmt::format("uint64_t tileLength = (ubBytes - 1024) / ({} * sizeof(float));", tiles_in_ub()),
          {"ub.budget"});
    } else {
      return text + tagged(2, fmt::format("const uint64_t tileLength = {};", tile.substr(1)));
    }
    if (!book_.is("buffer.align", "rounded_up")) return text;
    if (whole_row()) return text + tagged(2, "tileLength = (tileLength + 63) / 64 * 64;", {"buffer.align"});
    return text + tagged(2, "tileLength = tileLength / 64 * 64;", {"buffer.align"});
  }

  int tiles_in_ub() {
    if (book_.is("ub.budget", "inputs_only")) return needs_.input_queues;
    return (needs_.input_queues + needs_.output_queues) * needs_.depth + needs_.plain_tiles;
  }

  std::string units() const {
    std::string text;
    if (flat() || needs_.splits_row) return tagged(2, "const uint64_t units = outer * reduced * inner;");
    if (!inner()) return tagged(2, "const uint64_t units = outer * inner;");
    text += tagged(2, "const uint64_t columnTiles = (inner + tileLength - 1) / tileLength;");
    return text + tagged(2, "const uint64_t units = outer * columnTiles;");
  }

  std::string blocks() {
    const std::string form = book_.form("sched.blocks");
    if (form == "one")
      return tagged(2, "const uint64_t blocks = 1;") + tagged(2, "const uint64_t unitsPerBlock = units;");
    std::string text;
    if (form == "eight") {
      text += tagged(2, "uint64_t blocks = 8;");
    } else {
      text += tagged(2, "auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());");
      text += tagged(2, fmt::format("uint64_t blocks = platform.{}();", book_.form("host.core_count")),
                     {"host.core_count"});
    }
    if (book_.is("block.split", "floor"))
      return text + tagged(2, "const uint64_t unitsPerBlock = units / blocks;", {"block.split"});
    const bool shared = flat() || needs_.splits_row;
    text += tagged(
        2, fmt::format("{}uint64_t unitsPerBlock = (units + blocks - 1) / blocks;", shared ? "" : "const "),
        {"block.split"});
    if (shared) text += tagged(2, "unitsPerBlock = (unitsPerBlock + 127) / 128 * 128;", {"block.split"});
    if (book_.is("block.split", "ceil_unclamped")) return text;
    return text + tagged(2, "blocks = (units + unitsPerBlock - 1) / unitsPerBlock;", {"block.split"});
  }

  std::string save() {
    std::string text;
    for (const auto& field : fields_of(needs_)) {
      const std::string name = field.name;
      std::string value = name;
      if (name == "reduceLength") value = "reduced";
      if (name == "innerLength") value = "inner";
      if (name == "tileLength") value = "static_cast<uint32_t>(tileLength)";
      if (name == "inverseLength") value = "1.0f / static_cast<float>(reduced)";
      text += tagged(2, fmt::format("tiling.set_{}({});", name, value));
    }
    text += tagged(2, "context->SetBlockDim(static_cast<uint32_t>(blocks));");
    text += tagged(2,
                   "tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), "
                   "context->GetRawTilingData()->GetCapacity());");
    if (book_.is("host.tiling_size", "set_data_size"))
      text +=
          tagged(2, "context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());", {"host.tiling_size"});
    text += tagged(2, "size_t* workspaces = context->GetWorkspaceSizes(1);");
    if (needs_.meetings > 0)
      return text + tagged(2, fmt::format("workspaces[0] = blocks * {};", 32 * needs_.meetings));
    return text + tagged(2, "workspaces[0] = 0;");
  }

  bool statistic() const {
    return plan_.values[static_cast<std::size_t>(plan_.outputs.front())].extent == Extent::kStat;
  }

  std::string infer_shape() const {
    std::string text = "static ge::graphStatus InferShape(gert::InferShapeContext* context) {\n";
    text += tagged(
        2, fmt::format("const gert::Shape* from = context->GetInputShape({});", plan_.reference_input));
    text += tagged(2, "gert::Shape* to = context->GetOutputShape(0);");
    if (!statistic()) {
      text += tagged(2, "*to = *from;");
    } else {
      text += tagged(2, "to->SetDimNum(0);");
      text += tagged(2, "for (size_t i = 0; i < from->GetDimNum(); ++i) {");
      text +=
          tagged(4, fmt::format("const bool reduced = i >= {} && i < {};", plan_.axis_begin, plan_.axis_end));
      text += plan_.keeps_dims.front() ? tagged(4, "to->AppendDim(reduced ? 1 : from->GetDim(i));")
                                       : tagged(4, "if (!reduced) to->AppendDim(from->GetDim(i));");
      text += "  }\n";
    }
    text += "  return ge::GRAPH_SUCCESS;\n}\n\n";
    text += "static ge::graphStatus InferDataType(gert::InferDataTypeContext* context) {\n";
    text += tagged(2, fmt::format("context->SetOutputDataType(0, context->GetInputDataType({}));",
                                  plan_.reference_input));
    return text + "  return ge::GRAPH_SUCCESS;\n}\n\n";
  }

  static std::string port(const char* way, const std::string& name) {
    return fmt::format(
        "    "
        "this->{}(\"{}\").ParamType(REQUIRED).DataType({{ge::DT_FLOAT}}).Format({{ge::FORMAT_ND}})."
        "UnknownShapeFormat({{ge::FORMAT_ND}});\n",
        way, name);
  }

  std::string definition() const {
    std::string text = fmt::format(
        "class {0} : public OpDef {{\n public:\n  explicit {0}(const char* name) : OpDef(name) {{\n", camel_);
    for (std::size_t i = 0; i < plan_.input_names.size(); ++i) text += port("Input", fmt::format("in{}", i));
    text += port("Output", "out");
    text += "    this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);\n";
    text +=
        "    this->AICore().SetTiling(optiling::TilingFunc);\n    "
        "this->AICore().AddConfig(\"ascend910b\");\n  }\n};\n\n";
    return text + fmt::format("OP_ADD({});\n\n", camel_);
  }

  std::string op_, camel_;
  const KernelPlan& plan_;
  KernelNeeds needs_;
  ChoiceBook& book_;
};

}  // namespace

std::vector<SourceFile> print_project(const std::string& op, const KernelPlan& plan, ChoiceBook& book) {
  PrintedKernel kernel = print_kernel(op, plan, book);
  HostPrinter host(op, plan, kernel.needs, book);
  const std::string header = host.tiling_header(), source = host.operator_source();
  // The host's decisions belong into the kernel's list as well.
  const auto end = kernel.text.find('\n');
  kernel.text.replace(0, end, "// Constructs: " + write_choices(book.taken()));
  return {{fmt::format("op_host/{}.cpp", op), source},
          {fmt::format("op_host/{}_tiling.h", op), header},
          {fmt::format("op_kernel/{}.cpp", op), kernel.text}};
}

}  // namespace evk
