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
constexpr std::int64_t kFewChannels = 16, kSomeMade = 8;
constexpr std::int64_t kMostRead = 4;           // neighbours at once: 8 or 16 bytes
constexpr std::int64_t kSector = 32;            // bytes that memory is written by
constexpr std::int64_t kWritten = 16;           // bytes of neighbours of the result, at most
constexpr std::int64_t kStagedSums = 20 << 10;  // bytes of sums that pass through shared memory at once, at most
constexpr std::int64_t kBlocks = 4;             // of a multiprocessor, in whose registers they are

// How many neighbours of a line are read as one where strips of so many outputs (0: whole lines) begin: all of them or
// none are in the image.
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
  std::int64_t part = 8, parts = 1;  // outputs that a block makes; grids of blocks
  std::int64_t row_tiles = 1, column_tiles = 1, staged_tiles = 1, warp_pixels = 1, warps = 1;
  std::int64_t steps = 1, pack = 1;
  std::int64_t places_at = 0, patch_at = 0, ahead_at = 0, shared = 0;  // bytes

 private:
  void MakeTiles(const Kernel& kernel, const Convolution& conv);
};

// A thread has 64 sums at most.
void Cut::MakeTiles(const Kernel& kernel, const Convolution& conv) {
  parts = CeilDiv(conv.made, kMostPart);
  const std::int64_t least = CeilDiv(conv.made, parts), bytes = static_cast<std::int64_t>(Bytes(kernel.target_type));
  if (!MakesChannelsLast(kernel)) {
    part = RoundUp(least, 16);
    row_tiles = part / 16;
    column_tiles = part > kMostPart / 2 ? 4 : 8;
    pack = kWritten / bytes;
    return;
  }
  for (pack = kWritten / bytes; pack > 1; pack /= 2) {
    if (conv.made % pack == 0 && RoundUp(least, 4 * pack) == RoundUp(least, 8)) break;
  }
  part = RoundUp(least, std::max<std::int64_t>(8, 4 * pack));
  column_tiles = part / 8;
  row_tiles = part > kMostPart / 2 ? 2 : 4;
}

