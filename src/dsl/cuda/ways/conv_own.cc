// Writes depthwise convolutions for CUDA: a group has one input channel. The rows of an image that a tile of outputs
// reaches are copied into shared memory once, with zeros where the padding is; each thread then has neighbouring
// columns of the tile and goes down its rows, of which every element is taken for all windows that it is in. Sums are
// made in float or double; the chain ends each output before it is stored.
//
//   rows    outputs of a tile down, all a thread's: the more, the fewer rows are copied twice
//   across  outputs of a thread side by side, stored as one
//   block   threads of a block: those of a tile, or of several narrow ones
//   pack    neighbouring elements that are copied as one
//
// One file because a way is one: the settings below are cuts of what is written here.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include "base/rounding.h"
#include "dsl/cuda/expr.h"
#include "dsl/cuda/knobs.h"
#include "dsl/knobs.h"
#include "dsl/shape/convolution.h"
#include "dsl/shape/loops.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_conv_own {
namespace {

constexpr std::int64_t kSharedBytes = 48 << 10;  // that every block may have
constexpr std::int64_t kMostHeld = 64;           // weights that a thread keeps in registers
constexpr std::int64_t kMostProducts = 2048;     // of a thread that are written out
constexpr std::int64_t kMostUnrolled = 32;       // taps of a row of the window, where only that is written out
constexpr std::int64_t kMostRead = 48;           // neighbours that a thread reads as packs
constexpr std::int64_t kNarrow = 64;             // a strip of fewer outputs is worth fewer rows
constexpr std::int64_t kNarrowImage = 32;        // outputs of a row, up to which threads are idle or tiles small
constexpr std::int64_t kManyTaps = 25;           // beyond, weights take most registers

constexpr std::size_t kZ = 0, kY = 1, kX = 2;

// Where the dimensions of the convolution stand in the kernel's space; those of z, y or x that it lacks: nowhere.
struct Places {
  explicit Places(const Kernel& kernel) : spatial(SpatialOf(kernel)) {}
  bool Has(std::size_t dim) const { return dim + spatial >= 3; }
  std::size_t Out(std::size_t dim) const { return 2 + dim + spatial - 3; }
  std::size_t Tap(std::size_t dim) const { return 3 + spatial + dim + spatial - 3; }
  std::size_t channel() const { return 3 + 2 * spatial; }
  std::size_t In(std::size_t dim) const { return 4 + 2 * spatial + dim + spatial - 3; }
  std::size_t spatial;
};

// The input where it is a plain load: its operand, else -1.
int PlainInput(const Kernel& kernel) {
  const Expr& x = kernel.inputs[0];
  return x->kind == Expr::Kind::kLoad ? x->buffer : -1;
}

// Whether the operand's elements along x can be read as packs at every multiple of `pack`.
bool LoadsPacks(const Kernel& kernel, int operand, std::int64_t pack) {
  const KernelOperand& view = kernel.operands[static_cast<std::size_t>(operand)];
  const std::size_t inner = Places(kernel).In(kX);
  if (view.strides[inner] != 1 || view.offset % pack != 0) return false;
  for (std::size_t d = 0; d < view.strides.size(); ++d) {
    if (d != inner && view.strides[d] % pack != 0) return false;
  }
  return true;
}

// How the work is cut: tiles, and what a thread has of one.
struct Cut {
  Cut(const Kernel& kernel, const Convolution& conv, std::int64_t rows_wanted, std::int64_t across_wanted,
      std::int64_t pack_wanted, std::int64_t block);

