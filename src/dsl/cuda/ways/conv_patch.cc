// Writes convolutions of few input channels for CUDA, as first layers of networks for images are: their windows have
// too few numbers for the tiles of products, whose rows would be zeros more than numbers, and what they read is little
// beside what they write. A block takes tiles of a plane of outputs, one after the other: the patch of the input that
// their windows reach is put into shared memory, with zeros where the padding is, and the tensor cores take pixels x
// terms of windows from where they lie there (conv_patch.cuh). While they do, what the next tile needs is on its way.
// Weights are brought into the order of the tensor cores' operands once a block. Sums of pixels pass through shared
// memory, so that long runs of the result are written as one, with the chain at their end; a tile of whole rows is one
// run. Channels that lie last are written from registers. x and w are read as they lie, the result is written as
// `layout` says.
//
// A transposed one is a convolution whose outputs at a place are those of all its phases (conv_phases.h); `outputs` and
// `pixels` are so below. Its outputs are (o, z, y, x), phases of x last, whose pixels are neighbours in the result; or
// (z, y, x, o) where channels lie last.
//
//   rows    outputs of a tile down: the more, the fewer lines of the patch are read twice
//   pixels  outputs of a tile: columns are what they leave of a row, as equal strips of it
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/rounding.h"
#include "base/sha256.h"
#include "dsl/cuda/channels_last.h"
#include "dsl/cuda/conv_patch_cut.h"
#include "dsl/cuda/conv_phases.h"
#include "dsl/cuda/conv_product.h"
#include "dsl/cuda/expr.h"
#include "dsl/knobs.h"
#include "dsl/shape/convolution.h"
#include "dsl/shape/loops.h"
#include "dsl/way.h"
#include "target/device_model.h"

namespace hone {
extern const std::string_view kMmaText;        // dsl/cuda/mma.cuh
extern const std::string_view kMmaTf32Text;    // dsl/cuda/mma_tf32.cuh
extern const std::string_view kConvPatchText;  // dsl/cuda/conv_patch.cuh
}  // namespace hone

namespace hone::dsl::cuda_way_conv_patch {
namespace {

constexpr std::size_t kZ = 0, kY = 1, kX = 2;
constexpr std::int64_t kMostUnrolled = 12;  // steps of the product
constexpr std::int64_t kFewChannels = 16, kFewTransposed = 8, kSomeMade = 8;
constexpr std::int64_t kBlocks = 4;  // of a multiprocessor, in whose registers they are

class PatchWriter {
 public:
  PatchWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel),
        out_(out),
        whole_(kernel),
        conv_(TogetherOf(kernel)),
        cut_(kernel, IntSetting(kernel, "rows"), IntSetting(kernel, "pixels")),
        spatial_(SpatialOf(kernel)),
        index_(kernel.space.size(), "0") {}

  void Write() {
    const std::string shape = DefineShape();
    out_.BeginKernel("patch", 32 * cut_.warps, static_cast<int>(kBlocks / CeilDiv(cut_.warps, 4)));
    out_.Line("extern __shared__ __align__(16) unsigned char memory[];");
    patch_ = out_.Fresh("patch");
    out_.Line(fmt::format("Patch<{}> {}(memory);", shape, patch_));
    PutWeights(shape);
    DefineFetch(shape);
    out_.Line("unsigned unit = blockIdx.x;");
    out_.Line("fetch(unit);");
    out_.Open(fmt::format("for (; unit < {}; unit += gridDim.x)", Units()));
    out_.Line(fmt::format("{}.Settle();", patch_));
    out_.Line(fmt::format("if (unit + gridDim.x < {}) fetch(unit + gridDim.x);", Units()));
    out_.Line("__syncthreads();");
    NamePlaces("unit");
    WriteOutputs();
    out_.Line("__syncthreads();");
    out_.Close();
    const std::int64_t most = kernel_.device->multiprocessors *
                              std::min(kBlocks, kernel_.device->limits.shared_bytes / (cut_.shared + (1 << 10)));
    out_.Launch({.grid_x = std::min(Units(), CeilDiv(most, cut_.parts)),
                 .grid_y = cut_.parts,
                 .reads = OperandBuffers({&kernel_, 1}),
                 .writes = {kernel_.target},
                 .shared_bytes = cut_.shared});
  }

