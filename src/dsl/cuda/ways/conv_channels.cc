// Writes depthwise convolutions for CUDA where channels lie last: neighbouring threads have neighbouring channels, so
// that whatever they read or write is lines of memory, and none of it has to be turned. A thread makes outputs side by
// side, and a few rows of them; what of a row of the image their windows reach is in registers, where it is for all
// taps of all windows that it is in. The weights of the block's channels are in shared memory; a weight that is read is
// for all of a row's outputs. Threads above one another make outputs below one another, so that rows which several
// windows reach are found in the first-level cache.
//
//   across  outputs of a thread side by side: the more, the fewer elements and weights are read for each
//   rows    and below one another: the more, the fewer elements are read for each
//   block   threads of a block, about
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/rounding.h"
#include "dsl/cuda/channels_last.h"
#include "dsl/cuda/expr.h"
#include "dsl/cuda/knobs.h"
#include "dsl/knobs.h"
#include "dsl/shape/convolution.h"
#include "dsl/shape/loops.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_conv_channels {
namespace {

constexpr std::int64_t kMostTaps = 64;     // whose weights fit into shared memory for all channels of a block
constexpr std::int64_t kMostAcross = 14;   // outputs of a thread, in pairs of channels: 28 sums
constexpr std::int64_t kMostRead = 40;     // columns that a thread holds, in pairs
constexpr std::int64_t kMostPacks = 64;    // pairs of channels of a block
constexpr std::int64_t kFewestPacks = 16;  // else some threads are idle rather than lines short

constexpr std::size_t kZ = 0, kY = 1, kX = 2;

bool ReadsPlainly(const Kernel& kernel) {
  return kernel.inputs[0]->kind == Expr::Kind::kLoad && kernel.inputs[1]->kind == Expr::Kind::kLoad;
}
std::int64_t ColumnsRead(const WindowDim& x, std::int64_t across) { return (across - 1) * x.stride + x.Reach(); }

class PixelWriter {
 public:
  PixelWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel), out_(out), conv_(kernel), spatial_(SpatialOf(kernel)), index_(kernel.space.size(), "0") {
    across_ = IntSetting(kernel, "across");
    rows_ = IntSetting(kernel, "rows");
    pack_ = InPairs() ? 2 : 1;
    const std::int64_t packs = conv_.groups / pack_;
    packs_ = std::min(packs, kMostPacks);
    while (packs_ > kFewestPacks && packs % packs_ != 0) --packs_;
    if (packs % packs_ != 0) packs_ = std::min<std::int64_t>(packs, 32);
    places_ = std::max<std::int64_t>(IntSetting(kernel, "block") / packs_, 1);
    held_type_ = DeviceType(kernel.operand_types[static_cast<std::size_t>(kernel.inputs[0]->buffer)]);
    type_ = out.Type(ScalarType::kReal);
  }

  void Write() {
    out_.BeginKernel("channels", packs_ * places_);
    NameChannel();
    const std::string weights = WriteWeights();
    NamePlace();
    const std::string sums = out_.Fresh("sums");
    out_.Line(fmt::format("{} {}[{}][{}][{}] = {{}};", type_, sums, rows_, across_, pack_));
    AddUp(weights, sums);
    Store(sums);
    out_.Launch({.grid_x = Chunks() * CeilDiv(Places(), places_),
                 .reads = OperandBuffers({&kernel_, 1}),
                 .writes = {kernel_.target}});
  }

 private:
  const WindowDim& y() const { return conv_.dims[kY]; }
  const WindowDim& x() const { return conv_.dims[kX]; }
  bool Has(std::size_t dim) const { return dim + spatial_ >= 3; }
  std::size_t Out(std::size_t dim) const { return 2 + dim + spatial_ - 3; }
  std::size_t Tap(std::size_t dim) const { return 3 + spatial_ + dim + spatial_ - 3; }
  std::size_t In(std::size_t dim) const { return 4 + 2 * spatial_ + dim + spatial_ - 3; }
  // Whether channels can be read by two wherever x lies.
  bool InPairs() const {
    const KernelOperand& view = kernel_.operands[static_cast<std::size_t>(kernel_.inputs[0]->buffer)];
    bool pairs = conv_.groups % 2 == 0 && view.offset % 2 == 0;
    for (std::size_t d = 0; d < view.strides.size(); ++d) pairs &= view.strides[d] % 2 == 0 || d == 3 + 2 * spatial_;
    return pairs;
  }
  std::int64_t ChunkChannels() const { return packs_ * pack_; }
  std::int64_t Chunks() const { return CeilDiv(conv_.groups, ChunkChannels()); }
  std::int64_t Strips() const { return CeilDiv(x().out, across_); }
  std::int64_t Tiles() const { return CeilDiv(y().out, rows_); }
  std::int64_t Places() const { return conv_.batch * Strips() * Tiles(); }  // of a thread's outputs

