// Convolutions on the tensor cores by a kernel of our own: the chain ends what is in registers, and the result is
// written once, as it has to lie.
#include <string>
#include <utility>
#include <vector>

#include "dsl/cuda/channels_last.h"
#include "dsl/cuda/conv_product.h"
#include "dsl/cuda/convolution_library.h"
#include "dsl/cuda/library.h"
#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/knobs.h"
#include "dsl/shape/convolution.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_conv_tiles {
namespace {

constexpr std::string_view kLeavesKnob = "leaves";

// The settings of products are the convolution's; `end` is another thing for the library.
Kernel ProductOf(const Kernel& kernel, const ConvProduct& conv) {
  Kernel product = conv.kernel();
  product.settings.erase("end");
  if (const auto leaves = kernel.settings.find(std::string(kLeavesKnob)); leaves != kernel.settings.end())
    product.settings["end"] = leaves->second;
  return product;
}
Kernel ProductOf(const Kernel& kernel) { return ProductOf(kernel, ConvProduct(kernel)); }
template <std::vector<Setting> (*VALUES)(const Kernel&)>
std::vector<Setting> Values(const Kernel& kernel) {
  return VALUES(ProductOf(kernel));
}
template <std::optional<std::string> (*CHECK)(const Kernel&, const Setting&)>
std::optional<std::string> Check(const Kernel& kernel, const Setting& value) {
  return CHECK(ProductOf(kernel), value);
}
constexpr Knob OfProduct(const Knob& knob, std::vector<Setting> (*values)(const Kernel&),
                         std::optional<std::string> (*check)(const Kernel&, const Setting&)) {
  return {knob.name, knob.doc, values, check};
}

bool IsOfFloats(const Kernel& kernel) { return InputType(kernel, 0) == DType::kF32; }

std::vector<Setting> LayoutValues(const Kernel& kernel) {
  const Setting first = Word(std::string(kChannelsFirst));
  if (!AllGroupsMayBeTogether(kernel) || LeavesApart(kernel)) return {first};
  return {first, Word(std::string(kChannelsLast))};
}
std::optional<std::string> CheckLayout(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {kChannelsFirst, kChannelsLast})) return why;
  if (std::get<std::string>(value.value) == kChannelsLast && !AllGroupsMayBeTogether(kernel))
    return "channels of such groups do not lie side by side; try channels_first";
  if (std::get<std::string>(value.value) == kChannelsLast && LeavesApart(kernel))
    return "phases of a transposed one do not lie side by side; try channels_first";
  return std::nullopt;
}

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoConvProduct(kernel)) return why;
  if (auto why = WhyNotRounded(kernel)) return why;
  return WhyNotInTf32(kernel);
}

// cuDNN costs 2. Where it is, tiles are ahead of it in most measured layers and networks, and in 41 of 43 transposed
// convolutions, by 1.3 to 23 times (docs/measured/cuda_convolutions.md). It is before them where a tile's rows or
// stages are zeros more than numbers: 8 channels to 32 (4.18 ms, cuDNN's 2.81), rows of 3 places of 3 channels of f32
// (2.07 ms, cuDNN's 1.85), 16 channels without an end (3.63 ms, cuDNN's 3.29); and where a result is small and has no
// end (1.6 MB: 33.8 us, cuDNN's 28.7). Patches come before both where they fit (conv_patch.cc). Of halves rows of 3
// places of 3 channels are tiles: cuDNN takes 37 us for 16 images of 224 x 224, and 16 for the copies before and
// behind; windows of 7 x 7 of 64 images take 87 (cuda_layers.md).
constexpr std::int64_t kSomeChannels = 16, kFewMade = 32, kSomeMade = 64, kSmallResult = 4 << 20;  // bytes
std::optional<double> Cost(const Kernel& kernel) {
  Convolution shape(kernel);
  const std::int64_t together = GroupsTogether(kernel);
  shape.made *= together;
  shape.channels *= together;
  const bool plain = IsPlainEnd(kernel);
  const std::int64_t bytes = ElementCount(kernel.result) * static_cast<std::int64_t>(Bytes(kernel.target_type));
  if (shape.transposed) return 1.9;
  const bool rows = RowsAreSideBySide(kernel);
  const std::int64_t beside = WaysThroughWindow(kernel)[0] == kWhole ? shape.Taps() : rows ? shape.dims[2].window : 1;
  // Of a pixel, or of its window or a row of that.
  const std::int64_t channels = shape.channels * (rows && IsOfFloats(kernel) ? 1 : beside);
  const std::int64_t some = rows && !IsOfFloats(kernel) ? kSomeChannels / 2 : kSomeChannels;
  const bool few =
      shape.made < kFewMade || (channels < some && shape.made < kSomeMade) ||
      (IsOfFloats(kernel) && (rows ? shape.channels * beside < kSomeChannels : plain && channels <= kSomeChannels));
  return few ? 2.6 : plain && bytes < kSmallResult ? 2.2 : 1.9;
}