  std::int64_t rows = 1, across = 1, pack = 1;
  bool copied = false;       // elements go to shared memory as they are, without passing through registers
  bool held = true;          // the weights are in registers and all products are written out
  std::int64_t element = 4;  // bytes in shared memory
  std::int64_t strip = 1;    // outputs of a tile along x
  std::int64_t shift = 0;    // columns of the tile before the first that is needed, so that packs are aligned
  std::int64_t pitch = 1;    // columns
  std::int64_t lines = 1;    // rows of the input under a tile, of one plane
  std::int64_t tile = 1;     // elements
  std::int64_t group = 32;   // threads of a tile
  std::int64_t groups = 1;   // tiles of a block
  std::int64_t weights = 0;  // bytes of a tile's weights in shared memory
  bool fits = false;
};

Cut::Cut(const Kernel& kernel, const Convolution& conv, std::int64_t rows_wanted, std::int64_t across_wanted,
         std::int64_t pack_wanted, std::int64_t block)
    : rows(std::min(rows_wanted, conv.dims[kY].out)), across(across_wanted), pack(pack_wanted) {
  const WindowDim &z = conv.dims[kZ], &y = conv.dims[kY], &x = conv.dims[kX];
  const std::int64_t real = kernel.compute == DType::kF64 ? 8 : 4, taps = conv.Taps();
  element = real;
  while (across > 1 && (x.out % across != 0 || (across - 1) * x.stride + x.Reach() > kMostRead)) across /= 2;
  while (pack > 1 && x.in % pack != 0) pack /= 2;
  if (const int plain = PlainInput(kernel); plain >= 0) {
    const auto bytes = static_cast<std::int64_t>(Bytes(kernel.operand_types[static_cast<std::size_t>(plain)]));
    std::int64_t narrowed = pack;
    while (narrowed > 1 && (!LoadsPacks(kernel, plain, narrowed) || narrowed * bytes > 16)) narrowed /= 2;
    if (narrowed * bytes >= 4) {
      copied = true;
      element = bytes;
      pack = narrowed;
    }
  }
  if (!copied) pack = std::min(pack, 16 / real);
  // What is written out is bounded by fewer rows of a thread.
  held = taps <= kMostHeld;
  const std::int64_t written = held ? taps : std::min(x.window, kMostUnrolled);
  while (rows > 1 && rows * across * written > kMostProducts) rows /= 2;
  weights = held ? 0 : RoundUp(taps * real, 16);
  const auto measure = [&](std::int64_t outputs) {
    strip = outputs;
    shift = (pack - x.padding % pack) % pack;
    pitch = RoundUp(shift + (outputs - 1) * x.stride + x.Reach(), std::max(pack, across));
    lines = (rows - 1) * y.stride + y.Reach();
    tile = RoundUp(z.window * lines * pitch, std::max<std::int64_t>(16 / element, pack));
    return tile * element + weights <= kSharedBytes;
  };
  // The whole row, or equal strips of whole packs: wide ones, if fewer rows help to that.
  for (fits = measure(x.out); !fits;) {
    const std::int64_t step = std::max(pack, across);
    for (std::int64_t parts = 2; !fits && (parts - 1) * step < x.out; parts = parts < 64 ? parts + 1 : parts * 2)
      fits = measure(RoundUp(CeilDiv(x.out, parts), step));
    fits = fits || measure(step);
    if (fits && (rows == 1 || strip >= std::min(kNarrow, x.out))) break;
    if (rows > 1) {
      rows /= 2;
    } else if (step > 1) {
      pack = std::max<std::int64_t>(pack / 2, 1);
      across = std::max<std::int64_t>(across / 2, 1);
      copied = copied && pack * element >= 4;
      if (!copied) element = real;
    } else {
      break;
    }
    fits = measure(x.out);
  }
  // Threads that are idle at a tile's end are few.
  const std::int64_t places = CeilDiv(strip, across);
  if (places <= 32) {
    group = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(places)));
  } else {
    group = std::min(RoundUp(CeilDiv(places, CeilDiv(places, block)), 32), block);
  }
  groups = std::max<std::int64_t>(block / group, 1);
  if (group < 32) {
    // Tiles of one warp in banks of their own.
    const std::int64_t banks = 128 / std::min<std::int64_t>(element, 4);
    const std::int64_t wanted = RoundUp(group * across, std::max<std::int64_t>(16 / element, pack)) % banks;
    tile += (wanted - tile % banks + banks) % banks;
  }
  while (groups > 1 && groups * (tile * element + weights) > kSharedBytes) groups /= 2;
  if (group * groups < 32) {  // no part of a warp
    group = 32;
    groups = 1;
  }
}

class DepthwiseWriter {
 public:
  DepthwiseWriter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : program_(program),
        kernel_(kernel),
        out_(out),
        conv_(kernel),
        at_(kernel),
        cut_(kernel, conv_, IntSetting(kernel, "rows"), IntSetting(kernel, "across"), IntSetting(kernel, "pack"),
             IntSetting(kernel, "block")),
        type_(out.Type(ScalarType::kReal)),
        index_(kernel.space.size(), "0") {
    held_type_ = cut_.copied ? DeviceType(kernel.operand_types[static_cast<std::size_t>(PlainInput(kernel))]) : type_;
    lead_ = cut_.shift % cut_.across;
    read_ = cut_.across == 1 ? x().window : RoundUp(lead_ + (cut_.across - 1) * x().stride + x().Reach(), cut_.across);
  }