  void SetChannel(const std::string& channel) { index_[1] = index_[3 + 2 * spatial_] = channel; }
  std::string LoadAt(const ExprNode& load) const {
    const KernelOperand& view = kernel_.operands[static_cast<std::size_t>(load.buffer)];
    return LoadedText(out_, view.buffer,
                      fmt::format("{}[{}]", out_.BufferName(view.buffer), Address(index_, view.strides, view.offset)));
  }

  void NameChannel() {
    chunk_ = "0";
    if (Chunks() > 1) {
      chunk_ = out_.Fresh("chunk");
      out_.Line(fmt::format("const int {} = blockIdx.x % {} * {};", chunk_, Chunks(), ChunkChannels()));
    }
    own_ = out_.Fresh("own");
    out_.Line(fmt::format("const int {} = threadIdx.x % {} * {};", own_, packs_, pack_));
  }

  // [taps, channels of the block]: who makes the sums reads those of neighbouring channels as one.
  std::string WriteWeights() {
    const std::string weights = out_.Fresh("weights"), channel = out_.Fresh("of"), tap = out_.Fresh("tap");
    out_.Line(fmt::format("__shared__ __align__(16) {} {}[{}];", type_, weights, conv_.Taps() * ChunkChannels()));
    // A thread has one channel's, or some, so that no number has to be taken apart for each weight.
    const std::int64_t threads = packs_ * places_, side_by_side = std::min(ChunkChannels(), threads),
                       at_a_time = threads / side_by_side;
    out_.Open(threads % side_by_side == 0 ? "" : fmt::format("if (threadIdx.x < {})", side_by_side * at_a_time));
    out_.Open(fmt::format("for (int {0} = threadIdx.x % {1}; {0} < {2}; {0} += {1})", channel, side_by_side,
                          ChunkChannels()));
    out_.Open(fmt::format("for (int {0} = threadIdx.x / {1}; {0} < {2}; {0} += {3})", tap, side_by_side, conv_.Taps(),
                          at_a_time));
    std::string there = chunk_ == "0" ? channel : fmt::format("({} + {})", chunk_, channel);
    if (conv_.groups % ChunkChannels() != 0) {
      // Those behind the last channel are nobody's.
      const std::string least = out_.Fresh("there");
      out_.Line(fmt::format("const int {0} = {1} < {2} ? {1} : {3};", least, there, conv_.groups, conv_.groups - 1));
      there = least;
    }
    SetChannel(there);
    const KernelOperand& held = kernel_.operands[static_cast<std::size_t>(kernel_.inputs[1]->buffer)];
    const bool one = !Has(kY) || held.strides[Tap(kY)] == held.strides[Tap(kX)] * x().window;
    if (Has(kY)) index_[Tap(kY)] = one ? "0" : fmt::format("({} / {})", tap, x().window);
    index_[Tap(kX)] = one ? tap : fmt::format("({} % {})", tap, x().window);
    out_.Line(
        fmt::format("{}[{} * {} + {}] = {};", weights, tap, ChunkChannels(), channel, LoadAt(*kernel_.inputs[1])));
    out_.Close();
    out_.Close();
    out_.Close();
    out_.Line("__syncthreads();");
    return weights;
  }

