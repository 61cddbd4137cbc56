#include "dsl/cuda/conv_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/rounding.h"
#include "dsl/cuda/channels_last.h"
#include "dsl/cuda/matmul_tensor.h"
#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kTensorPixelsText;  // dsl/cuda/tensor_pixels.cuh
}

namespace hone::dsl {
namespace {

constexpr std::int64_t kFewestMade = 8;       // outputs of a group: rows of weights
constexpr std::int64_t kFewChannels = 8;      // below which a row of the window lies side by side
constexpr std::int64_t kLeastTogether = 4;    // channels and outputs of a group that is made with others
constexpr std::int64_t kRowsTogether = 64;    // outputs that are a tile's
constexpr std::int64_t kMostTogether = 1024;  // channels whose products with zeros cost little beside moving them
constexpr std::int64_t kMostCopies = 4;       // of each pixel, at which whole windows may lie side by side
constexpr std::int64_t kStageBytes = kTensorRowBytes, kStepBytes = 32, kMostRowBytes = 2 * kStageBytes;
constexpr std::string_view kNames[] = {"z", "y", "x"};  // of spatial dimensions, outermost first

std::int64_t ElementBytes(const Kernel& conv) { return static_cast<std::int64_t>(Bytes(InputType(conv, 0))); }
// Elements that addresses are multiples of.
std::int64_t Aligned(const Kernel& conv) { return 16 / ElementBytes(conv); }

// Along how many of the last dimensions of the window the channels of its places are side by side: as is said, or as it
// is by default.
std::size_t DimsBeside(const Kernel& conv) {
  const std::string knob(kWindowKnob);
  const std::string_view by =
      conv.settings.contains(knob) ? std::string_view(WordSetting(conv, knob)) : WaysThroughWindow(conv)[0];
  if (by == kWhole) return WindowMayBeSideBySide(conv) ? SpatialOf(conv) : 0;
  return by == kRows && RowsMayBeSideBySide(conv) ? 1 : 0;
}
// Of a copy that has the channels of all places of these dimensions of the window side by side.
void LieBeside(Convolution& shape, std::size_t dims) {
  for (std::size_t d = 3 - dims; d < 3; ++d) {
    WindowDim& dim = shape.dims[d];
    shape.channels *= dim.window;
    dim = {.in = dim.out, .out = dim.out};
  }
}
// The convolution as product `number` multiplies it.
Convolution ShapeOf(const Kernel& conv, std::int64_t number) {
  Convolution shape(conv);
  if (LeavesApart(conv)) return ConvPhase(conv, number).Shape();
  LieBeside(shape, DimsBeside(conv));
  const std::int64_t together = GroupsTogether(conv);
  shape.groups /= together;
  shape.channels *= together;
  shape.made *= together;
  return shape;
}

// A convolution without gaps: where its window stands at the first output, per spatial dimension of the three.
std::int64_t LowerOf(const Convolution& shape, std::size_t d) {
  const WindowDim& dim = shape.dims[d];
  return shape.transposed ? dim.padding + 1 - dim.Reach() : -dim.padding;
}
PixelWalk WalkOf(const Convolution& shape, std::size_t spatial) {
  PixelWalk walk;
  for (std::size_t d = 3 - spatial; d < 3; ++d) {
    const WindowDim& dim = shape.dims[d];
    const std::int64_t lower = LowerOf(shape, d);
    walk.lower.push_back(lower);
    walk.upper.push_back(lower + (dim.out - 1) * dim.stride - (dim.in - 1));
    walk.stride.push_back(dim.stride);
  }
  return walk;
}

// Strides of what an operand of the chain is read by, along all pixels of an image as one; nothing if they are no one.
std::optional<std::int64_t> PixelStride(const Kernel& conv, std::size_t operand) {
  const auto& strides = conv.operands[operand].strides;
  std::int64_t stride = 0, extent = 1;
  for (std::size_t d = 2 + SpatialOf(conv); d-- > 2;) {
    const std::int64_t size = conv.space[d].extent;
    if (size == 1) continue;
    if (extent > 1 && strides[d] != stride * extent) return std::nullopt;
    if (extent == 1) stride = strides[d];
    extent *= size;
  }
  return stride;
}

bool PixelsAreRows(const Kernel& conv) { return MakesChannelsLast(conv); }

std::optional<std::string> WhyNoWalk(const Convolution& shape, std::size_t spatial) {
  const PixelWalk walk = WalkOf(shape, spatial);
  const std::int64_t least = LeastPixelCorner(spatial);
  for (std::size_t d = 0; d < spatial; ++d) {
    const WindowDim& dim = shape.dims[3 - spatial + d];
    if (dim.stride > kMostPixelStride) return fmt::format("strides are {} at most", kMostPixelStride);
    if (std::min(walk.lower[d], walk.upper[d]) < least || std::max(walk.lower[d], walk.upper[d]) >= -least ||
        dim.Reach() > -2 * least)
      return fmt::format("the copy engine reaches {} pixels beyond an image at most, and windows are as many twice",
                         -least);
  }
  return std::nullopt;
}

// Of a place of the window, how many channels a stage has: all that it has room for, or, of groups, whose channels lie
// side by side, as many as every other.
std::int64_t StageChannels(const Kernel& conv, const Convolution& shape) {
  const std::int64_t depth = kStageBytes / ElementBytes(conv), step = kStepBytes / ElementBytes(conv);
  if (shape.groups == 1) return depth;
  std::int64_t stages = (shape.channels + depth - 1) / depth;
  while (shape.channels % (stages * step) != 0) ++stages;
  return shape.channels / stages;
}

// What a copy's channels are a multiple of. The copy engine is slow where it fills up lines itself: 64 images of 3 x
// 224 x 224 under windows of 7 x 7 take 353 us with 21 channels of each, 110 with 32 of x and 64 of w
// (docs/measured/cuda_layers.md). Whole windows stay as they are, so that a copy only moves elements.
std::int64_t CopiedChannels(const Kernel& conv, int input, std::size_t beside) {
  if (beside == 0 || (input == 0 && beside == SpatialOf(conv))) return Aligned(conv);
  return (input == 0 ? kStageBytes / 2 : kStageBytes) / ElementBytes(conv);
}

// Images have few channels, of which pixels lie side by side in windows.
bool PixelsComeFirst(const TileCopy& copy) { return copy.beside > 1 && copy.of[1] < kFewChannels; }

bool MayBeTogether(const Convolution& shape) {
  return !shape.transposed && std::min(shape.channels, shape.made) >= kLeastTogether;
}

}  // namespace

bool AllGroupsMayBeTogether(const Kernel& conv) {
  const Convolution shape(conv);
  return shape.groups == 1 || (MayBeTogether(shape) && shape.groups * shape.channels <= kMostTogether);
}

std::int64_t GroupsTogether(const Kernel& conv) {
  const Convolution shape(conv);
  const std::int64_t step = kStepBytes / ElementBytes(conv);
  if (shape.groups == 1 || !MayBeTogether(shape)) return 1;
  if (MakesChannelsLast(conv)) return shape.groups;
  if (shape.channels % step == 0 && shape.made >= kFewestMade) return 1;
  for (std::int64_t together = 2; together < shape.groups; ++together) {
    if (shape.groups % together == 0 && together * shape.channels % step == 0 && together * shape.made >= kRowsTogether)
      return together;
  }
  return AllGroupsMayBeTogether(conv) ? shape.groups : 1;
}

bool RowsMayBeSideBySide(const Kernel& conv) {
  const Convolution shape(conv);
  const std::int64_t window = shape.dims[2].window;
  return !shape.transposed && shape.groups == 1 && window > 1 &&
         shape.channels * window * ElementBytes(conv) <= kMostRowBytes;
}
bool RowsAreSideBySide(const Kernel& conv) { return WaysThroughWindow(conv)[0] == kRows; }

bool WindowMayBeSideBySide(const Kernel& conv) {
  const Convolution shape(conv);
  if (shape.transposed || shape.groups > 1 || shape.Taps() == 1) return false;
  std::int64_t pixels = 1;  // of x
  for (const WindowDim& dim : shape.dims) pixels *= dim.in;
  return shape.Taps() * shape.Pixels() <= kMostCopies * pixels;
}

std::vector<std::string_view> WaysThroughWindow(const Kernel& conv) {
  const Convolution shape(conv);
  const bool few = shape.channels < kFewChannels, rows = RowsMayBeSideBySide(conv), whole = WindowMayBeSideBySide(conv);
  const bool overlaps =
      std::ranges::any_of(shape.dims, [](const WindowDim& dim) { return dim.out > 1 && dim.stride < dim.Reach(); });
  const bool walks = !WhyNoWalk(shape, SpatialOf(conv));
  std::vector<std::string_view> ways;
  if (whole && (!walks || (few && !overlaps))) ways.push_back(kWhole);
  if (rows && few) ways.push_back(kRows);
  ways.push_back(kPlaces);
  if (rows && !few) ways.push_back(kRows);
  if (whole && !overlaps && ways[0] != kWhole) ways.push_back(kWhole);
  return ways;
}

std::optional<std::string> WhyNoTensorOperands(const Kernel& conv) {
  for (const auto& input : conv.inputs) {
    if (input->kind != Expr::Kind::kLoad) return "its operands lie in memory: make them in a map of their own";
  }
  const DType type = InputType(conv, 0);
  if (type != InputType(conv, 1) || (!IsHalf(type) && type != DType::kF32) || conv.compute == DType::kF64)
    return "the tensor cores multiply operands that are both f16, both bf16 or both f32";
  return std::nullopt;
}

std::vector<Setting> ConvTf32Values(const Kernel& conv) {
  return InputType(conv, 0) == DType::kF32 ? std::vector{Word("tf32")} : std::vector<Setting>();
}
std::optional<std::string> CheckConvTf32(const Kernel&, const Setting& value) {
  return CheckWord(value, {"f32", "tf32"});  // of 16 bits either is what the operands are
}

std::optional<std::string> WhyNotInTf32(const Kernel& conv) {
  const auto precision = conv.settings.find("precision");
  if (InputType(conv, 0) == DType::kF32 && (precision == conv.settings.end() || !(precision->second == Word("tf32"))))
    return "products of f32 are made in TF32 here: set 'precision: tf32' where that is enough";
  return std::nullopt;
}

std::optional<std::string> WhyNoConvProduct(const Kernel& conv) {
  if (const auto lacks = Lacks(*conv.device, kTensorNeeds)) return *lacks;
  if (auto why = WhyNoTensorOperands(conv)) return why;
  if (LeavesApart(conv)) {
    if (auto why = WhyNotApart(conv)) return why;
  }
  const Convolution shape = ShapeOf(conv, 0);
  const std::size_t spatial = SpatialOf(conv);
  const std::int64_t step = kStepBytes / ElementBytes(conv);
  if (shape.made < kFewestMade) return fmt::format("a group has fewer than {} outputs", kFewestMade);
  if (shape.groups > 1 && shape.channels % step != 0) return fmt::format("groups have a multiple of {} channels", step);
  for (std::int64_t number = 0; number < ConvProductsOf(conv); ++number) {
    if (auto why = WhyNoWalk(ShapeOf(conv, number), spatial)) return why;
  }
  for (const int operand : OperandsOf({conv.epilogue})) {
    if (!PixelStride(conv, static_cast<std::size_t>(operand)))
      return "what the chain reads goes through an image in one step from pixel to pixel: end it in a map";
  }
  return std::nullopt;
}

ConvProduct::ConvProduct(const Kernel& conv, std::int64_t number)
    : conv_(conv),
      shape_(ShapeOf(conv, number)),
      spatial_(SpatialOf(conv)),
      pixels_are_rows_(PixelsAreRows(conv)),
      depth_(kStageBytes / ElementBytes(conv)),
      stage_channels_(StageChannels(conv, shape_)),
      place_stages_((shape_.channels + stage_channels_ - 1) / stage_channels_) {
  if (LeavesApart(conv)) phase_.emplace(conv, number);
  const std::int64_t pixels = shape_.Pixels(), k = shape_.Taps() * place_stages_ * depth_;
  Kernel& to = product_;
  to.family = FindFamily("matmul");
  to.attributes["heads"] = {0};
  if (!pixels_are_rows_) to.attributes[std::string(kWalksB)] = {1};
  to.way = conv.way;
  to.device = conv.device;
  to.compute = conv.compute;
  to.target = conv.target;
  to.target_type = conv.target_type;
  to.settings = conv.settings;
  to.text = conv.text;
  const std::int64_t m = pixels_are_rows_ ? pixels : shape_.made, n = pixels_are_rows_ ? shape_.made : pixels;
  for (const std::int64_t extent : {shape_.batch, shape_.groups, m, n, k}) to.space.push_back(NewIndex(extent));
  to.axes = {4};
  to.result = {shape_.batch, shape_.groups, m, n};
  to.operands = conv.operands;
  to.operand_types = conv.operand_types;
  for (KernelOperand& operand : to.operands) operand.strides.assign(5, 0);
  for (const int operand : OperandsOf({conv.epilogue})) {
    const auto o = static_cast<std::size_t>(operand);
    const auto& strides = conv.operands[o].strides;
    auto& mine = to.operands[o].strides;
    const std::int64_t of_group = shape_.made / (phase_ ? phase_->OutputsOfOne() : 1);
    mine = {strides[0], strides[1] * of_group, strides[1], PixelStride(conv, o).value_or(0), 0};
    if (pixels_are_rows_) std::swap(mine[2], mine[3]);
  }
  const std::vector<Expr> place(to.space.begin(), to.space.end());
  for (const int input : {0, 1}) {
    KernelOperand operand{.buffer = InputOperand(conv, IsPixels(input) ? 0 : 1).buffer, .strides = {0, 0, 0, 0, 1}};
    operand.strides[input == 0 ? 2 : 3] = k;
    if (IsPixels(input)) operand.strides[0] = pixels * k;
    // Of a group: other weights, and other channels of the same pixels.
    operand.strides[1] = IsPixels(input) ? shape_.batch * pixels * k : shape_.made * k;
    to.inputs.push_back(Load(static_cast<int>(to.operands.size()), place, ScalarType::kReal));
    to.operands.push_back(std::move(operand));
    to.operand_types.push_back(InputType(conv, 0));
  }
  to.epilogue = conv.epilogue;
}

std::int64_t ConvProduct::StepsOfStage() const {
  return (std::min(shape_.channels, stage_channels_) * ElementBytes(conv_) + kStepBytes - 1) / kStepBytes;
}

TensorMapArgument ConvProduct::Map(const KernelProgram& program, int input, std::int64_t lines) const {
  const bool pixels = IsPixels(input);
  const int of = pixels ? 0 : 1;
  const KernelOperand& operand = InputOperand(conv_, static_cast<std::size_t>(of));
  const TileCopy role = TileCopyOf(conv_, of);
  TensorMapArgument map{.buffer = program.buffers[static_cast<std::size_t>(operand.buffer)].name,
                        .offset = operand.offset,
                        .swizzle = static_cast<int>(kTensorRowBytes),
                        .tf32 = InputType(conv_, 0) == DType::kF32};
  // Of an extent of 1: any that is a multiple of 16 bytes.
  const std::int64_t line = role.shape[1], there = role.beside > 0 ? line : role.channels;
  const auto stride = [&](std::size_t d) { return role.shape[d] == 1 ? line : operand.strides[role.dims[d]]; };
  if (pixels) {
    map.shape = {role.shape[0]};
    map.strides = {stride(0)};
    for (std::size_t d = 0; d < spatial_; ++d) {
      map.shape.push_back(role.shape[2 + d]);
      map.strides.push_back(stride(2 + d));
    }
    map.shape.push_back(there);
    map.strides.push_back(1);
    map.box = {lines, depth_};
    map.pixels = WalkOf(shape_, spatial_);
    return map;
  }
  std::int64_t place = line;  // from one place of the window to the next
  for (std::size_t d = spatial_; d-- > 0;) {
    if (role.shape[2 + d] == 1) continue;
    place = stride(2 + d);
    break;
  }
  std::int64_t places = 1;
  for (std::size_t d = 0; d < spatial_; ++d) places *= role.shape[2 + d];
  map.shape = {1, places, role.shape[0], there};
  map.strides = {place, place, stride(0), 1};
  map.box = {1, 1, lines, depth_};
  return map;
}

std::string ConvProduct::Group(const std::string& times) const {
  return shape_.groups == 1 ? "" : fmt::format(" + channel_group * {}", times);
}

void ConvProduct::OpenTile(DeviceWriter& out, const MatmulText& text, const std::vector<std::string>& batches,
                           const TensorSettings& settings) const {
  out.Define(std::string(kTensorPixelsText));
  const std::int64_t images = text.shape.batch.size() - (shape_.groups > 1 ? 1 : 0), pixels = shape_.Pixels();
  const std::string share = !pixels_are_rows_ && settings.cluster > 1
                                ? fmt::format(" + member * {}", settings.tile_n / settings.cluster)
                                : "";
  if (shape_.groups > 1) out.Line(fmt::format("const int channel_group = {};", batches.back()));
  out.Line(fmt::format("const {} pixel = {}{};", text.index, pixels_are_rows_ ? "m0" : "n0", share));
  out.Line(fmt::format("const int image = {}pixel / {}, in_image = pixel % {};", images > 0 ? batches[0] + " + " : "",
                       pixels, pixels));
  std::int64_t below = pixels;
  std::string line;
  for (std::size_t d = 3 - spatial_; d < 3; ++d) {
    const WindowDim& dim = shape_.dims[d];
    below /= dim.out;
    std::string at = below == 1 ? "in_image" : fmt::format("in_image / {}", below);
    if (d > 3 - spatial_) at += fmt::format(" % {}", dim.out);
    if (dim.stride > 1) at = fmt::format("({}) * {}", at, dim.stride);
    line += fmt::format("{}{} = {} + {}", line.empty() ? "const int " : ", ", kNames[d], at, LowerOf(shape_, d));
  }
  out.Line(line + ";");
}

void ConvProduct::OpenStage(DeviceWriter& out) const {
  out.Line(place_stages_ == 1 ? fmt::format("const int place = block, channel = 0;")
                              : fmt::format("const int place = block / {0}, channel = block % {0} * {1};",
                                            place_stages_, stage_channels_));
}

std::string ConvProduct::Copy(int input, const std::string& to, const std::string& map, const std::string& share,
                              int blocks) const {
  const std::string all = blocks == 0 ? "" : "ToAll", whom = blocks == 0 ? "" : fmt::format(", {}", blocks);
  if (!IsPixels(input)) {
    const std::string row =
        fmt::format("{}{}{}{}", input == 0 ? "m0" : "n0", share, Group(fmt::format("{}", shape_.made)),
                    phase_ ? fmt::format(" + {}", phase_->FirstWeight()) : "");
    return fmt::format("CopyBox{}({}, &{}, channel, {}, {}, 0, barrier{});", all, to, map, row,
                       phase_ ? phase_->WeightPlace() : "place", whom);
  }
  std::string places, offsets;
  std::int64_t inside = 1;
  for (std::size_t d = 3; d-- > 3 - spatial_;) {
    const WindowDim& dim = shape_.dims[d];
    places += fmt::format("{}, ", kNames[d]);
    std::string offset = inside == 1 ? "place" : fmt::format("place / {}", inside);
    if (d > 3 - spatial_) offset += fmt::format(" % {}", dim.window);
    if (dim.dilation > 1) offset = fmt::format("{} * {}", offset, dim.dilation);
    offsets += offset + ", ";
    inside *= dim.window;
  }
  return fmt::format("CopyPixels{}({}, &{}, channel{}, {}image, {}barrier{});", all, to, map,
                     Group(fmt::format("{}", shape_.channels)), places, offsets, whom);
}

bool LiesForTiles(const Kernel& conv, int input) {
  const TileCopy role = TileCopyOf(conv, input);
  if (role.backwards || role.phases || role.beside > 0 || role.together > 1) return false;
  const KernelOperand& operand = InputOperand(conv, static_cast<std::size_t>(input));
  const std::int64_t whole = Aligned(conv);
  const auto extent = [&](std::size_t d) { return conv.space[role.dims[d]].extent; };
  const auto stride = [&](std::size_t d) { return operand.strides[role.dims[d]]; };
  if (operand.offset % whole != 0 || (extent(1) > 1 && stride(1) != 1)) return false;
  for (std::size_t d = 0; d < role.dims.size(); ++d) {
    if (d != 1 && extent(d) > 1 && (stride(d) < 1 || stride(d) % whole != 0)) return false;
  }
  // Of weights, the places of the window are one dimension.
  std::int64_t step = 0;
  for (std::size_t d = role.dims.size(); input == 1 && d-- > 2;) {
    if (extent(d) == 1) continue;
    if (step != 0 && stride(d) != step) return false;
    step = stride(d) * extent(d);
  }
  return true;
}

TileCopy TileCopyOf(const Kernel& conv, int input) {
  const ConvolutionOperand role = ConvolutionOperandOf(conv, input);
  TileCopy copy{.dims = role.dims, .of = role.shape};
  if (input == 1 && conv.variant == "transposed") {
    std::swap(copy.dims[0], copy.dims[1]);
    std::swap(copy.of[0], copy.of[1]);
    (LeavesApart(conv) ? copy.phases : copy.backwards) = true;
  }
  copy.shape = copy.of;
  copy.channels = copy.of[1];
  if (copy.phases) {
    copy.shape = ConvPhase(conv, 0).Weights(SpatialOf(conv));
    copy.channels = copy.shape[1];
  }
  if (input == 1) copy.together = GroupsTogether(conv);
  copy.channels *= copy.together;
  copy.beside = DimsBeside(conv);
  for (std::size_t j = 0; j < copy.beside; ++j) {
    const WindowDim dim = Convolution(conv).dims[2 - j];
    copy.channels *= dim.window;
    copy.shape[copy.shape.size() - 1 - j] = input == 0 ? dim.out : 1;
  }
  copy.shape[1] = RoundUp(copy.channels, CopiedChannels(conv, input, copy.beside));
  return copy;
}

std::optional<std::vector<TileDim>> TileDimsOf(const Kernel& conv, int input, const TileCopy& copy) {
  if (input != 0 || copy.beside == 0 || copy.channels != copy.shape[1]) return std::nullopt;
  const Convolution shape(conv);
  const std::size_t rank = copy.shape.size(), spatial = rank - 2, alone = spatial - copy.beside;
  std::vector<TileDim> dims = {{.extent = copy.shape[0], .of = 0}}, taps;
  for (std::size_t d = 0; d < spatial; ++d) {
    const WindowDim& dim = shape.dims[3 - spatial + d];
    if (d < alone) {
      dims.push_back({.extent = copy.shape[2 + d], .of = 2 + d});
      continue;
    }
    if (dim.padding != 0 || dim.dilation != 1 || dim.stride != dim.window || dim.out * dim.stride > dim.in)
      return std::nullopt;
    dims.push_back({.extent = dim.out, .step = dim.stride, .of = 2 + d});
    taps.push_back({.extent = dim.window, .of = 2 + d});
  }
  taps.insert(PixelsComeFirst(copy) ? taps.begin() : taps.end(), {.extent = copy.of[1], .of = 1});
  dims.insert(dims.end(), taps.begin(), taps.end());
  return dims;
}

Expr ElementOf(const Kernel& conv, int input, const TileCopy& copy, const std::vector<IndexVar>& place) {
  std::vector<Expr> from(place.begin(), place.end());
  const std::size_t x = from.size() - 2;
  Expr& channel = from.back();
  Expr there;
  const auto within = [&](Expr condition) { there = there ? And(there, std::move(condition)) : std::move(condition); };
  if (copy.channels != copy.shape[1]) within(Less(channel, copy.channels));
  if (copy.together > 1) {
    const Expr group = Apply(BinaryOp::kFloorDiv, from[0], Convolution(conv).made);
    within(Equal(Apply(BinaryOp::kFloorMod, group, copy.together), Apply(BinaryOp::kFloorDiv, channel, copy.of[1])));
    channel = Apply(BinaryOp::kFloorMod, channel, copy.of[1]);
  }
  if (copy.beside > 0) {
    const Convolution shape(conv);
    const Expr all = channel;
    std::int64_t below = 1, left = copy.channels;
    const auto next = [&](std::int64_t extent) {
      const Expr from_here = below == 1 ? all : Apply(BinaryOp::kFloorDiv, all, below);
      below *= extent;
      left /= extent;
      return left == 1 ? from_here : Apply(BinaryOp::kFloorMod, from_here, extent);
    };
    const bool pixels_first = PixelsComeFirst(copy);
    if (!pixels_first) channel = next(copy.of[1]);
    for (std::size_t j = 0; j < copy.beside; ++j) {
      const WindowDim& dim = shape.dims[2 - j];
      Expr& place_in = from[x - j];
      const Expr tap = next(dim.window);
      place_in = input == 1 ? tap : place_in * dim.stride + tap * dim.dilation - Expr(dim.padding);
      if (input == 0 && (dim.padding > 0 || (dim.out - 1) * dim.stride + dim.Reach() > dim.in)) {
        within(LessEqual(Expr(std::int64_t{0}), place_in));
        within(Less(place_in, dim.in));
      }
    }
    if (pixels_first) channel = next(copy.of[1]);
  }
  for (std::size_t d = 1; copy.backwards && d <= x; ++d) from[d] = Expr(copy.of[d + 1] - 1) - from[d];
  if (copy.phases) ConvPhase(conv, 0).FindWeight(from, within);
  const Expr load = Load(0, from, ScalarType::kReal);
  return there ? Select(there, load, 0.0) : load;
}

}  // namespace hone::dsl
