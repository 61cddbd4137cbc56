// Convolutions by cuDNN: a bias with ReLU may be the library's, another end is a kernel that follows.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "dsl/cuda/channels_last.h"
#include "dsl/cuda/convolution_library.h"
#include "dsl/cuda/library.h"
#include "dsl/cuda/matmul_tensor.h"
#include "dsl/knobs.h"
#include "dsl/shape/convolution.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_conv_library {
namespace {

constexpr std::int64_t kLeastWorkspace = 64 << 20, kMostWorkspace = std::int64_t{8} << 30;

std::vector<Setting> PrecisionValues(const Kernel& kernel) {
  std::vector<Setting> values = {Word("f32")};
  if (kernel.operand_types[static_cast<std::size_t>(std::max(kernel.inputs[0]->buffer, 0))] == DType::kF32)
    values.push_back(Word("tf32"));
  return values;
}
std::optional<std::string> CheckPrecision(const Kernel&, const Setting& value) {
  return CheckWord(value, {"f32", "tf32"});
}

std::vector<Setting> LayoutValues(const Kernel& kernel) {
  // Tensor cores alone want it.
  const bool exact = kernel.target_type == DType::kF32 && WordSetting(kernel, "precision") != "tf32";
  const Setting first = Word(std::string(kChannelsFirst));
  if (exact || !CanLieChannelsLast(kernel)) return {first};
  return {first, Word(std::string(kChannelsLast))};
}
std::optional<std::string> CheckLayout(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {kChannelsFirst, kChannelsLast})) return why;
  if (std::get<std::string>(value.value) == kChannelsLast && !CanLieChannelsLast(kernel))
    return "what is computed in f64 cannot lie with its channels last; try channels_first";
  return std::nullopt;
}

std::vector<Setting> EndValues(const Kernel& kernel) {
  const auto end = LibraryEndOf(kernel);
  if (!end) return {Word("map")};
  // With a bias alone the library has one algorithm, which is seldom its best.
  if (end->relu) return {Word("library"), Word("map")};
  return {Word("map"), Word("library")};
}
std::optional<std::string> CheckEnd(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {"library", "map"})) return why;
  if (std::get<std::string>(value.value) == "library" && !LibraryEndOf(kernel))
    return "cuDNN ends a convolution with a bias a channel, or that and ReLU, if it is not transposed; try map";
  return std::nullopt;
}

std::vector<Setting> AlgorithmValues(const Kernel&) { return {Whole(0), Whole(1), Whole(2)}; }
std::optional<std::string> CheckAlgorithm(const Kernel&, const Setting& value) { return CheckRange(value, 0, 15); }

std::optional<std::string> WhyNot(const Kernel& kernel) {
  // cuDNN sums in f32 and writes what it reads; what ends 16-bit sums goes over those as they are rounded.
  if (LibraryConvolves(kernel))
    return kernel.target_type == InputType(kernel, 0) ? std::nullopt : WhyNotWritten(kernel);
  return "cuDNN reads both operands where they lie, filters densely, and wants the window to end with the padding: "
         "write a nest";
}
std::optional<double> Cost(const Kernel& kernel) {
  if (kernel.device->libraries.cudnn) return 2;
  return std::nullopt;
}

// In this order: a default may depend on those before it.
constexpr Knob kKnobs[] = {
    {"precision", "what cuDNN makes products of f32 in: f32, tf32", PrecisionValues, CheckPrecision},
    {kLayoutKnob,
     "how x, w and the result lie: channels_first, as PyTorch's; channels_last, by copies where they do not lie so "
     "already",
     LayoutValues, CheckLayout, /*with_neighbours=*/true},
    {"end", "library: bias and ReLU are cuDNN's own; map: the chain is a kernel that goes over the result", EndValues,
     CheckEnd},
    {"algorithm", "which of cuDNN's proposals, its best first", AlgorithmValues, CheckAlgorithm},
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  auto x = ConvolutionArgument(kernel, 0), w = ConvolutionArgument(kernel, 1);
  HONE_CHECK(x && w, "the checker lets no other convolution come here");
  const auto buffer_of = [&](std::size_t input) -> const KernelBuffer& {
    return program.buffers[static_cast<std::size_t>(InputOperand(kernel, input).buffer)];
  };
  const KernelBuffer& target = program.buffers[static_cast<std::size_t>(kernel.target)];
  const Convolution conv(kernel);
  ConvolutionStep step;
  step.x = std::move(*x);
  step.x.buffer = buffer_of(0).name;
  step.w = std::move(*w);
  step.w.buffer = buffer_of(1).name;
  step.y = {.buffer = target.name, .offset = 0, .shape = {conv.batch, conv.groups * conv.made}, .strides = {}};
  for (std::size_t d = 3 - SpatialOf(kernel); d < 3; ++d) {
    step.y.shape.push_back(conv.dims[d].out);
    step.stride.push_back(conv.dims[d].stride);
    step.padding.push_back(conv.dims[d].padding);
    step.dilation.push_back(conv.dims[d].dilation);
  }
  const bool last = MakesChannelsLast(kernel);
  step.y.strides = last ? ChannelsLastStrides(step.y.shape) : DenseStrides(step.y.shape);
  step.groups = conv.groups;
  step.transposed = conv.transposed;
  step.compute = target.dtype == DType::kF64                                                 ? LibraryCompute::kF64
                 : target.dtype == DType::kF32 && WordSetting(kernel, "precision") == "tf32" ? LibraryCompute::kTf32
                                                                                             : LibraryCompute::kF32;
  step.algorithm = static_cast<int>(IntSetting(kernel, "algorithm"));
  // Copies of everything in another layout, and as much again.
  const std::int64_t bytes = static_cast<std::int64_t>(Bytes(target.dtype)) *
                             (ElementCount(step.x.shape) + ElementCount(step.w.shape) + ElementCount(step.y.shape));
  step.workspace = out.Workspace(std::clamp(2 * bytes, kLeastWorkspace, kMostWorkspace));
  const auto end = LibraryEndOf(kernel);
  const bool own = EndsInLibrary(kernel);
  if (own) {
    const KernelOperand& bias = kernel.operands[static_cast<std::size_t>(end->bias)];
    step.bias = BufferArgument{program.buffers[static_cast<std::size_t>(bias.buffer)].name, bias.offset};
    if (end->relu) step.activation = Activation::kRelu;
  }
  out.Call(std::move(step));
  if (!own && !IsPlainEnd(kernel) && !last)
    EmitEnd(program, kernel, out);  // else a map that follows, see channels_last.h
}

}  // namespace

HONE_ROW(Way){
    .family = "conv",
    .name = "library",
    .doc = "cuDNN",
    .why_not = WhyNot,
    .cost = Cost,
    .multiplies = true,
    .bytes_beside = BytesBeside,
    .least_us = kTensorLeastUs,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_conv_library
