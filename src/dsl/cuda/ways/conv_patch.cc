// Writes convolutions of few input channels for CUDA, as first layers of networks for images are: their windows have
// too few numbers for the tiles of products, whose rows would be zeros more than numbers, and what they read is little
// beside what they write. A block takes tiles of a plane of outputs, one after the other: the patch of the input that
// their windows reach is put into shared memory, with zeros where the padding is, and the tensor cores take pixels x
// terms of windows from where they lie there (conv_patch.cuh). Weights are brought into the order of the tensor cores'
// operands once a block. Sums of a warp pass through shared memory, so that lines of the result are written as such,
// with the chain at their end. x and w are read as they lie, the result is written as `layout` says.
//
//   rows    outputs of a tile down: the more, the fewer lines of the patch are read twice
//   pixels  outputs of a tile: columns are what they leave of a row, as equal strips of it
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/rounding.h"
#include "base/sha256.h"
#include "dsl/cuda/channels_last.h"
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
constexpr std::int64_t kMostPart = 64;           // outputs that a warp makes at once
constexpr std::int64_t kMostUnrolled = 12;       // steps of the product
constexpr std::int64_t kMostShared = 100 << 10;  // two blocks to a multiprocessor at least
constexpr std::int64_t kFewChannels = 8;
constexpr std::int64_t kMostRead = 4;  // neighbours at once: 8 or 16 bytes
constexpr std::int64_t kBlocks = 4;    // of a multiprocessor, in whose registers they are

// How many neighbours of a line are read as one where strips of so many outputs begin: all of them or none are in the
// image.
std::int64_t NeighboursRead(const Kernel& kernel, const WindowDim& x, std::int64_t strip) {
  const KernelOperand& view = InputOperand(kernel, 0);
  const std::size_t column = 3 + 3 * SpatialOf(kernel);
  if (view.strides[column] != 1) return 1;
  std::int64_t load = kMostRead;
  const auto fits = [&] {
    bool all = x.in % load == 0 && strip * x.stride % load == 0 && view.offset % load == 0;
    for (std::size_t d = 0; d < view.strides.size(); ++d) all &= d == column || view.strides[d] % load == 0;
    return all;
  };
  while (!fits()) load /= 2;
  return load;
}

// How the work is cut, and where what lies in shared memory.
struct Cut {
  Cut(const Kernel& kernel, std::int64_t rows_wanted, std::int64_t pixels_wanted);

  bool floats = true;
  std::int64_t held = 1;                        // channels of the patch: halves lie by two
  std::int64_t rows = 1, strip = 1;             // of a tile
  std::int64_t lines = 1, wide = 1, plane = 1;  // of the patch; elements of a channel, of f32
  std::int64_t load = 1, shift = 0;  // neighbours that are read as one; columns before the first that is needed
  std::int64_t part = 8, parts = 1;  // outputs that are made at once
  std::int64_t warp_tiles = 2, warps = 1, staged = 1;
  std::int64_t steps = 1, pack = 1, sums_of_warp = 0;
  std::int64_t places_at = 0, patch_at = 0, sums_at = 0, shared = 0;  // bytes
};

