#include "dsl/cuda/convolution_library.h"

#include <utility>

#include "dsl/cuda/channels_last.h"
#include "dsl/shape/convolution.h"

namespace hone::dsl {

std::optional<StridedArgument> ConvolutionArgument(const Kernel& kernel, int input) {
  if (kernel.inputs[static_cast<std::size_t>(input)]->kind != Expr::Kind::kLoad) return std::nullopt;
  const KernelOperand& operand = InputOperand(kernel, static_cast<std::size_t>(input));
  const ConvolutionOperand role = ConvolutionOperandOf(kernel, input);
  StridedArgument tensor{.offset = operand.offset, .shape = role.shape};
  const auto natural = DenseStrides(tensor.shape);
  tensor.strides = natural;
  for (std::size_t d = 0; d < role.dims.size(); ++d) {
    if (role.shape[d] != 1) tensor.strides[d] = operand.strides[role.dims[d]];
    if (tensor.strides[d] < 1) return std::nullopt;
  }
  if (input == 0 || tensor.strides == natural) return tensor;
  const auto last = ChannelsLastStrides(tensor.shape);
  for (std::size_t d = 0; d < last.size(); ++d) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != last[d]) return std::nullopt;
  }
  tensor.strides = last;
  return tensor;
}

std::optional<LibraryEnd> LibraryEndOf(const Kernel& kernel) {
  if (kernel.variant == "transposed") return std::nullopt;
  const auto end = EndOf(
      kernel,
      [&](int operand) {
        const auto o = static_cast<std::size_t>(operand);
        const auto& strides = kernel.operands[o].strides;
        bool rest = true;
        for (std::size_t d = 0; d < 2 + SpatialOf(kernel); ++d)
          rest &= d == 1 ? strides[d] == 1 : strides[d] == 0 || kernel.space[d].extent == 1;
        return rest &&
               kernel.operand_types[o] == kernel.operand_types[static_cast<std::size_t>(kernel.inputs[0]->buffer)];
      },
      [](int) { return false; });
  return end && end->bias >= 0 ? end : std::nullopt;
}

bool EndsInLibrary(const Kernel& kernel) { return WordSetting(kernel, "end") == "library" && LibraryEndOf(kernel); }

bool LibraryConvolves(const Kernel& kernel) {
  if (!ConvolutionArgument(kernel, 0) || !ConvolutionArgument(kernel, 1) || ElementCount(kernel.result) == 0)
    return false;
  const auto type = [&](std::size_t input) { return InputType(kernel, input); };
  if (type(0) != type(1) || !IsFloat(type(0)) || Bytes(type(0)) == 1 ||
      (type(0) == DType::kF64) != (kernel.compute == DType::kF64))
    return false;
  const Convolution conv(kernel);
  for (std::size_t d = 3 - SpatialOf(kernel); d < 3; ++d) {
    const auto& dim = conv.dims[d];
    const std::int64_t from = conv.transposed ? dim.out : dim.in, to = conv.transposed ? dim.in : dim.out;
    const std::int64_t room = from + 2 * dim.padding - dim.dilation * (dim.window - 1) - 1;
    if (room < 0 || room / dim.stride + 1 != to) return false;
  }
  return true;
}

}  // namespace hone::dsl