 private:
  const WindowDim& z() const { return conv_.dims[kZ]; }
  const WindowDim& y() const { return conv_.dims[kY]; }
  const WindowDim& x() const { return conv_.dims[kX]; }
  bool Has(std::size_t dim) const { return dim + spatial_ >= 3; }
  void Put(std::size_t first, std::size_t dim, const std::string& text) {
    if (Has(dim)) index_[first + dim + spatial_ - 3] = text;
  }
  void PutOut(std::size_t dim, const std::string& text) { Put(2, dim, text); }
  void PutTap(std::size_t dim, const std::string& text) { Put(3 + spatial_, dim, text); }
  void PutIn(std::size_t dim, const std::string& text) { Put(4 + 2 * spatial_, dim, text); }
  std::int64_t Strips() const { return CeilDiv(x().out, cut_.strip); }
  std::int64_t Tiles() const { return CeilDiv(y().out, cut_.rows); }
  std::int64_t Units() const { return conv_.batch * z().out * Tiles() * Strips(); }
  std::int64_t Phases(std::size_t dim) const { return static_cast<std::int64_t>(whole_.phases[dim].size()); }
  // Names the last of the numbers that `left` is made of, below `extent`, and takes it out of that.
  std::string NameLast(const std::string& hint, std::int64_t extent, std::string& left) {
    if (extent == 1) return "0";
    std::string name = out_.Fresh(hint);
    out_.Line(fmt::format("const int {} = {} % {};", name, left, extent));
    left = fmt::format("({} / {})", left, extent);
    return name;
  }
  // Names the channel of the result and the phases of an output out of its number in the block.
  void FindOutput(const std::string& number) {
    std::string left =
        cut_.parts == 1 ? fmt::format("({})", number) : fmt::format("(blockIdx.y * {} + {})", cut_.part, number);
    const auto last = [&](const std::string& hint, std::int64_t extent) { return NameLast(hint, extent, left); };
    if (Phases(kZ) * Phases(kY) * Phases(kX) == 1) {
      index_[1] = left;
    } else if (MakesChannelsLast(kernel_)) {
      index_[1] = last("output", whole_.made);
      for (const std::size_t dim : {kX, kY, kZ}) phase_[dim] = last("phase", Phases(dim));
    } else {
      for (const std::size_t dim : {kX, kY, kZ}) phase_[dim] = last("phase", Phases(dim));
      index_[1] = left;
    }
    index_.back() = index_[1];
  }
  // The place of the window that takes the input at `tap_*` of those that any phase sees to the output's own; leaves
  // the function where there is none.
  std::string TapOf(std::size_t dim) {
    const std::string tap = fmt::format("tap_{}", "zyx"[dim]);
    if (!whole_.transposed) return tap;
    const WindowDim& window = whole_.dims[dim];
    const std::string distance = out_.Fresh("distance");
    out_.Line(fmt::format("const int {} = {} + {} - {} * {};", distance, phase_[dim],
                          window.padding + conv_.dims[dim].padding * window.stride, tap, window.stride));
    out_.Line(fmt::format("if ({0} < 0 || {0} % {1} != 0 || {0} / {1} >= {2}) return 0;", distance, window.dilation,
                          window.window));
    return fmt::format("({} / {})", distance, window.dilation);
  }
  // A name that is the same for the same convolution, so that layers alike are one kernel.
  std::string DefineShape() {
    const DType type = InputType(kernel_, 0);
    std::string text = fmt::format("  using Type = {};\n  using Held = {};\n", DeviceType(type),
                                   cut_.floats ? "float" : "unsigned short");
    const auto number = [&](std::string_view name, std::int64_t value) {
      text += fmt::format("  static constexpr int k{} = {};\n", name, value);
    };
    number("Floats", cut_.floats);
    number("Channels", conv_.channels);
    number("ChannelsHeld", cut_.held);
    number("Made", conv_.made);
    number("ResultLast", MakesChannelsLast(kernel_));
    constexpr std::string_view kNames[] = {"Z", "Y", "X"};
    for (const std::size_t dim : {kZ, kY, kX}) {
      number(fmt::format("Window{}", kNames[dim]), conv_.dims[dim].window);
      number(fmt::format("Stride{}", kNames[dim]), conv_.dims[dim].stride);
      number(fmt::format("Dilation{}", kNames[dim]), conv_.dims[dim].dilation);
    }
    number("Rows", cut_.rows);
    number("Strip", cut_.strip);
    number("Lines", cut_.lines);
    number("Wide", cut_.wide);
    number("Plane", cut_.plane);
    number("Load", cut_.load);
    number("Shift", cut_.shift);
    number("RowTiles", cut_.row_tiles);
    number("ColumnTiles", cut_.column_tiles);
    number("StagedTiles", cut_.staged_tiles);
    number("Threads", 32 * cut_.warps);
    number("Unrolled", cut_.steps <= kMostUnrolled ? cut_.steps : 4);
    number("Pack", cut_.pack);
    number("Beside", PhasesBeside(kernel_));
    number("PlacesAt", cut_.places_at);
    number("PatchAt", cut_.patch_at);
    number("AheadAt", cut_.ahead_at);
    const std::string name = "Patch" + Sha256(text).substr(0, 8);
    out_.Define(std::string(cut_.floats ? kMmaTf32Text : kMmaText));
    out_.Define(std::string(kConvPatchText));
    out_.Define(fmt::format("struct {} {{\n{}}};\n", name, text));
    return name;
  }