  void NamePlace() {
    const std::string place = out_.Fresh("place");
    const std::string block = Chunks() == 1 ? std::string("blockIdx.x") : fmt::format("(blockIdx.x / {})", Chunks());
    out_.Line(fmt::format("const unsigned {} = {} * {} + threadIdx.x / {};", place, block, places_, packs_));
    std::string nobody = Places() % places_ != 0 ? fmt::format("{} >= {}", place, Places()) : "";
    channel_ = own_;
    if (chunk_ != "0") {
      channel_ = out_.Fresh("channel");
      out_.Line(fmt::format("const int {} = {} + {};", channel_, chunk_, own_));
    }
    if (conv_.groups % ChunkChannels() != 0)
      nobody += fmt::format("{}{} >= {}", nobody.empty() ? "" : " || ", channel_, conv_.groups);
    if (!nobody.empty()) out_.Line(fmt::format("if ({}) return;", nobody));
    std::string left = place;
    const auto part = [&](const std::string& hint, std::int64_t extent) -> std::string {
      if (extent == 1) return "0";
      const std::string name = out_.Fresh(hint);
      out_.Line(fmt::format("const {} {} = {} % {};", out_.index_type(), name, left, extent));
      left = fmt::format("({} / {})", left, extent);
      return name;
    };
    row_ = part("row", Tiles());
    if (row_ != "0" && rows_ > 1) row_ = fmt::format("({} * {})", row_, rows_);
    first_ = part("strip", Strips());
    if (first_ != "0") first_ = fmt::format("({} * {})", first_, across_);
    index_[0] = part("image", conv_.batch);
    SetChannel(channel_);
  }

  // Row after row of what the windows reach, which is taken for all of the thread's outputs that it is for.
  void AddUp(const std::string& weights, const std::string& sums) {
    const std::string line = Has(kY) ? out_.Fresh("line") : "0";
    if (Has(kY)) {
      const std::string at = out_.Fresh("at");
      const std::int64_t lines = (rows_ - 1) * y().stride + y().Reach();
      out_.Line("#pragma unroll 1");
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", line, lines));
      out_.Line(
          fmt::format("const {} {} = {} * {} + {} - {};", out_.index_type(), at, row_, y().stride, line, y().padding));
      const std::int64_t last = (Tiles() - 1) * rows_ * y().stride + lines - y().padding;
      if (y().padding > 0 || last > y().in) out_.Line(fmt::format("if ({0} < 0 || {0} >= {1}) continue;", at, y().in));
      index_[In(kY)] = at;
    }
    const std::string read = ReadLine();
    if (!Has(kY)) {
      AddRow(sums, "0", read, weights, "");
    } else {
      const std::string d = out_.Fresh("d"), step = out_.Fresh("step");
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", d, rows_));
      out_.Line(fmt::format("const int {} = {} - {} * {};", step, line, d, y().stride));
      out_.Line(y().dilation == 1 ? fmt::format("if ({0} < 0 || {0} >= {1}) continue;", step, y().window)
                                  : fmt::format("if ({0} < 0 || {0} % {1} != 0 || {0} / {1} >= {2}) continue;", step,
                                                y().dilation, y().window));
      AddRow(sums, d, read, weights, fmt::format("{} / {} * {} + ", step, y().dilation, x().window));
      out_.Close();
      out_.Close();
    }
  }