Cut::Cut(const Kernel& kernel, std::int64_t rows_wanted, std::int64_t pixels_wanted)
    : floats(Bytes(InputType(kernel, 0)) == 4) {
  const Convolution conv(kernel);
  const WindowDim &z = conv.dims[kZ], &y = conv.dims[kY], &x = conv.dims[kX];
  held = floats ? conv.channels : RoundUp(conv.channels, 2);
  parts = CeilDiv(conv.made, kMostPart);
  part = RoundUp(CeilDiv(conv.made, parts), 8);
  warp_tiles = part > kMostPart / 2 ? 2 : 4;
  warps = std::max<std::int64_t>(1, pixels_wanted / (16 * warp_tiles));
  rows = std::min(rows_wanted, y.out);
  const std::int64_t across = std::max<std::int64_t>(1, warps * 16 * warp_tiles / rows);
  strip = std::min(across, CeilDiv(x.out, CeilDiv(x.out, across)));
  if (const std::int64_t even = RoundUp(strip, 8); even <= across) strip = even;
  lines = (rows - 1) * y.stride + y.Reach();
  load = NeighboursRead(kernel, x, strip);
  shift = (load - x.padding % load) % load;
  wide = RoundUp(shift + (strip - 1) * x.stride + x.Reach(), load);
  // Four channels of eight neighbouring pixels are in banks of their own.
  plane = RoundUp(z.window * lines * wide, 32) + 8 * std::min<std::int64_t>(x.stride, 2);
  steps = CeilDiv(conv.Taps() * held, floats ? 8 : 16);
  const bool last = MakesChannelsLast(kernel);
  staged = std::min<std::int64_t>(part / 8, warp_tiles == 2 ? 4 : 2);
  for (pack = 16 / static_cast<std::int64_t>(Bytes(kernel.target_type)); pack > 1; pack /= 2) {
    const bool fits = last ? conv.made % pack == 0 && 8 % pack == 0 : x.out % pack == 0 && strip % pack == 0;
    if (fits) break;
  }
  sums_of_warp = last ? 16 * warp_tiles * (8 * staged + 8) : 8 * staged * (16 * warp_tiles + 4);
  places_at = parts * steps * part / 8 * 32 * 8;
  patch_at = places_at + RoundUp(steps * 4 * 8, 16);
  const std::int64_t elements = floats ? conv.channels * plane : z.window * lines * wide * held;
  sums_at = patch_at + RoundUp(elements * (floats ? 4 : 2), 16);
  shared = sums_at + warps * sums_of_warp * 4;
}
std::int64_t MostShared(const Kernel& kernel) {
  return std::min<std::int64_t>(kMostShared, kernel.device->limits.block_shared_bytes);
}
Cut CutOf(const Kernel& kernel) { return {kernel, IntSetting(kernel, "rows"), IntSetting(kernel, "pixels")}; }