std::vector<Setting> WindowValues(const Kernel& kernel) {
  std::vector<Setting> values;
  for (const std::string_view way : WaysThroughWindow(kernel)) values.push_back(Word(std::string(way)));
  return values;
}
std::optional<std::string> CheckWindow(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {kPlaces, kRows, kWhole})) return why;
  const std::string& way = std::get<std::string>(value.value);
  if (way == kRows && !RowsMayBeSideBySide(kernel))
    return "a row of one place, of groups, of a transposed convolution or of more than 256 bytes does not lie side by "
           "side; try places";
  if (way == kWhole && !WindowMayBeSideBySide(kernel))
    return "a window of one place, of groups, of a transposed convolution or that has each pixel more than 4 times "
           "does not lie side by side; try places";
  return std::nullopt;
}

// Results that lie apart are written one by one, by who has made all of their sum.
std::vector<Setting> SplitValues(const Kernel& kernel) {
  return LeavesApart(kernel) ? std::vector{Whole(1)} : Values<TensorSplitValues>(kernel);
}
std::optional<std::string> CheckSplit(const Kernel& kernel, const Setting& value) {
  return LeavesApart(kernel) ? CheckRange(value, 1, 1) : Check<CheckTensorSplit>(kernel, value);
}
std::vector<Setting> LeavesValues(const Kernel& kernel) {
  return LeavesApart(kernel) ? std::vector{Word("lines")} : Values<TensorEndValues>(kernel);
}
std::optional<std::string> CheckLeaves(const Kernel& kernel, const Setting& value) {
  return LeavesApart(kernel) ? CheckWord(value, {"lines"}) : Check<CheckTensorEnd>(kernel, value);
}

// In this order: a default may depend on those before it.
constexpr Knob kKnobs[] = {
    kConvTf32Knob,
    {kLayoutKnob,
     "how the result lies: channels_first, as PyTorch's; channels_last, where others read it so. x and w lie "
     "channels last, by copies where they do not",
     LayoutValues, CheckLayout, /*with_neighbours=*/true},
    {kWindowKnob,
     "how the window is gone through: places, one by one; rows, of which a copy of x has the channels side by side; "
     "whole, likewise, with any stride",
     WindowValues, CheckWindow},
    OfProduct(kTensorTileKnob, Values<TensorTileValues>, Check<CheckTensorTile>),
    OfProduct(kTensorTurnsKnob, Values<TensorTurnsValues>, Check<CheckTensorTurns>),
    OfProduct(kTensorStagesKnob, Values<TensorStagesValues>, Check<CheckTensorStages>),
    OfProduct(kTensorClusterKnob, Values<TensorClusterValues>, Check<CheckTensorCluster>),
    OfProduct(kTensorSplitKnob, SplitValues, CheckSplit),
    {kLeavesKnob, kTensorEndKnob.doc, LeavesValues, CheckLeaves},
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  for (std::int64_t number = 0; number < ConvProductsOf(kernel); ++number) {
    const ConvProduct conv(kernel, number);
    EmitTensorProduct(program, ProductOf(kernel, conv), out, &conv);
  }
}

}  // namespace

HONE_ROW(Way){
    .family = "conv",
    .name = "tiles",
    .doc = "a kernel of our own on the tensor cores, whose tiles are ended before they are stored",
    .why_not = WhyNot,
    .cost = Cost,
    .multiplies = true,
    .reads_channels_last = true,
    .bytes_beside = BytesBeside,
    .least_us = kTensorLeastUs,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_conv_tiles