  // What of a row of the image the thread's windows reach, as numbers in registers: zeros outside.
  std::string ReadLine() {
    const std::int64_t columns = ColumnsRead(x(), across_), steps = (Strips() - 1) * across_ * x().stride;
    const KernelOperand& view = kernel_.operands[static_cast<std::size_t>(kernel_.inputs[0]->buffer)];
    const std::string read = out_.Fresh("read"), i = out_.Fresh("i"), column = out_.Fresh("column"),
                      some = out_.Fresh("some");
    // Two of them are a word, whose halves are numbers' upper halves.
    const bool word = pack_ == 2 &&
                      kernel_.operand_types[static_cast<std::size_t>(kernel_.inputs[0]->buffer)] == DType::kBF16 &&
                      !out_.wide();
    const std::string pack = word ? "unsigned" : PackType(out_, held_type_, pack_);
    out_.Line(fmt::format("{} {}[{}][{}];", type_, read, columns, pack_));
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", i, columns));
    out_.Line(
        fmt::format("const {} {} = {} * {} + {} - {};", out_.index_type(), column, first_, x().stride, i, x().padding));
    index_[In(kX)] = column;
    const std::string from = PackText(pack, out_.BufferName(view.buffer), Address(index_, view.strides, view.offset));
    // Of most columns it is known that they are inside, whichever strip it is.
    std::string inside;
    if (x().padding > 0) inside = fmt::format("({} >= {} || {} >= 0)", i, x().padding, column);
    if (steps + columns - x().padding > x().in)
      inside += fmt::format("{}({} < {} || {} < {})", inside.empty() ? "" : " && ", i,
                            std::max<std::int64_t>(x().in + x().padding - steps, 0), column, x().in);
    out_.Line(inside.empty() ? fmt::format("const {} {} = {};", pack, some, from)
                             : fmt::format("const {0} {1} = {2} ? {3} : {0}{{}};", pack, some, inside, from));
    if (word) {
      out_.Line(fmt::format("{}[{}][0] = __uint_as_float({} << 16);", read, i, some));
      out_.Line(fmt::format("{}[{}][1] = __uint_as_float({} & 0xffff0000u);", read, i, some));
    } else {
      const std::string e = out_.Fresh("e");
      out_.Unroll();
      out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{3}][{0}] = static_cast<{4}>({5}.at[{0}]);", e,
                            pack_, read, i, type_, some));
    }
    out_.Close();
    return read;
  }

  // The products of a row of the window for outputs of row `d`; `taps`: where the window's row begins.
  void AddRow(const std::string& sums, const std::string& d, const std::string& read, const std::string& weights,
              const std::string& taps) {
    const std::string k = out_.Fresh("k"), v = out_.Fresh("v"), e = out_.Fresh("e"), weight = out_.Fresh("weight");
    const std::string weight_pack = PackType(out_, type_, pack_);
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", k, x().window));
    out_.Line(
        fmt::format("const {} {} = {};", weight_pack, weight,
                    PackText(weight_pack, weights, fmt::format("({}{}) * {} + {}", taps, k, ChunkChannels(), own_))));
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", v, across_));
    out_.Unroll();
    out_.Line(fmt::format(
        "for (int {0} = 0; {0} < {1}; ++{0}) {2}[{9}][{3}][{0}] += {4}[{3} * {5} + {6} * {7}][{0}] * {8}.at[{0}];", e,
        pack_, sums, v, read, x().stride, k, x().dilation, weight, d));
    out_.Close();
    out_.Close();
  }

  void Store(const std::string& sums) {
    const DType dtype = kernel_.target_type;
    const std::string v = out_.Fresh("v"), column = out_.Fresh("x_out"), made = out_.Fresh("made"), e = out_.Fresh("e");
    const std::string d = rows_ == 1 ? "0" : out_.Fresh("d");
    if (rows_ > 1) {
      const std::string row = out_.Fresh("y_out");
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", d, rows_));
      out_.Line(fmt::format("const {} {} = {} + {};", out_.index_type(), row, row_, d));
      if (y().out % rows_ != 0) out_.Line(fmt::format("if ({} >= {}) break;", row, y().out));
      index_[Out(kY)] = row;
    } else if (Has(kY)) {
      index_[Out(kY)] = row_;
    }
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", v, across_));
    out_.Line(fmt::format("const {} {} = {} + {};", out_.index_type(), column, first_, v));
    if (x().out % across_ != 0) out_.Line(fmt::format("if ({} >= {}) break;", column, x().out));
    index_[Out(kX)] = column;
    const std::string to = Address({index_.begin(), index_.begin() + static_cast<std::ptrdiff_t>(2 + spatial_)},
                                   ChannelsLastStrides(kernel_.result), 0);
    const std::string pack = PackType(out_, DeviceType(dtype), pack_);
    out_.Line(fmt::format("{} {};", pack, made));
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, pack_));
    SetChannel(fmt::format("({} + {})", channel_, e));
    DeviceExpr expr(out_, [&](const ExprNode& load) {
      return load.kind == Expr::Kind::kValue ? fmt::format("{}[{}][{}][{}]", sums, d, v, e) : LoadAt(load);
    });
    expr.BeCoarseWhereRounded({kernel_.epilogue}, {dtype});
    const std::string value = expr.Text(kernel_.epilogue);
    out_.Line(fmt::format("{}.at[{}] = {};", made, e, DeviceExpr::Stored(value, kernel_.epilogue->type, dtype)));
    out_.Close();
    SetChannel(channel_);
    out_.Line(fmt::format("*reinterpret_cast<{}*>({} + {}) = {};", pack, out_.TargetName(), to, made));
    out_.Close();
    if (rows_ > 1) out_.Close();
  }

  const Kernel& kernel_;
  DeviceWriter& out_;
  const Convolution conv_;
  const std::size_t spatial_;
  std::int64_t across_ = 1, rows_ = 1, pack_ = 1;
  std::int64_t packs_ = 1;          // of channels, of a block: threads side by side
  std::int64_t places_ = 1;         // of a block: threads above one another
  std::string held_type_, type_;    // of x's elements; of sums
  std::vector<std::string> index_;  // of the space's dimensions, where the text stands
  std::string chunk_, own_, channel_, row_ = "0", first_ = "0";
};