  void Write() {
    out_.BeginKernel("depthwise", cut_.group * cut_.groups);
    NamePlaces();
    const std::string own = Shared(held_type_, "rows", cut_.tile);
    CopyRows(own);
    const std::string weights = LoadWeights();
    if (cut_.copied) out_.Line(fmt::format("{}();", out_.Helper("WaitForCopies")));
    out_.Line(cut_.group <= 32 ? "__syncwarp();" : "__syncthreads();");
    WriteOutputs(own, weights);
    out_.Launch(
        {.grid_x = CeilDiv(Units(), cut_.groups), .reads = OperandBuffers({&kernel_, 1}), .writes = {kernel_.target}});
  }

 private:
  const WindowDim& z() const { return conv_.dims[kZ]; }
  const WindowDim& y() const { return conv_.dims[kY]; }
  const WindowDim& x() const { return conv_.dims[kX]; }
  const std::string& index() const { return out_.index_type(); }
  std::int64_t Strips() const { return CeilDiv(x().out, cut_.strip); }
  std::int64_t Tiles() const { return CeilDiv(y().out, cut_.rows); }
  std::int64_t Channels() const { return conv_.groups * conv_.made; }
  std::int64_t Units() const { return conv_.batch * Channels() * z().out * Tiles() * Strips(); }
  void PutOut(std::size_t dim, const std::string& text) {
    if (at_.Has(dim)) index_[at_.Out(dim)] = text;
  }
  void PutIn(std::size_t dim, const std::string& text) {
    if (at_.Has(dim)) index_[at_.In(dim)] = text;
  }
  std::string Place(int operand) const {
    const KernelOperand& view = kernel_.operands[static_cast<std::size_t>(operand)];
    return Address(index_, view.strides, view.offset);
  }

  // --- The tile.

  void NamePlaces() {
    lane_ = out_.Fresh("lane");
    out_.Line(cut_.groups == 1 ? fmt::format("const int {} = threadIdx.x;", lane_)
                               : fmt::format("const int {} = threadIdx.x % {};", lane_, cut_.group));
    const std::string unit = out_.Fresh("unit"),
                      number = cut_.groups == 1
                                   ? "blockIdx.x"
                                   : fmt::format("blockIdx.x * {} + threadIdx.x / {}", cut_.groups, cut_.group);
    if (Units() % cut_.groups != 0) {
      // Those without a part of the work do the last one's again, since threads meet; they store nothing.
      const std::string wanted = out_.Fresh("wanted");
      out_.Line(fmt::format("const unsigned {} = {};", wanted, number));
      out_.Line(fmt::format("const unsigned {0} = {1} < {2} ? {1} : {3};", unit, wanted, Units(), Units() - 1));
      valid_ = fmt::format("{} < {}", wanted, Units());
    } else {
      out_.Line(fmt::format("const unsigned {} = {};", unit, number));
    }
    std::string left = unit;
    const auto part = [&](const std::string& hint, std::int64_t extent) -> std::string {
      if (extent == 1) return "0";
      const std::string name = out_.Fresh(hint);
      out_.Line(fmt::format("const {} {} = {} % {};", index(), name, left, extent));
      left = fmt::format("({} / {})", left, extent);
      return name;
    };
    strip_ = part("strip", Strips());
    tile_ = part("tile", Tiles());
    const std::string plane = part("plane", z().out), channel = part("channel", Channels());
    PutOut(kZ, plane);
    plane_ = plane;
    index_[1] = channel;
    index_[at_.channel()] = conv_.made == 1 ? channel : fmt::format("({} / {})", channel, conv_.made);
    index_[0] = part("image", conv_.batch);
  }

  // Memory of every tile of the block; the name of this thread's.
  std::string Shared(const std::string& type, const std::string& hint, std::int64_t count) {
    const std::string own = out_.Fresh(hint), memory = cut_.groups == 1 ? own : out_.Fresh("all_" + hint);
    out_.Line(fmt::format("__shared__ __align__(16) {} {}[{}];", type, memory, cut_.groups * count));
    if (cut_.groups > 1)
      out_.Line(fmt::format("{}* const {} = {} + threadIdx.x / {} * {};", type, own, memory, cut_.group, count));
    return own;
  }