Cut::Cut(const Kernel& kernel, std::int64_t rows_wanted, std::int64_t pixels_wanted)
    : floats(Bytes(InputType(kernel, 0)) == 4) {
  const Convolution conv(kernel);
  const WindowDim &z = conv.dims[kZ], &y = conv.dims[kY], &x = conv.dims[kX];
  held = floats ? conv.channels : RoundUp(conv.channels, 2);
  MakeTiles(kernel, conv);
  const bool last = MakesChannelsLast(kernel);
  warp_pixels = last ? 16 * row_tiles : 8 * column_tiles;
  warps = std::max<std::int64_t>(1, pixels_wanted / warp_pixels);
  rows = std::min(rows_wanted, y.out);
  const std::int64_t across = std::max<std::int64_t>(1, warps * warp_pixels / rows);
  strip = std::min(across, CeilDiv(x.out, CeilDiv(x.out, across)));
  const bool whole = strip == x.out;
  if (const std::int64_t even = RoundUp(strip, 8); even <= across && (last || !whole)) strip = even;
  if (!last) {
    const std::int64_t run = whole ? rows * strip : strip, all = whole ? x.out * y.out : x.out;
    while (pack > 1 && (run % pack != 0 || all % pack != 0)) pack /= 2;
  }
  lines = (rows - 1) * y.stride + y.Reach();
  load = NeighboursRead(kernel, x, whole ? 0 : strip);
  shift = (load - x.padding % load) % load;
  wide = RoundUp(shift + (strip - 1) * x.stride + x.Reach(), load);
  // Four channels of eight neighbouring pixels are in banks of their own.
  plane = RoundUp(z.window * lines * wide, 32) + 8 * std::min<std::int64_t>(x.stride, 2);
  steps = CeilDiv(conv.Taps() * held, floats ? 8 : 16);
  const std::int64_t ahead = z.window * lines * wide * held, elements = floats ? conv.channels * plane : ahead;
  const std::int64_t size = floats ? 4 : 2;
  places_at = steps * part * 32;
  patch_at = places_at + RoundUp(steps * 4 * 8, 16);
  ahead_at = patch_at + RoundUp(elements * size, 16);
  shared = ahead_at + RoundUp(ahead * size, 16);
  if (last) return;
  const std::int64_t sums_of_tile = 16 * (warps * warp_pixels + 8) * 4;
  staged_tiles = std::clamp<std::int64_t>(kStagedSums / sums_of_tile, 1, row_tiles);
  const std::int64_t more =
      RoundUp(std::max(staged_tiles * sums_of_tile, ahead_at - patch_at), 16) - (ahead_at - patch_at);
  ahead_at += more;
  shared += more;
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
  // An output's number out of that in the block.
  std::string Made(std::string_view made) const {
    return cut_.parts == 1 ? fmt::format("({})", made) : fmt::format("(blockIdx.y * {} + {})", cut_.part, made);
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
    index_[1] = Made("made");
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

  // Where a pixel of the tile is in the image: y and x, out of its number.
  void PlacePixel(const std::string& pixel) {
    const std::string strip = std::to_string(cut_.strip);
    if (Has(kY))
      out_.Line(fmt::format("const {} y = {} * {} + {} / {};", out_.index_type(), tile_, cut_.rows, pixel, strip));
    out_.Line(fmt::format("const {} x = {} * {} + {} % {};", out_.index_type(), strip_, cut_.strip, pixel, strip));
  }
  void WriteOutputs() {
    const DType dtype = kernel_.target_type;
    const bool last = MakesChannelsLast(kernel_);
    std::string inside;
    for (const std::size_t dim : {kY, kX}) {
      if (conv_.dims[dim].out % (dim == kX ? cut_.strip : cut_.rows) == 0) continue;
      inside += fmt::format("{}{} < {}", inside.empty() ? "" : " && ", dim == kX ? "x" : "y", conv_.dims[dim].out);
    }
    out_.Open("const auto inside = [&](unsigned pixel)");
    PlacePixel("pixel");
    out_.Line(fmt::format("return {};", inside.empty() ? "true" : inside));
    out_.CloseWith(";");
    out_.Open(
        fmt::format("{}.Multiply(inside, [&](int made, unsigned pixel, const float (&sums)[{}])", patch_, cut_.pack));
    PlacePixel("pixel");
    PutOut(kZ, plane_);
    PutOut(kY, "y");
    PutOut(kX, "x");
    index_[1] = Made("made");
    const std::vector<std::string> place(index_.begin(), index_.begin() + static_cast<std::ptrdiff_t>(2 + spatial_));
    out_.Line(
        fmt::format("const auto to = {} + {};", out_.TargetName(),
                    last ? Address(place, ChannelsLastStrides(kernel_.result), 0) : DenseAddress(kernel_, place)));
    const std::string type = PackType(out_, DeviceType(dtype), cut_.pack);
    out_.Line(fmt::format("{} finished;", type));
    out_.Unroll();
    out_.Open(fmt::format("for (unsigned v = 0; v < {}; ++v)", cut_.pack));
    if (last) {
      index_[1] = Made("made + v");
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
  const Convolution conv_;
  const Cut cut_;
  const std::size_t spatial_;
  std::vector<std::string> index_;  // of the space's dimensions, where the text stands
  std::string patch_, strip_ = "0", tile_ = "0", plane_ = "0", image_ = "0";
};

std::vector<Setting> LayoutValues(const Kernel&) {
  return {Word(std::string(kChannelsFirst)), Word(std::string(kChannelsLast))};
}
std::optional<std::string> CheckLayout(const Kernel&, const Setting& value) {
  return CheckWord(value, {kChannelsFirst, kChannelsLast});
}

bool Fits(const Kernel& kernel, const Cut& cut) { return cut.shared <= MostShared(kernel); }
// How long all tiles take, in products of a term with a pixel and an output: those products and the passage of sums
// through shared memory, also of pixels that are none; what a patch takes on its way; where runs of the result begin
// and end; fewer sectors written in part where lines of it are whole ones; and the threads' meetings. Fitted to 117
// timings of 17 convolutions (docs/measured/cuda_convolutions.md): what it finds best took 1.4 % longer than the best.
double TilesTake(const Kernel& kernel, const Cut& cut) {
  constexpr double kOfElement = 36, kOfRun = 800, kOfEvenRun = 200, kOfWarp = 1700;
  const Convolution conv(kernel);
  const std::int64_t made = cut.warps * cut.warp_pixels;
  const std::int64_t elements = cut.held * conv.dims[kZ].window * cut.lines * cut.wide;
  const std::int64_t runs = MakesChannelsLast(kernel) || cut.strip == conv.dims[kX].out ? 1 : cut.rows;
  const bool even = conv.dims[kX].out * static_cast<std::int64_t>(Bytes(kernel.target_type)) % kSector == 0;
  const double of_run = even ? kOfEvenRun : kOfRun;
  const std::int64_t tiles = CeilDiv(conv.dims[kY].out, cut.rows) * CeilDiv(conv.dims[kX].out, cut.strip);
  return static_cast<double>(tiles * cut.parts) *
         (static_cast<double>(made * cut.part * (cut.steps + 1)) + kOfElement * static_cast<double>(elements) +
          of_run * static_cast<double>(runs * cut.part) + kOfWarp * static_cast<double>(cut.warps));
}
constexpr std::int64_t kPixels[] = {64, 128, 256}, kRows[] = {1, 2, 4, 8, 16};
// Those of kRows that fit, the best first.
std::vector<std::pair<double, std::int64_t>> RowsByTime(const Kernel& kernel, std::int64_t pixels) {
  std::vector<std::pair<double, std::int64_t>> rows;
  for (const std::int64_t r : kRows) {
    const Cut cut(kernel, r, pixels);
    if (r < 2 * Convolution(kernel).dims[kY].out && Fits(kernel, cut)) rows.emplace_back(TilesTake(kernel, cut), r);
  }
  std::ranges::stable_sort(rows, std::less(), &std::pair<double, std::int64_t>::first);
  return rows;
}
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
  if (conv.transposed || conv.groups != 1) return "it has no groups and is not transposed";
  if (ElementCount(kernel.result) == 0 || conv.channels == 0) return "it makes nothing";
  if (auto why = WhyNotRounded(kernel)) return why;
  if (auto why = WhyNotInTf32(kernel)) return why;
  if (PixelsValues(kernel).empty())
    return fmt::format("its weights and the patch under a row of outputs take {} bytes of shared memory, more than {}",
                       Cut(kernel, 1, kPixels[0]).shared, MostShared(kernel));
  return std::nullopt;
}

// Before the library, which costs 2, and tiles: 1.1 to 7 times as fast at 25 of 28 convolutions of 3 to 16 channels
// (docs/measured/cuda_convolutions.md). Behind tiles where three grids or more read the image (4 channels to 320 of
// 64 x 64: 56.6 us, tiles 50.3), and not where windows do not overlap, so that nothing is read twice (4 x 4 of 3
// channels: 65 us, tiles 29), or outputs are so few that the products' rows are zeros more than numbers (6 of 1
// channel: 280 us, our own 267).
std::optional<double> Cost(const Kernel& kernel) {
  const Convolution conv(kernel);
  const bool overlap = std::ranges::any_of(conv.dims, [](const WindowDim& d) { return d.Reach() > d.stride; });
  if (conv.channels > kFewChannels || conv.made < kSomeMade || !overlap) return std::nullopt;
  return CeilDiv(conv.made, kMostPart) > 2 ? 1.95 : 1.8;
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
  if (!Fits(kernel, Cut(kernel, std::get<std::int64_t>(value.value), IntSetting(kernel, "pixels"))))
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