class PatchWriter {
 public:
  PatchWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel),
        out_(out),
        conv_(kernel),
        cut_(CutOf(kernel)),
        spatial_(SpatialOf(kernel)),
        index_(kernel.space.size(), "0") {}

  void Write() {
    const std::string shape = DefineShape();
    out_.BeginKernel("patch", 32 * cut_.warps, static_cast<int>(kBlocks / CeilDiv(cut_.warps, 4)));
    out_.Line("extern __shared__ __align__(16) unsigned char memory[];");
    patch_ = out_.Fresh("patch");
    out_.Line(fmt::format("Patch<{}> {}(memory);", shape, patch_));
    PutWeights(shape);
    const std::string unit = out_.Fresh("unit");
    out_.Open(fmt::format("for (int {0} = blockIdx.x; {0} < {1}; {0} += gridDim.x)", unit, Units()));
    NamePlaces(unit);
    PutPatch(shape);
    out_.Line("__syncthreads();");
    WriteOutputs();
    out_.Line("__syncthreads();");
    out_.Close();
    const std::int64_t most = kernel_.device->multiprocessors *
                              std::min(kBlocks, kernel_.device->limits.shared_bytes / (cut_.shared + (1 << 10)));
    out_.Launch({.grid_x = std::min(Units(), most),
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
    number("Part", cut_.part);
    number("Parts", cut_.parts);
    number("WarpTiles", cut_.warp_tiles);
    number("StagedTiles", cut_.staged);
    number("Threads", 32 * cut_.warps);
    number("Unrolled", cut_.steps <= kMostUnrolled ? cut_.steps : 4);
    number("Pack", cut_.pack);
    number("SumsOfWarp", cut_.sums_of_warp);
    number("PlacesAt", cut_.places_at);
    number("PatchAt", cut_.patch_at);
    number("SumsAt", cut_.sums_at);
    const std::string name = "Patch" + Sha256(text).substr(0, 8);
    out_.Define(std::string(cut_.floats ? kMmaTf32Text : kMmaText));
    out_.Define(std::string(kConvPatchText));
    out_.Define(fmt::format("struct {} {{\n{}}};\n", name, text));
    return name;
  }

  // Where an element of x or w at index_ is: as halves' bits, or as f32.
  std::string Place(std::size_t input) const {
    const KernelOperand& view = InputOperand(kernel_, input);
    const std::string name = out_.BufferName(view.buffer), address = Address(index_, view.strides, view.offset);
    return cut_.floats ? fmt::format("{} + {}", name, address)
                       : fmt::format("reinterpret_cast<const unsigned short*>({}) + {}", name, address);
  }

  void PutWeights(const std::string& shape) {
    out_.Open(fmt::format("{}.PutWeights([&](int made, int channel, int tap_z, int tap_y, int tap_x) -> {}::Held",
                          patch_, shape));
    index_[1] = "made";
    index_[2 + spatial_] = "channel";
    PutTap(kZ, "tap_z");
    PutTap(kY, "tap_y");
    PutTap(kX, "tap_x");
    out_.Line(fmt::format("return {}(*({}));", cut_.floats ? "Tf32Of" : "", Place(1)));
    out_.CloseWith(");");
  }

  void NamePlaces(const std::string& unit) {
    std::string left = unit;
    const auto part = [&](const std::string& hint, std::int64_t extent) -> std::string {
      if (extent == 1) return "0";
      const std::string name = out_.Fresh(hint);
      out_.Line(fmt::format("const int {} = {} % {};", name, left, extent));
      left = fmt::format("({} / {})", left, extent);
      return name;
    };
    strip_ = part("strip", Strips());
    tile_ = part("tile", Tiles());
    plane_ = part("depth", z().out);
    image_ = part("image", conv_.batch);
    index_[0] = image_;
  }

  void PutPatch(const std::string& shape) {
    out_.Open(fmt::format("{0}.PutPatch([&](int channel, int plane, int line, int column) -> Patch<{1}>::Neighbours",
                          patch_, shape));
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
    out_.Line(fmt::format("Patch<{}>::Neighbours held = {{}};", shape));
    out_.Line(
        fmt::format("if ({}) held = *reinterpret_cast<const Patch<{}>::Neighbours*>({});", inside, shape, Place(0)));
    if (cut_.floats) {
      out_.Unroll();
      out_.Line(fmt::format("for (int i = 0; i < {}; ++i) held.at[i] = Tf32Of(held.at[i]);", cut_.load));
    }
    out_.Line("return held;");
    out_.CloseWith(");");
  }

  void WriteOutputs() {
    const DType dtype = kernel_.target_type;
    const bool last = MakesChannelsLast(kernel_);
    out_.Open(
        fmt::format("{}.Multiply([&](int made, int row, int column, const float (&sums)[{}])", patch_, cut_.pack));
    const std::string index = out_.index_type();
    out_.Line(fmt::format("const {} x = {} * {} + column;", index, strip_, cut_.strip));
    std::string outside = x().out % cut_.strip == 0 ? "" : fmt::format("x >= {}", x().out);
    if (Has(kY)) {
      out_.Line(fmt::format("const {} y = {} * {} + row;", index, tile_, cut_.rows));
      if (y().out % cut_.rows != 0) outside += fmt::format("{}y >= {}", outside.empty() ? "" : " || ", y().out);
    }
    if (!outside.empty()) out_.Line(fmt::format("if ({}) return;", outside));
    PutOut(kZ, plane_);
    PutOut(kY, "y");
    PutOut(kX, "x");
    index_[1] = "made";
    const auto target = [&] {
      const std::vector<std::string> place(index_.begin(), index_.begin() + static_cast<std::ptrdiff_t>(2 + spatial_));
      return last ? Address(place, ChannelsLastStrides(kernel_.result), 0) : DenseAddress(kernel_, place);
    };
    const std::string to = target(), type = PackType(out_, DeviceType(dtype), cut_.pack);
    out_.Line(fmt::format("{} finished;", type));
    out_.Unroll();
    out_.Open(fmt::format("for (int v = 0; v < {}; ++v)", cut_.pack));
    if (last) {
      index_[1] = "(made + v)";
    } else {
      PutOut(kX, "(x + v)");
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
    out_.Line(fmt::format("StoreWhole(reinterpret_cast<{}*>({} + {}), finished);", type, out_.TargetName(), to));
    out_.CloseWith(");");
  }

  const Kernel& kernel_;
  DeviceWriter& out_;
  const Convolution conv_;
  const Cut cut_;
  const std::size_t spatial_;
  std::vector<std::string> index_;  // of the space's dimensions, where the text stands
  std::string patch_, strip_ = "0", tile_ = "0", plane_ = "0", image_ = "0";
};

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const Convolution conv(kernel);
  if (auto why = WhyNoTensorOperands(kernel)) return why;
  if (conv.transposed || conv.groups != 1) return "it has no groups and is not transposed";
  if (ElementCount(kernel.result) == 0 || conv.channels == 0) return "it makes nothing";
  if (auto why = WhyNotRounded(kernel)) return why;
  if (auto why = WhyNotInTf32(kernel)) return why;
  const std::int64_t most = MostShared(kernel);
  if (const std::int64_t least = Cut(kernel, 1, 64).shared; least > most)
    return fmt::format("its weights and the patch under a row of outputs take {} bytes of shared memory, more than {}",
                       least, most);
  return std::nullopt;
}

// Not yet measured: behind the library and tiles.
std::optional<double> Cost(const Kernel& kernel) {
  return Convolution(kernel).channels <= kFewChannels ? std::optional(2.7) : std::nullopt;
}

std::vector<Setting> LayoutValues(const Kernel&) {
  return {Word(std::string(kChannelsFirst)), Word(std::string(kChannelsLast))};
}
std::optional<std::string> CheckLayout(const Kernel&, const Setting& value) {
  return CheckWord(value, {kChannelsFirst, kChannelsLast});
}

// Which of them fit beside each other.
bool Fits(const Kernel& kernel, std::int64_t rows, std::int64_t pixels) {
  return Cut(kernel, rows, pixels).shared <= MostShared(kernel);
}
std::vector<Setting> PixelsValues(const Kernel& kernel) {
  const bool many = Convolution(kernel).made > kMostPart / 2;
  std::vector<Setting> values;
  for (const std::int64_t pixels :
       many ? std::array<std::int64_t, 3>{128, 256, 64} : std::array<std::int64_t, 3>{256, 128, 64}) {
    if (Fits(kernel, 1, pixels)) values.push_back(Whole(pixels));
  }
  return values;
}
std::optional<std::string> CheckPixels(const Kernel& kernel, const Setting& value) {
  const auto* pixels = std::get_if<std::int64_t>(&value.value);
  if (pixels == nullptr || (*pixels != 64 && *pixels != 128 && *pixels != 256)) return "it is 64, 128 or 256; try 128";
  if (!Fits(kernel, 1, *pixels)) return "a row of them and the weights do not fit shared memory; try 64";
  return std::nullopt;
}
std::vector<Setting> RowsValues(const Kernel& kernel) {
  const std::int64_t pixels = IntSetting(kernel, "pixels"), out = Convolution(kernel).dims[kY].out;
  std::vector<Setting> values;
  for (const std::int64_t rows : {4, 2, 8, 1}) {
    const Setting value = Whole(std::min(rows, out));
    if (Fits(kernel, rows, pixels) && std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  }
  return values;
}
std::optional<std::string> CheckRows(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 16)) return why;
  if (!Fits(kernel, std::get<std::int64_t>(value.value), IntSetting(kernel, "pixels")))
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