  // A place of the input that may be outside: `inside` gets the condition, the place is in the input either way.
  std::string Inside(const std::string& hint, const std::string& wanted, const WindowDim& dim, bool leaves,
                     std::string& inside) {
    const std::string name = out_.Fresh(hint);
    if (!leaves) {
      out_.Line(fmt::format("const {} {} = {};", index(), name, wanted));
      return name;
    }
    const std::string raw = out_.Fresh("wanted_" + hint), there = out_.Fresh("there");
    out_.Line(fmt::format("const {} {} = {};", index(), raw, wanted));
    out_.Line(fmt::format("const bool {0} = {1} >= 0 && {1} < {2};", there, raw, dim.in));
    out_.Line(fmt::format("const {} {} = {} ? {} : 0;", index(), name, there, raw));
    inside = inside.empty() ? there : fmt::format("{} && {}", inside, there);
    return name;
  }
  static std::string Times(const std::string& place, std::int64_t factor) {
    return place == "0" ? "0" : factor == 1 ? place : fmt::format("{} * {}", place, factor);
  }
  static std::string Plus(const std::string& place, std::int64_t more) {
    return more == 0 ? place : fmt::format("{} {} {}", place, more < 0 ? '-' : '+', more < 0 ? -more : more);
  }

  void CopyRows(const std::string& own) {
    const std::int64_t packs = cut_.pitch / cut_.pack, all = z().window * cut_.lines * packs;
    const std::string pack = out_.Fresh("pack");
    out_.Line("#pragma unroll 8");
    out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", pack, lane_, all, cut_.group));
    std::string line, inside;
    if (at_.Has(kY)) {
      line = out_.Fresh("line");
      out_.Line(fmt::format("const int {} = {} / {};", line, pack, packs));
    }
    if (at_.Has(kZ)) {
      const bool leaves = z().padding > 0 || (z().out - 1) * z().stride + z().Reach() > z().in;
      const std::string tap = z().window == 1 ? "0" : fmt::format("{} / {}", line, cut_.lines);
      PutIn(kZ, Inside("z", Plus(Times(plane_, z().stride) + " + " + Times(tap, z().dilation), -z().padding), z(),
                       leaves, inside));
    }
    if (at_.Has(kY)) {
      const std::int64_t end = (Tiles() - 1) * cut_.rows * y().stride + cut_.lines - y().padding;
      const std::string row = z().window == 1 ? line : fmt::format("{} % {}", line, cut_.lines);
      PutIn(kY, Inside("y", Plus(Times(tile_, cut_.rows * y().stride) + " + " + row, -y().padding), y(),
                       y().padding > 0 || end > y().in, inside));
    }
    const std::int64_t before = cut_.shift + x().padding;
    const std::int64_t end = (Strips() - 1) * cut_.strip * x().stride + cut_.pitch - before;
    const std::string column = Inside(
        "column",
        Plus(Times(strip_, cut_.strip * x().stride) + " + " + Times(fmt::format("{} % {}", pack, packs), cut_.pack),
             -before),
        x(), before > 0 || end > x().in, inside);
    PutIn(kX, column);
    const std::string to = fmt::format("{} + {}", own, Times(pack, cut_.pack));
    if (cut_.copied) {
      const int operand = PlainInput(kernel_);
      const std::string from = fmt::format(
          "{} + {}", out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer), Place(operand));
      const std::string as = cut_.pack == 1 ? held_type_ : PackType(out_, held_type_, cut_.pack);
      const std::string arguments =
          fmt::format("reinterpret_cast<{0}*>({1}), reinterpret_cast<const {0}*>({2})", as, to, from);
      out_.Line(inside.empty() ? fmt::format("{}({});", out_.Helper("CopyAhead"), arguments)
                               : fmt::format("{}({}, {});", out_.Helper("CopyAheadOrZero"), arguments, inside));
    } else {
      ComputeRows(to, column, inside);
    }
    out_.Close();
  }

  // The pack of the input expression at index_.
  void ComputeRows(const std::string& to, const std::string& column, const std::string& inside) {
    std::map<int, std::string> packs;
    if (cut_.pack > 1) {
      Visit(kernel_.inputs[0], [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kLoad || packs.contains(node.buffer)) return;
        if (!LoadsPacks(kernel_, node.buffer, cut_.pack)) return;
        const int buffer = kernel_.operands[static_cast<std::size_t>(node.buffer)].buffer;
        const std::string type =
            PackType(out_, DeviceType(program_.buffers[static_cast<std::size_t>(buffer)].dtype), cut_.pack);
        const std::string name = out_.Fresh(out_.BufferName(buffer) + "_pack");
        out_.Line(
            fmt::format("const {} {} = {};", type, name, PackText(type, out_.BufferName(buffer), Place(node.buffer))));
        packs[node.buffer] = name;
      });
    }
    const std::string made = out_.Fresh("made"), e = out_.Fresh("e");
    out_.Line(fmt::format("{} {};", PackType(out_, type_, cut_.pack), made));
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, cut_.pack));
    DeviceExpr expr(out_, [&](const ExprNode& load) {
      const int buffer = kernel_.operands[static_cast<std::size_t>(load.buffer)].buffer;
      if (const auto it = packs.find(load.buffer); it != packs.end())
        return LoadedText(out_, buffer, fmt::format("{}.at[{}]", it->second, e));
      if (cut_.pack > 1) PutIn(kX, fmt::format("({} + {})", column, e));
      const std::string text = fmt::format("{}[{}]", out_.BufferName(buffer), Place(load.buffer));
      PutIn(kX, column);
      return LoadedText(out_, buffer, text);
    });
    const std::string value = expr.Text(kernel_.inputs[0]);
    out_.Line(inside.empty()
                  ? fmt::format("{}.at[{}] = {};", made, e, value)
                  : fmt::format("{}.at[{}] = {} ? {}({}) : {};", made, e, inside, type_, value, out_.Number(0)));
    out_.Close();
    out_.Line(fmt::format("*reinterpret_cast<Pack<{}, {}>*>({}) = {};", type_, cut_.pack, to, made));
  }

  // The name of the channel's weights.
  std::string LoadWeights() {
    const std::int64_t taps = conv_.Taps();
    const std::string tap = out_.Fresh("tap");
    std::string weights;
    if (cut_.held) {
      weights = out_.Fresh("weights");
      out_.Line(fmt::format("{} {}[{}];", type_, weights, taps));
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", tap, taps));
    } else {
      weights = Shared(type_, "weights", cut_.weights / (out_.wide() ? 8 : 4));
      out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", tap, lane_, taps, cut_.group));
    }
    std::int64_t inner = 1;
    for (const std::size_t dim : {kX, kY, kZ}) {
      if (!at_.Has(dim)) continue;
      const std::int64_t window = conv_.dims[dim].window;
      index_[at_.Tap(dim)] = window == 1  ? "0"
                             : inner == 1 ? fmt::format("({} % {})", tap, window)
                                          : fmt::format("({} / {} % {})", tap, inner, window);
      inner *= window;
    }
    const std::string value = LoadsAsIs().Text(kernel_.inputs[1]);
    out_.Line(fmt::format("{}[{}] = {};", weights, tap, value));
    out_.Close();
    return weights;
  }
  DeviceExpr LoadsAsIs(const std::string& it = "") {
    return {out_, [this, it](const ExprNode& load) {
              if (load.kind == Expr::Kind::kValue) return it;
              const int buffer = kernel_.operands[static_cast<std::size_t>(load.buffer)].buffer;
              return LoadedText(out_, buffer, fmt::format("{}[{}]", out_.BufferName(buffer), Place(load.buffer)));
            }};
  }

  // --- Outputs.

  void WriteOutputs(const std::string& own, const std::string& weights) {
    const std::int64_t places = CeilDiv(cut_.strip, cut_.across);
    const std::string place = out_.Fresh("place");
    const bool once = places == cut_.group;
    if (once)
      out_.Line(fmt::format("const int {} = {};", place, lane_));
    else
      out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", place, lane_, places, cut_.group));
    const std::string first = out_.Fresh("first"), sums = out_.Fresh("sums"), from = out_.Fresh("from");
    out_.Line(
        fmt::format("const {} {} = {} + {};", index(), first, Times(strip_, cut_.strip), Times(place, cut_.across)));
    // A tile's last strip may be short; nobody is waited for any more.
    const std::string within = x().out % cut_.strip != 0 ? fmt::format("{} < {}", first, x().out) : "";
    if (!within.empty()) out_.Open(fmt::format("if ({})", within));
    out_.Line(fmt::format("{} {}[{}][{}] = {{}};", type_, sums, cut_.rows, cut_.across));
    out_.Line(fmt::format("const {}* const {} = {} + {};", held_type_, from, own,
                          Plus(Times(place, cut_.across * x().stride), cut_.shift - lead_)));
    first_ = first;
    if (cut_.held)
      SumWrittenOut(from, weights, sums);
    else
      SumByLines(from, weights, sums);
    if (!within.empty()) out_.Close();
    if (!once) out_.Close();
  }

  // The elements of a line of the tile that a thread takes, as numbers in registers.
  std::string ReadLine(const std::string& from, const std::string& line) {
    const std::string read = out_.Fresh("read"), k = out_.Fresh("k");
    out_.Line(fmt::format("{} {}[{}];", type_, read, read_));
    out_.Unroll();
    if (cut_.across == 1) {
      out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{0}] = static_cast<{3}>({4}[({5}) * {6} + {7}]);",
                            k, read_, read, type_, from, line, cut_.pitch, Times(k, x().dilation)));
    } else {
      const std::string e = out_.Fresh("e"), pack = out_.Fresh("neighbours");
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; {0} += {2})", k, read_, cut_.across));
      out_.Line(fmt::format("const {0} {1} = *reinterpret_cast<const {0}*>({2} + ({3}) * {4} + {5});",
                            PackType(out_, held_type_, cut_.across), pack, from, line, cut_.pitch, k));
      out_.Unroll();
      out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{3} + {0}] = static_cast<{4}>({5}.at[{0}]);", e,
                            cut_.across, read, k, type_, pack));
      out_.Close();
    }
    return read;
  }
  // Adds the products of a row of the window for all of the thread's outputs of row `d`; `weight` is of its tap 0.
  void AddRow(const std::string& sums, const std::string& d, const std::string& read, const std::string& weights,
              const std::string& weight) {
    const std::string k = out_.Fresh("k"), v = out_.Fresh("v");
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", k, x().window));
    out_.Unroll();
    out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{3}][{0}] += {4}[{5}] * {6}[{7} + {8}];", v,
                          cut_.across, sums, d, read,
                          cut_.across == 1
                              ? k
                              : fmt::format("{}{} * {} + {} * {}", lead_ ? fmt::format("{} + ", lead_) : "", v,
                                            x().stride, k, x().dilation),
                          weights, weight, k));
    out_.Close();
  }

  // Down the rows of the tile: an element is read once and taken for all windows that it is in.
  void SumWrittenOut(const std::string& from, const std::string& weights, const std::string& sums) {
    std::string plane;
    if (z().window > 1) {
      plane = out_.Fresh("depth");
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", plane, z().window));
    }
    const std::string row = out_.Fresh("row"), back = out_.Fresh("back"), d = out_.Fresh("d"),
                      step = out_.Fresh("step");
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", row, cut_.lines));
    const std::string read = ReadLine(from, plane.empty() ? row : fmt::format("{} * {} + {}", plane, cut_.lines, row));
    // The outputs whose windows may be open here.
    const std::int64_t open = (y().Reach() - 1) / y().stride + 1;
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = {1}; {0} >= 0; --{0})", back, open - 1));
    out_.Line(fmt::format("const int {} = {} - {};", d, y().stride == 1 ? row : fmt::format("{} / {}", row, y().stride),
                          back));
    out_.Line(fmt::format("if ({0} < 0 || {0} >= {1}) continue;", d, cut_.rows));
    out_.Line(fmt::format("const int {} = {} - {};", step, row, Times(d, y().stride)));
    out_.Line(y().dilation == 1
                  ? fmt::format("if ({} >= {}) continue;", step, y().window)
                  : fmt::format("if ({0} % {1} != 0 || {0} / {1} >= {2}) continue;", step, y().dilation, y().window));
    const std::string line = y().dilation == 1 ? step : fmt::format("{} / {}", step, y().dilation);
    AddRow(sums, d, read, weights,
           plane.empty() ? Times(line, x().window)
                         : fmt::format("({} * {} + {}) * {}", plane, y().window, line, x().window));
    if (plane.empty()) {
      out_.Open(fmt::format("if ({} == {})", step, y().Reach() - 1));
      Store(sums, d);
      out_.Close();
    }
    out_.Close();
    out_.Close();
    if (!plane.empty()) {
      out_.Close();
      StoreAll(sums);
    }
  }

  // Large windows: a row of the window after the other.
  void SumByLines(const std::string& from, const std::string& weights, const std::string& sums) {
    const std::string line = out_.Fresh("line"), row = out_.Fresh("row"), d = out_.Fresh("d");
    out_.Line("#pragma unroll 1");
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", line, z().window * y().window));
    out_.Line(z().window == 1 ? fmt::format("const int {} = {};", row, Times(line, y().dilation))
                              : fmt::format("const int {0} = {1} / {2} * {3} + {1} % {2} * {4};", row, line, y().window,
                                            cut_.lines, y().dilation));
    const std::string of_output = fmt::format("{} + {}", row, Times(d, y().stride));
    if (x().window <= kMostUnrolled) {
      const std::string factors = out_.Fresh("factors"), k = out_.Fresh("k");
      out_.Line(fmt::format("{} {}[{}];", type_, factors, x().window));
      out_.Unroll();
      out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{0}] = {3}[{4} * {1} + {0}];", k, x().window,
                            factors, weights, line));
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", d, cut_.rows));
      AddRow(sums, d, ReadLine(from, of_output), factors, "0");
      out_.Close();
    } else {
      const std::string k = out_.Fresh("k"), v = out_.Fresh("v"), factor = out_.Fresh("factor");
      out_.Line("#pragma unroll 4");
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", k, x().window));
      out_.Line(fmt::format("const {} {} = {}[{} * {} + {}];", type_, factor, weights, line, x().window, k));
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", d, cut_.rows));
      out_.Unroll();
      out_.Line(fmt::format(
          "for (int {0} = 0; {0} < {1}; ++{0}) {2}[{3}][{0}] += {4} * static_cast<{5}>({6}[({7}) * {8} + {9} + {10} + "
          "{11}]);",
          v, cut_.across, sums, d, factor, type_, from, of_output, cut_.pitch, lead_, Times(v, x().stride),
          Times(k, x().dilation)));
      out_.Close();
      out_.Close();
    }
    out_.Close();
    StoreAll(sums);
  }

  void StoreAll(const std::string& sums) {
    const std::string d = out_.Fresh("d");
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", d, cut_.rows));
    Store(sums, d);
    out_.Close();
  }

  // The thread's outputs of row `d` of the tile, if it is one.
  void Store(const std::string& sums, const std::string& d) {
    std::string condition = valid_;
    if (at_.Has(kY)) {
      const std::string row = out_.Fresh("y_out");
      out_.Line(fmt::format("const {} {} = {} + {};", index(), row, Times(tile_, cut_.rows), d));
      PutOut(kY, row);
      if (y().out % cut_.rows != 0)
        condition += fmt::format("{}{} < {}", condition.empty() ? "" : " && ", row, y().out);
    }
    if (!condition.empty()) out_.Open(fmt::format("if ({})", condition));
    PutOut(kX, first_);
    const DType dtype = program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype;
    const std::string to = TargetPlace();
    const auto finished = [&](const std::string& sum) {
      DeviceExpr end = LoadsAsIs(sum);
      end.BeCoarseWhereRounded({kernel_.epilogue}, {dtype});
      return DeviceExpr::Stored(end.Text(kernel_.epilogue), kernel_.epilogue->type, dtype);
    };
    if (cut_.across == 1) {
      const std::string value = finished(fmt::format("{}[{}][0]", sums, d));
      out_.Line(fmt::format("{}[{}] = {};", out_.TargetName(), to, value));
    } else {
      const std::string type = PackType(out_, DeviceType(dtype), cut_.across);
      const std::string made = out_.Fresh("made"), v = out_.Fresh("v");
      out_.Line(fmt::format("{} {};", type, made));
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", v, cut_.across));
      PutOut(kX, fmt::format("({} + {})", first_, v));
      const std::string value = finished(fmt::format("{}[{}][{}]", sums, d, v));
      out_.Line(fmt::format("{}.at[{}] = {};", made, v, value));
      out_.Close();
      out_.Line(fmt::format("*reinterpret_cast<{}*>({} + {}) = {};", type, out_.TargetName(), to, made));
    }
    if (!condition.empty()) out_.Close();
  }
  std::string TargetPlace() const {
    return DenseAddress(kernel_, {index_.begin(), index_.begin() + static_cast<std::ptrdiff_t>(2 + at_.spatial)});
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  const Convolution conv_;
  const Places at_;
  const Cut cut_;
  std::string type_, held_type_;    // of sums; of the tile's elements
  std::int64_t lead_ = 0;           // columns before a thread's first in its first pack
  std::int64_t read_ = 1;           // elements of a line that a thread reads
  std::vector<std::string> index_;  // of the space's dimensions, where the text stands
  std::string lane_, valid_, strip_ = "0", tile_ = "0", plane_ = "0", first_;
};

