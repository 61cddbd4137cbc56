#include "dsl/shape/loops.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::dsl {
namespace {

// Whether the dimension `outer` continues where `inner` ends, for every operand and the target.
bool Continues(const LoopDim& outer, const LoopDim& inner) {
  if (outer.reduced != inner.reduced || outer.target_stride != inner.target_stride * inner.extent) return false;
  for (std::size_t i = 0; i < outer.strides.size(); ++i) {
    if (outer.strides[i] != inner.strides[i] * inner.extent) return false;
  }
  return true;
}

}  // namespace

Loops::Loops(const KernelProgram& program, const Kernel& kernel) : program_(&program), kernel_(&kernel) {
  const std::vector<std::int64_t> target = TargetStridesOf(kernel);
  for (std::size_t d = 0; d < kernel.space.size(); ++d) {
    if (kernel.space[d].extent == 1) continue;
    LoopDim dim{.extent = kernel.space[d].extent,
                .reduced = std::binary_search(kernel.axes.begin(), kernel.axes.end(), static_cast<int>(d)),
                .strides = {},
                .target_stride = target[d],
                .var = {}};
    for (const auto& operand : kernel.operands) dim.strides.push_back(operand.strides[d]);
    if (!dims.empty() && Continues(dims.back(), dim)) {
      dim.extent *= dims.back().extent;
      dims.back() = std::move(dim);
    } else {
      dims.push_back(std::move(dim));
    }
  }
  if (dims.empty())
    dims.push_back({.extent = 1,
                    .reduced = false,
                    .strides = std::vector<std::int64_t>(kernel.operands.size(), 0),
                    .target_stride = 1,
                    .var = {}});
  static constexpr std::string_view kVars[] = {"i", "j", "k", "l"};
  for (std::size_t d = 0; d < dims.size(); ++d)
    dims[d].var = d < std::size(kVars) ? std::string(kVars[d]) : fmt::format("i_{}", d);
}

std::string Address(const std::vector<std::string>& index, const std::vector<std::int64_t>& strides,
                    std::int64_t offset) {
  std::string text;
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (strides[d] == 0 || index[d] == "0") continue;
    const bool sum = index[d].find_first_of("+-") != std::string::npos;
    std::string term =
        strides[d] == 1 ? index[d] : fmt::format("{} * {}", sum ? "(" + index[d] + ")" : index[d], strides[d]);
    text += (text.empty() ? "" : " + ") + term;
  }
  if (offset != 0) text = text.empty() ? fmt::format("{}", offset) : fmt::format("{} + {}", text, offset);
  return text.empty() ? "0" : text;
}

std::vector<std::int64_t> Loops::Strides(int operand) const {
  std::vector<std::int64_t> strides;
  for (const auto& dim : dims) strides.push_back(dim.strides[static_cast<std::size_t>(operand)]);
  return strides;
}

std::vector<std::int64_t> Loops::TargetStrides() const {
  std::vector<std::int64_t> strides;
  for (const auto& dim : dims) strides.push_back(dim.target_stride);
  return strides;
}

std::string Loops::OperandAddress(int operand, const std::vector<std::string>& index) const {
  return Address(index, Strides(operand), kernel_->operands[static_cast<std::size_t>(operand)].offset);
}

std::string Loops::TargetAddress(const std::vector<std::string>& index) const {
  return Address(index, TargetStrides(), 0);
}

std::vector<std::string> Loops::Vars() const {
  std::vector<std::string> vars;
  for (const auto& dim : dims) vars.push_back(dim.var);
  return vars;
}

std::int64_t Loops::Count(bool reduced) const {
  std::int64_t count = 1;
  for (const auto& dim : dims) {
    if (dim.reduced == reduced) count *= dim.extent;
  }
  return count;
}

std::optional<std::size_t> AcrossDim(const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& extents,
                                     const Shortest& shortest) {
  const std::size_t last = extents.size() - 1;
  const auto side_by_side = [&](std::size_t d) { return strides[d] >= 1 && strides[d] <= shortest.apart; };
  if (extents[last] < shortest.inner || strides[last] == 0 || side_by_side(last)) return std::nullopt;
  for (std::size_t d = last; d-- > 0;) {
    if (side_by_side(d) && extents[d] >= shortest.across) return d;
  }
  return std::nullopt;
}

bool ReadsAcross(const Kernel& kernel, const Shortest& shortest) {
  std::vector<std::int64_t> extents;
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < kernel.space.size(); ++d) {
    if (kernel.space[d].extent == 1) continue;
    extents.push_back(kernel.space[d].extent);
    dims.push_back(d);
  }
  if (extents.empty()) return false;
  return std::any_of(kernel.operands.begin(), kernel.operands.end(), [&](const KernelOperand& operand) {
    std::vector<std::int64_t> strides;
    for (const auto d : dims) strides.push_back(operand.strides[d]);
    return AcrossDim(strides, extents, shortest).has_value();
  });
}

std::string DenseAddress(const Kernel& kernel, const std::vector<std::string>& index) {
  std::vector<std::int64_t> strides(index.size());
  std::int64_t step = 1;
  for (std::size_t d = index.size(); d-- > 0; step *= kernel.space[d].extent) strides[d] = step;
  return Address(index, strides, 0);
}

}  // namespace hone::dsl