  // Where x or w begins, and where its element at index_ is: as halves' bits, or as f32.
  std::string Begin(std::size_t input) const {
    const std::string name = out_.BufferName(InputOperand(kernel_, input).buffer);
    return cut_.floats ? name : fmt::format("reinterpret_cast<const unsigned short*>({})", name);
  }
  std::string Place(std::size_t input) const {
    const KernelOperand& view = InputOperand(kernel_, input);
    return fmt::format("{} + {}", Begin(input), Address(index_, view.strides, view.offset));
  }

  void PutWeights(const std::string& shape) {
    out_.Open(fmt::format("{}.PutWeights([&](int made, int channel, int tap_z, int tap_y, int tap_x) -> {}::Held",
                          patch_, shape));
    FindOutput("made");
    index_[(whole_.transposed ? 3 + 2 * spatial_ : 2 + spatial_)] = "channel";
    for (const std::size_t dim : {kZ, kY, kX}) PutTap(dim, TapOf(dim));
    out_.Line(fmt::format("return {}(*({}));", cut_.floats ? "Tf32Of" : "", Place(1)));
    out_.CloseWith(");");
  }

  void NamePlaces(const std::string& unit) {
    std::string left = unit;
    const auto part = [&](const std::string& hint, std::int64_t extent) { return NameLast(hint, extent, left); };
    strip_ = part("strip", Strips());
    tile_ = part("tile", Tiles());
    plane_ = part("depth", z().out);
    image_ = part("image", conv_.batch);
    index_[0] = image_;
  }

  void DefineFetch(const std::string& shape) {
    const std::string neighbours = fmt::format("Patch<{}>::Neighbours", shape);
    out_.Open("const auto fetch = [&](unsigned next)");
    NamePlaces("next");
    out_.Open(fmt::format("{}.Fetch([&]({}* to, int channel, int plane, int line, int column)", patch_, neighbours));
    std::string inside;
    const auto at = [&](std::size_t dim, const std::string& name, const std::string& where, std::int64_t before) {
      if (!Has(dim)) return;
      out_.Line(fmt::format("const {} {} = {} - {};", out_.index_type(), name, where, before));
      inside += fmt::format("{0}{1} >= 0 && {1} < {2}", inside.empty() ? "" : " && ", name, conv_.dims[dim].in);
      PutIn(dim, name);
    };
    at(kZ, "z", fmt::format("{} * {} + plane * {}", plane_, z().stride, z().dilation), z().padding);
    at(kY, "y", fmt::format("{} * {} + line", tile_, cut_.rows * y().stride), y().padding);
    at(kX, "x", fmt::format("{} * {} + column", strip_, cut_.strip * x().stride), x().padding + cut_.shift);
    index_[3 + 2 * spatial_] = "channel";
    out_.Line(fmt::format("const bool inside = {};", inside));
    out_.Line(fmt::format("CopyAhead(to, reinterpret_cast<const {}*>(inside ? {} : {}), inside);", neighbours, Place(0),
                          Begin(0)));
    out_.CloseWith(");");
    out_.CloseWith(";");
  }