std::vector<Setting> StripValues(const Kernel& kernel) {
  const WindowDim x = Convolution(kernel).dims[kX];
  std::int64_t most = std::min(kMostAcross, x.out);
  while (most > 1 && ColumnsRead(x, most) > kMostRead) --most;
  std::int64_t whole = most;
  while (whole > 1 && x.out % whole != 0) --whole;
  // A strip that is cut short costs less than many short ones.
  const std::int64_t best = 2 * whole >= most ? whole : most;
  std::vector<Setting> values = {Whole(best)};
  for (const std::int64_t other : {best / 2, best / 4}) {
    if (other > 0 && Whole(other) != values.back()) values.push_back(Whole(other));
  }
  return values;
}
std::optional<std::string> CheckStrip(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, kMostAcross)) return why;
  if (ColumnsRead(Convolution(kernel).dims[kX], std::get<std::int64_t>(value.value)) > kMostRead)
    return fmt::format("their windows reach more than {} columns; try 1", kMostRead);
  return std::nullopt;
}

// Few rows where there are no threads for more.
std::vector<Setting> DownValues(const Kernel& kernel) {
  constexpr std::int64_t kThreads = 512;  // of a multiprocessor
  const Convolution conv(kernel);
  const std::int64_t across = IntSetting(kernel, "across");
  const std::int64_t threads = conv.batch * conv.groups / 2 * conv.dims[kY].out * CeilDiv(conv.dims[kX].out, across);
  if (conv.dims[kY].out == 1) return {Whole(1)};
  if (threads < kThreads * kernel.device->multiprocessors) return {Whole(1), Whole(2)};
  return {Whole(2), Whole(1), Whole(4)};
}
std::optional<std::string> CheckDown(const Kernel& kernel, const Setting& value) {
  return CheckRange(value, 1, Convolution(kernel).dims[kY].out == 1 ? 1 : 4);
}

std::vector<Setting> LastValues(const Kernel&) { return {Word(std::string(kChannelsLast))}; }
std::optional<std::string> CheckLast(const Kernel&, const Setting& value) { return CheckWord(value, {kChannelsLast}); }

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const Convolution conv(kernel);
  if (conv.transposed || conv.channels != 1 || conv.made != 1)
    return "threads of neighbouring channels make convolutions of one input and one output channel a group";
  if (conv.dims[kZ].window != 1 || SpatialOf(kernel) > 2 || conv.Taps() > kMostTaps ||
      conv.dims[kX].Reach() > kMostRead || kernel.compute == DType::kF64 || !ReadsPlainly(kernel) ||
      ElementCount(kernel.result) == 0)
    return fmt::format(
        "threads of neighbouring channels go over images as they lie, in one or two dimensions, with windows of up to "
        "{} taps, in f32",
        kMostTaps);
  return std::nullopt;
}
// What lies otherwise is copied before.
std::optional<double> Cost(const Kernel& kernel) {
  const KernelOperand& image = kernel.operands[static_cast<std::size_t>(kernel.inputs[0]->buffer)];
  return image.strides[3 + 2 * SpatialOf(kernel)] == 1 ? 1 : 4;
}

constexpr Knob kKnobs[] = {
    {"across", "outputs of a thread side by side", StripValues, CheckStrip},
    {"rows", "rows of outputs of a thread", DownValues, CheckDown},
    kBlockThreadsKnob,
    {kLayoutKnob, "how x and the result lie: channels_last, by copies where they do not lie so already", LastValues,
     CheckLast},
};

void Emit(const KernelProgram&, const Kernel& kernel, DeviceWriter& out) { PixelWriter(kernel, out).Write(); }

}  // namespace

HONE_ROW(Way){
    .family = "conv",
    .name = "channels",
    .doc =
        "a kernel of our own whose neighbouring threads have neighbouring channels, for depthwise ones that lie "
        "channels last",
    .why_not = WhyNot,
    .cost = Cost,
    .bytes_beside = BytesBeside,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_conv_channels
