// What the glue of a PyTorch extension calls (declared in twin/include/evk_host/torch_bridge.h).
#include <algorithm>
#include <cctype>
#include <string>

#include "evk_host/torch_bridge.h"
#include "twin/program/program.h"

namespace evk::twin {
namespace {

abi::DType abi_type(std::uint32_t t) {
  switch (t) {
    case ge::DT_FLOAT:
      return abi::DType::kF32;
    case ge::DT_FLOAT16:
      return abi::DType::kF16;
    case ge::DT_BF16:
      return abi::DType::kBf16;
    case ge::DT_DOUBLE:
      return abi::DType::kF64;
    case ge::DT_INT8:
      return abi::DType::kI8;
    case ge::DT_UINT8:
      return abi::DType::kU8;
    case ge::DT_INT16:
      return abi::DType::kI16;
    case ge::DT_INT32:
      return abi::DType::kI32;
    case ge::DT_INT64:
      return abi::DType::kI64;
    case ge::DT_BOOL:
      return abi::DType::kBool;
    default:
      return abi::DType::kNone;
  }
}

// The operator of type "LayerNormCustom" has the kernel function layer_norm_custom.
std::string kernel_of(const std::string& type) {
  std::string name;
  for (std::size_t i = 0; i < type.size(); ++i) {
    const auto c = static_cast<unsigned char>(type[i]);
    const bool starts_word = std::isupper(c) && i > 0 &&
                             (!std::isupper(static_cast<unsigned char>(type[i - 1])) ||
                              (i + 1 < type.size() && std::islower(static_cast<unsigned char>(type[i + 1]))));
    if (starts_word) name += '_';
    name += static_cast<char>(std::tolower(c));
  }
  return name;
}

const ops::OpData& registered(const std::string& type) {
  for (const ops::OpData* op : program().ops)
    if (type == op->name) return *op;
  refuse("registration_missing",
         "the glue calls aclnn" + type + ", and no operator " + type + " is registered",
         "end op_host with OP_ADD(" + type + ")");
}

TensorDescription described(const EvkTwinOperand& operand, const char* name) {
  TensorDescription t{};
  std::snprintf(t.name, sizeof t.name, "%s", name);
  t.dtype = abi_type(operand.dtype);
  t.rank = static_cast<std::uint32_t>(operand.count);
  if (operand.count > kRankMax)
    refuse("bridge_error", "a tensor of the glue has more than 8 dimensions", "use fewer");
  std::copy_n(operand.sizes, operand.count, t.size);
  t.gm_addr = operand.addr;
  return t;
}

gert::RuntimeAttrs::Value value_of(const EvkTwinOperand& operand) {
  gert::RuntimeAttrs::Value v;
  v.integer = operand.integer;
  v.real = static_cast<float>(operand.real);
  v.flag = operand.integer != 0;
  if (operand.text) v.text = operand.text;
  if (operand.kind == EvkTwinOperand::kIntegers) {
    v.list.data = operand.sizes;
    v.list.size = operand.count;
  }
  if (operand.kind == EvkTwinOperand::kReals) {
    v.reals.data = operand.reals;
    v.reals.size = operand.count;
  }
  return v;
}

void execute(const std::string& type, const EvkTwinOperand* operands, std::uint64_t count) {
  const ops::OpData& op = registered(type);
  if (!may_launch()) return;
  LaunchDescription call = program().launch;
  std::vector<const EvkTwinOperand*> tensors;
  program().given_attrs.clear();
  for (std::uint64_t i = 0; i < count; ++i) {
    if (operands[i].kind == EvkTwinOperand::kTensor)
      tensors.push_back(&operands[i]);
    else
      program().given_attrs.push_back(value_of(operands[i]));
  }
  if (tensors.size() != op.input_count + op.output_count || tensors.size() > kTensorsMax)
    refuse("registration_tensors",
           "aclnn" + type + " is called with " + std::to_string(tensors.size()) +
               " tensors, the operator registers " + std::to_string(op.input_count) + " inputs and " +
               std::to_string(op.output_count) + " outputs",
           "call EXEC_NPU_CMD with every input, every attribute and every output, in the order of the OpDef");
  call.inputs = static_cast<std::uint32_t>(op.input_count);
  call.outputs = static_cast<std::uint32_t>(op.output_count);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    call.tensor[i] =
        described(*tensors[i], i < op.input_count ? op.inputs[i].name : op.outputs[i - op.input_count].name);
  launch_operator(op, kernel_of(type), call);
}

}  // namespace
}  // namespace evk::twin

extern "C" {

void evk_twin_bridge(int wanted) { evk::twin::program().bridge = {wanted != EVK_TWIN_BRIDGE_OFF, wanted, 0}; }
int evk_twin_bridge_launches() { return evk::twin::program().bridge.launches; }
void evk_twin_execute(const char* name, const EvkTwinOperand* operands, std::uint64_t count) {
  const std::string called = name;
  evk::twin::execute(called.starts_with("aclnn") ? called.substr(5) : called, operands, count);
}
void evk_twin_bridge_fail(const char* message) {
  evk::twin::refuse("bridge_error", message, "mend the glue, or the model that calls it");
}
}