  // Where a pixel of the tile is among those of an output: y and x, out of its number. Of outputs whose phases of x are
  // beside each other x is the result's.
  void PlacePixel(const std::string& pixel) {
    const std::int64_t strip = cut_.strip * PhasesBeside(kernel_);
    if (Has(kY))
      out_.Line(fmt::format("const {} y = {} * {} + {} / {};", out_.index_type(), tile_, cut_.rows, pixel, strip));
    out_.Line(fmt::format("const {} x = {} * {} + {} % {};", out_.index_type(), strip_, strip, pixel, strip));
  }
  void WriteOutputs() {
    const DType dtype = kernel_.target_type;
    const bool last = MakesChannelsLast(kernel_);
    std::string inside;
    for (const std::size_t dim : {kY, kX}) {
      const bool beside = dim == kX && PhasesBeside(kernel_) > 1;
      const std::int64_t out = beside ? whole_.dims[kX].out : conv_.dims[dim].out;
      if (out % (dim == kX ? cut_.strip * PhasesBeside(kernel_) : cut_.rows) == 0) continue;
      inside += fmt::format("{}{} < {}", inside.empty() ? "" : " && ", dim == kX ? "x" : "y", out);
    }
    out_.Open("const auto inside = [&](unsigned pixel)");
    PlacePixel("pixel");
    out_.Line(fmt::format("return {};", inside.empty() ? "true" : inside));
    out_.CloseWith(";");
    out_.Open(
        fmt::format("{}.Multiply(inside, [&](int made, unsigned pixel, const float (&sums)[{}])", patch_, cut_.pack));
    PlacePixel("pixel");
    FindOutput("made");
    const std::string channel = index_[1];
    for (const auto& [dim, at] : {std::pair{kZ, plane_}, {kY, std::string("y")}, {kX, std::string("x")}}) {
      const bool apart = Phases(dim) > 1 && !(dim == kX && PhasesBeside(kernel_) > 1);
      const std::string in_result = apart ? fmt::format("({} * {} + {})", at, Phases(dim), phase_[dim]) : at;
      PutOut(dim, in_result);
      if (apart && whole_.dims[dim].out % Phases(dim) != 0)
        out_.Line(fmt::format("if ({} >= {}) return;", in_result, whole_.dims[dim].out));
    }
    const std::vector<std::string> place(index_.begin(), index_.begin() + static_cast<std::ptrdiff_t>(2 + spatial_));
    out_.Line(
        fmt::format("const auto to = {} + {};", out_.TargetName(),
                    last ? Address(place, ChannelsLastStrides(kernel_.result), 0) : DenseAddress(kernel_, place)));
    const std::string type = PackType(out_, DeviceType(dtype), cut_.pack);
    out_.Line(fmt::format("{} finished;", type));
    out_.Unroll();
    out_.Open(fmt::format("for (unsigned v = 0; v < {}; ++v)", cut_.pack));
    if (last) {
      index_[1] = fmt::format("({} + v)", channel);
    } else {
      PlacePixel("(pixel + v)");
    }
    DeviceExpr end(out_, [this](const ExprNode& load) {
      if (load.kind == Expr::Kind::kValue) return std::string("sums[v]");
      const KernelOperand& view = kernel_.operands[static_cast<std::size_t>(load.buffer)];
      return LoadedText(
          out_, view.buffer,
          fmt::format("{}[{}]", out_.BufferName(view.buffer), Address(index_, view.strides, view.offset)));
    });
    end.BeCoarseWhereRounded({kernel_.epilogue}, {dtype});
    const std::string value = end.Text(kernel_.epilogue);
    out_.Line(fmt::format("finished.at[v] = {};", DeviceExpr::Stored(value, kernel_.epilogue->type, dtype)));
    out_.Close();
    out_.Line(fmt::format("StoreWhole(reinterpret_cast<{}*>(to), finished);", type));
    out_.CloseWith(");");
  }

