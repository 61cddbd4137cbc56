#include "dsl/kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/family.h"

namespace hone::dsl {

std::vector<int> AllDims(const Kernel& kernel) {
  std::vector<int> dims;
  for (std::size_t d = 0; d < kernel.space.size(); ++d) dims.push_back(static_cast<int>(d));
  return dims;
}

const KernelOperand& InputOperand(const Kernel& kernel, std::size_t input) {
  return kernel.operands[static_cast<std::size_t>(kernel.inputs[input]->buffer)];
}
DType InputType(const Kernel& kernel, std::size_t input) {
  return kernel.operand_types[static_cast<std::size_t>(kernel.inputs[input]->buffer)];
}

std::vector<int> OperandsOf(const std::vector<Expr>& exprs) {
  std::vector<int> operands;
  for (const auto& expr : exprs) {
    Visit(expr, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad) return;
      if (std::find(operands.begin(), operands.end(), node.buffer) == operands.end()) operands.push_back(node.buffer);
    });
  }
  return operands;
}

std::vector<int> BuffersOf(const Kernel& kernel, const Expr& expr) {
  std::vector<int> buffers;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    const int buffer = kernel.operands[static_cast<std::size_t>(node.buffer)].buffer;
    if (std::find(buffers.begin(), buffers.end(), buffer) == buffers.end()) buffers.push_back(buffer);
  });
  return buffers;
}

std::vector<int> ResultDims(const Kernel& kernel) {
  if (kernel.family->result_dims) return kernel.family->result_dims(kernel);
  std::vector<int> dims;
  for (int d = 0; d < static_cast<int>(kernel.space.size()); ++d) {
    if (kernel.family->keeps_axes || !std::binary_search(kernel.axes.begin(), kernel.axes.end(), d)) dims.push_back(d);
  }
  return dims;
}

std::vector<std::int64_t> TargetStridesOf(const Kernel& kernel) {
  std::vector<std::int64_t> strides(kernel.space.size(), 0);
  const std::vector<int> result = ResultDims(kernel);
  std::int64_t step = 1;
  for (std::size_t r = result.size(); r-- > 0;) {
    const auto d = static_cast<std::size_t>(result[r]);
    strides[d] = step;
    step *= kernel.space[d].extent;
  }
  return strides;
}

KernelProgram WithoutEmpty(KernelProgram program) {
  std::erase_if(program.kernels, [&](const Kernel& kernel) {
    return std::ranges::all_of(TargetsOf(kernel), [&](int target) {
      return ElementCount(program.buffers[static_cast<std::size_t>(target)].shape) == 0;
    });
  });
  return program;
}

std::vector<int> TargetsOf(const Kernel& kernel) {
  std::vector<int> targets = {kernel.target};
  for (const auto& one : kernel.also) targets.push_back(one.target);
  return targets;
}

std::vector<int> ElementTargetsOf(const Kernel& kernel) {
  std::vector<int> targets = {kernel.target};
  for (const auto& one : kernel.also) {
    if (!one.of_row) targets.push_back(one.target);
  }
  return targets;
}

std::vector<Expr> ElementsOf(const Kernel& kernel) {
  std::vector<Expr> elements = {kernel.epilogue};
  for (const auto& one : kernel.also) {
    if (!one.of_row) elements.push_back(one.value);
  }
  return elements;
}

std::size_t SequenceEnd(const KernelProgram& program, std::size_t kernel) {
  const auto sequence = [&](std::size_t k) {
    const auto it = program.kernels[k].attributes.find("sequence");
    return it == program.kernels[k].attributes.end() ? -1 : it->second[0];
  };
  std::size_t end = kernel + 1;
  while (sequence(kernel) >= 0 && end < program.kernels.size() && sequence(end) == sequence(kernel)) ++end;
  return end;
}

DType ComputeType(const KernelProgram& program, const Kernel& kernel) {
  bool wide = false;
  for (const int target : TargetsOf(kernel))
    wide |= target >= 0 && program.buffers[static_cast<std::size_t>(target)].dtype == DType::kF64;
  for (const auto& operand : kernel.operands)
    wide |= program.buffers[static_cast<std::size_t>(operand.buffer)].dtype == DType::kF64;
  return wide ? DType::kF64 : DType::kF32;
}

ScalarType ScalarOf(DType dtype) {
  return IsFloat(dtype) ? ScalarType::kReal : dtype == DType::kBool ? ScalarType::kBool : ScalarType::kInt;
}

std::int64_t IntSetting(const Kernel& kernel, const std::string& knob) {
  const auto* value = std::get_if<std::int64_t>(&kernel.settings.at(knob).value);
  return value ? *value : 0;
}
std::string WordSetting(const Kernel& kernel, const std::string& knob) {
  const auto* value = std::get_if<std::string>(&kernel.settings.at(knob).value);
  return value ? *value : "";
}
std::vector<std::int64_t> TupleSetting(const Kernel& kernel, const std::string& knob) {
  const auto* value = std::get_if<std::vector<std::int64_t>>(&kernel.settings.at(knob).value);
  return value ? *value : std::vector<std::int64_t>{};
}

std::string ToString(const Setting& setting) {
  if (const auto* whole = std::get_if<std::int64_t>(&setting.value)) return fmt::format("{}", *whole);
  if (const auto* word = std::get_if<std::string>(&setting.value)) return *word;
  return fmt::format("{}", fmt::join(std::get<std::vector<std::int64_t>>(setting.value), "x"));
}

}  // namespace hone::dsl
