#include "dsl/cpu/loop_text.h"

#include <fmt/format.h>

#include <functional>
#include <set>

namespace hone::dsl {

std::string LoopText::Place(const Writer& writer, int operand, const std::vector<std::string>& index) const {
  const KernelOperand& view = kernel_->operands[static_cast<std::size_t>(operand)];
  return fmt::format("{}[{}]", writer.BufferName(view.buffer), OperandAddress(operand, index));
}

std::string LoopText::Element(const Writer& writer, int operand, const std::vector<std::string>& index) const {
  const KernelOperand& view = kernel_->operands[static_cast<std::size_t>(operand)];
  const KernelBuffer& buffer = program_->buffers[static_cast<std::size_t>(view.buffer)];
  std::string text = Place(writer, operand, index);
  const std::string type = writer.TypeName(ScalarOf(buffer.dtype));
  const bool same = type == ElementType(buffer.dtype) || buffer.dtype == DType::kI64;
  return same ? text : fmt::format("static_cast<{}>({})", type, text);
}

std::string LoopText::TargetElement(const Writer& writer, const std::vector<std::string>& index) const {
  return MadeElement(writer, kernel_->target, index);
}

std::string LoopText::MadeElement(const Writer& writer, int target, const std::vector<std::string>& index) const {
  return fmt::format("{}[{}]", writer.BufferName(target), TargetAddress(index));
}

namespace {

// One line of each 64 bytes of `count` elements, where `place` gives the text of an element by its distance.
void FetchLines(Writer& writer, DType dtype, std::int64_t count, std::string_view how,
                const std::function<std::string(const std::string& distance)>& place) {
  const auto step = static_cast<std::int64_t>(64 / Bytes(dtype));
  writer.Line(fmt::format("for (long line = 0; line < {}; line += {}) __builtin_prefetch(&{}{});", count, step,
                          place("line"), how));
}

}  // namespace

void LoopText::FetchOperands(Writer& writer, const std::vector<std::string>& index, std::int64_t count,
                             int level) const {
  std::set<std::string> seen;
  for (std::size_t o = 0; o < kernel_->operands.size(); ++o) {
    bool runs = dims.back().strides[o] == 1;
    for (const auto& dim : dims) runs &= dim.strides[o] != 0;
    if (!runs || !seen.insert(Place(writer, static_cast<int>(o), index)).second) continue;
    FetchLines(writer, program_->buffers[static_cast<std::size_t>(kernel_->operands[o].buffer)].dtype, count,
               level == 1 ? "" : ", 0, 2", [&](const std::string& distance) {
                 std::vector<std::string> there = index;
                 there.back() += " + " + distance;
                 return Place(writer, static_cast<int>(o), there);
               });
  }
}

void LoopText::FetchTarget(Writer& writer, const std::vector<std::string>& index, std::int64_t count) const {
  if (dims.back().target_stride != 1) return;
  for (const int target : ElementTargetsOf(*kernel_)) {
    FetchLines(writer, program_->buffers[static_cast<std::size_t>(target)].dtype, count, ", 1",
               [&](const std::string& distance) {
                 std::vector<std::string> there = index;
                 there.back() += " + " + distance;
                 return MadeElement(writer, target, there);
               });
  }
}

std::string ElementText(const KernelProgram& program, const Kernel& kernel, const Writer& writer, int operand,
                        const std::vector<std::string>& index, const std::vector<std::int64_t>& strides,
                        std::int64_t offset) {
  const int buffer = kernel.operands[static_cast<std::size_t>(operand)].buffer;
  const DType dtype = program.buffers[static_cast<std::size_t>(buffer)].dtype;
  const std::string text = fmt::format("{}[{}]", writer.BufferName(buffer), Address(index, strides, offset));
  const std::string type = writer.TypeName(ScalarOf(dtype));
  return type == ElementType(dtype) ? text : fmt::format("static_cast<{}>({})", type, text);
}

std::string For(const std::string& var, std::int64_t extent) {
  return fmt::format("for (long {} = 0; {} < {}; ++{})", var, var, extent, var);
}

}  // namespace hone::dsl