std::optional<std::int64_t> WholeOf(const Setting& value) {
  const auto* whole = std::get_if<std::int64_t>(&value.value);
  return whole ? std::optional<std::int64_t>(*whole) : std::nullopt;
}

// Whether it is one, and the inputs under a few outputs fit into shared memory.
bool IsDepthwise(const Kernel& kernel) {
  const Convolution conv(kernel);
  if (conv.transposed || conv.channels != 1 || ElementCount(kernel.result) == 0) return false;
  return Cut(kernel, conv, 1, 1, 1, 32).fits;
}

// Whether neighbouring columns of the input are neighbours in memory.
bool ReadsAlongRows(const Kernel& kernel) {
  const Places places(kernel);
  bool along = true;
  Visit(kernel.inputs[0], [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    const std::int64_t stride = kernel.operands[static_cast<std::size_t>(node.buffer)].strides[places.In(kX)];
    along &= stride == 0 || stride == 1 || kernel.space[places.In(kX)].extent == 1;
  });
  return along;
}

// What is best depends on little: measured on an H200, 2026-11-21 (docs/measured/cuda_depthwise.md).
std::vector<Setting> RowsValues(const Kernel& kernel) {
  const Convolution conv(kernel);
  const WindowDim& y = conv.dims[kY];
  // Few rows leave room for more blocks; many pay for a window's weights, and for its rows that are copied twice.
  std::array<std::int64_t, 3> wanted = {16, 32, 8};
  if (conv.Taps() > kManyTaps && conv.Taps() <= kMostHeld) {
    wanted = {32, 16, 8};
  } else if (conv.Taps() <= 9 && y.Reach() <= 4 && conv.dims[kX].out > kNarrowImage) {
    wanted = {8, 16, 4};
  }
  std::vector<Setting> values;
  for (const std::int64_t rows : wanted) {
    const Setting value = Whole(std::min(rows, y.out));
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

std::vector<Setting> AcrossValues(const Kernel& kernel) {
  const Convolution conv(kernel);
  // Two are stored as 8 bytes, of halves four. Registers that hold many weights have no room for more sums; where
  // products are not all written out, a weight that is read again should serve many.
  std::array<std::int64_t, 3> wanted = {2, 4, 1};
  if (conv.Taps() > kMostHeld || Bytes(kernel.target_type) == 2) {
    wanted = {4, 2, 1};
  } else if (conv.Taps() > kManyTaps || conv.dims[kX].out <= kNarrowImage) {
    wanted = {1, 2, 4};
  }
  std::vector<Setting> values;
  for (const std::int64_t across : wanted) {
    if (conv.dims[kX].out % across == 0) values.push_back(Whole(across));
  }
  return values;
}

std::vector<Setting> TilePackValues(const Kernel& kernel) {
  const int plain = PlainInput(kernel);
  if (plain >= 0 && Bytes(kernel.operand_types[static_cast<std::size_t>(plain)]) == 2)
    return {Whole(8), Whole(4), Whole(2), Whole(1)};
  return {Whole(4), Whole(2), Whole(1)};
}

std::optional<std::string> CheckRows(const Kernel&, const Setting& value) { return CheckRange(value, 1, 64); }

std::optional<std::string> CheckAcross(const Kernel& kernel, const Setting& value) {
  const auto across = WholeOf(value);
  if (!across || (*across != 1 && *across != 2 && *across != 4)) return "it is 1, 2 or 4; try 1";
  if (const std::int64_t width = Convolution(kernel).dims[kX].out; width % *across != 0)
    return fmt::format("rows of {} outputs do not divide by it; try 1", width);
  return std::nullopt;
}

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (IsDepthwise(kernel)) return std::nullopt;
  return "our own kernel makes convolutions of one input channel a group, not transposed, whose window is not too "
         "large for shared memory";
}
// The library reads rows that lie apart faster.
std::optional<double> Cost(const Kernel& kernel) { return ReadsAlongRows(kernel) ? 1 : 3; }

constexpr Knob kKnobs[] = {
    {"rows", "rows of outputs of a tile, all of them a thread's", RowsValues, CheckRows},
    {"across", "outputs of a thread side by side, stored at once", AcrossValues, CheckAcross},
    kBlockThreadsKnob,
    {"pack", "neighbouring elements that are copied to shared memory at once", TilePackValues, CheckPack},
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  DepthwiseWriter(program, kernel, out).Write();
}

}  // namespace

HONE_ROW(Way){
    .family = "conv",
    .name = "own",
    .doc = "a kernel of our own, for one input channel a group (depthwise)",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_conv_own