  const Kernel& kernel_;
  DeviceWriter& out_;
  const Convolution whole_, conv_;  // the second as it is made: of a transposed one, all phases at once
  const PatchCut cut_;
  const std::size_t spatial_;
  std::vector<std::string> index_;  // of the space's dimensions, where the text stands
  std::string patch_, strip_ = "0", tile_ = "0", plane_ = "0", image_ = "0";
  std::string phase_[3] = {"0", "0", "0"};  // of the output that is looked at
};

std::vector<Setting> LayoutValues(const Kernel&) {
  return {Word(std::string(kChannelsFirst)), Word(std::string(kChannelsLast))};
}
std::optional<std::string> CheckLayout(const Kernel&, const Setting& value) {
  return CheckWord(value, {kChannelsFirst, kChannelsLast});
}

constexpr std::int64_t kPixels[] = {64, 128, 256};
std::vector<Setting> PixelsValues(const Kernel& kernel) {
  std::vector<std::pair<double, std::int64_t>> by_time;
  for (const std::int64_t pixels : kPixels) {
    if (const auto rows = RowsByTime(kernel, pixels); !rows.empty()) by_time.emplace_back(rows[0].first, pixels);
  }
  std::ranges::stable_sort(by_time, std::less(), &std::pair<double, std::int64_t>::first);
  std::vector<Setting> values;
  for (const auto& [time, pixels] : by_time) values.push_back(Whole(pixels));
  return values;
}
std::optional<std::string> WhyNot(const Kernel& kernel) {
  const Convolution conv(kernel);
  if (auto why = WhyNoTensorOperands(kernel)) return why;
  if (conv.groups != 1) return "it has no groups";
  if (ElementCount(kernel.result) == 0 || conv.channels == 0) return "it makes nothing";
  if (conv.transposed && 16 % PhasesBeside(kernel) != 0)
    return "a transposed one whose channels lie first has a stride of 1, 2, 4, 8 or 16 along the last dimension";
  if (auto why = WhyNotRounded(kernel)) return why;
  if (auto why = WhyNotInTf32(kernel)) return why;
  if (PixelsValues(kernel).empty())
    return fmt::format("its weights and the patch under a row of outputs take {} bytes of shared memory, more than {}",
                       PatchCut(kernel, 1, kPixels[0]).shared, MostSharedByPatch(kernel));
  return std::nullopt;
}

// Before the library, which costs 2, and tiles: 1.1 to 7 times as fast at 25 of 28 convolutions of 3 to 16 channels
// (docs/measured/cuda_convolutions.md). Behind tiles where three grids or more read the image (4 channels to 320 of
// 64 x 64: 56.6 us, tiles 50.3), and not where windows do not overlap, so that nothing is read twice (4 x 4 of 3
// channels: 65 us, tiles 29), or outputs are so few that the products' rows are zeros more than numbers (6 of 1
// channel: 280 us, our own 267).
// Transposed ones of 3 channels take a fifth to a third of what tiles take; of 16 tiles are ahead (361 and 316 us, 265
// and 150).
std::optional<double> Cost(const Kernel& kernel) {
  const Convolution conv(kernel);
  const bool overlap = std::ranges::any_of(conv.dims, [](const WindowDim& d) { return d.Reach() > d.stride; });
  const std::int64_t few = conv.transposed ? kFewTransposed : kFewChannels;
  if (conv.channels > few || conv.made < kSomeMade || !overlap) return std::nullopt;
  return CeilDiv(conv.made, kMostOutputsOfPatch) > 2 ? 1.95 : 1.8;
}

std::optional<std::string> CheckPixels(const Kernel& kernel, const Setting& value) {
  const auto* pixels = std::get_if<std::int64_t>(&value.value);
  if (pixels == nullptr || std::ranges::find(kPixels, *pixels) == std::end(kPixels))
    return "it is 64, 128 or 256; try 128";
  if (RowsByTime(kernel, *pixels).empty()) return "tiles of them and the weights do not fit shared memory; try 64";
  return std::nullopt;
}
std::vector<Setting> RowsValues(const Kernel& kernel) {
  std::vector<Setting> values;
  for (const auto& [time, rows] : RowsByTime(kernel, IntSetting(kernel, "pixels"))) values.push_back(Whole(rows));
  return values;
}
std::optional<std::string> CheckRows(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 16)) return why;
  if (!Fits(kernel, PatchCut(kernel, std::get<std::int64_t>(value.value), IntSetting(kernel, "pixels"))))
    return "the patch under them and the weights do not fit shared memory; try 1";
  return std::nullopt;
}

// In this order: a default may depend on those before it.
constexpr Knob kKnobs[] = {
    kConvTf32Knob,
    {kLayoutKnob, "how the result lies: channels_first, as PyTorch's; channels_last, where others read it so",
     LayoutValues, CheckLayout, /*with_neighbours=*/true},
    {"pixels", "outputs of a tile", PixelsValues, CheckPixels},
    {"rows", "rows of outputs of a tile", RowsValues, CheckRows},
};

void Emit(const KernelProgram&, const Kernel& kernel, DeviceWriter& out) { PatchWriter(kernel, out).Write(); }

}  // namespace

HONE_ROW(Way){
    .family = "conv",
    .name = "patch",
    .doc =
        "a kernel of our own on the tensor cores, for few input channels: the patch of the image under a tile lies in "
        "shared memory",
    .why_not = WhyNot,
    .cost = Cost,
    .multiplies = true,
    .reads_as_it_lies = true,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_conv_patch
