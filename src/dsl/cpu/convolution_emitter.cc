#include "dsl/cpu/convolution_emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/cpu/convolution_library.h"
#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/loop_text.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kChunk = 512;  // products that are summed one after the other

}  // namespace

ConvEmitter::ConvEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
    : program_(program), kernel_(kernel), writer_(writer), conv_(kernel) {
  const auto micro = TupleSetting(kernel, "micro"), tile = TupleSetting(kernel, "tile");
  mr_ = micro[0];
  nr_ = micro[1];
  channels_along_ = WordSetting(kernel, "along") == "channels";
  panels_ = (conv_.made + mr_ - 1) / mr_;
  tile_made_ = std::min(tile[0], panels_ * mr_);
  tile_pixels_ = tile[1];
  tile_channels_ = std::min(tile[2], conv_.channels);
}

void ConvEmitter::Emit(ConvPath path) {
  const std::size_t all = conv_.phases[0].size() * conv_.phases[1].size() * conv_.phases[2].size();
  if (path == ConvPath::kLibrary) EmitLibrary();
  int number = 0;
  for (const auto& z : conv_.phases[0]) {
    for (const auto& y : conv_.phases[1]) {
      for (const auto& x : conv_.phases[2]) {
        phase_ = {z, y, x};
        taps_ = z.taps * y.taps * x.taps;
        name_ = all == 1 ? writer_.TargetName() : fmt::format("{}_{}", number, writer_.TargetName());
        if (all > 1) {
          writer_.Comment(fmt::format("Outputs from ({}, {}, {}) on, every ({}, {}, {}).", z.out_start, y.out_start,
                                      x.out_start, z.out_step, y.out_step, x.out_step));
        }
        ++number;
        if (taps_ == 0 || conv_.channels == 0) {
          EmitNothing();
          continue;
        }
        PackWeights();
        if (path == ConvPath::kDirect) {
          EmitDirect();
        } else {
          EmitGemm();
        }
      }
    }
  }
}

ConvEmitter::Index ConvEmitter::Zeros() {
  Index index;
  index.fill("0");
  return index;
}

std::string ConvEmitter::Element(int operand, const Index& index) const {
  const auto& strides = conv_.strides[static_cast<std::size_t>(operand)];
  return ElementText(program_, kernel_, writer_, operand, {index.begin(), index.end()},
                     {strides.begin(), strides.end()}, kernel_.operands[static_cast<std::size_t>(operand)].offset);
}

std::string ConvEmitter::Target(const Index& index) const {
  return fmt::format("{}[{}]", writer_.TargetName(),
                     Address({index.begin(), index.end()}, {conv_.target.begin(), conv_.target.end()}, 0));
}

std::string ConvEmitter::Epilogue(const Index& index, const std::string& it) {
  ExprWriter text(writer_, [&](const ExprNode& load) {
    return load.kind == Expr::Kind::kValue ? it : Element(load.buffer, index);
  });
  return text.Text(kernel_.epilogue);
}

std::string ConvEmitter::Out(int d, const std::string& m) const {
  const Phase& phase = phase_[static_cast<std::size_t>(d)];
  return Plus(Scaled(m, phase.out_step), phase.out_start);
}

std::string ConvEmitter::Group(const std::string& channel, std::int64_t extent) const {
  return conv_.groups == 1 ? channel : Plus(extent == 1 ? "group" : fmt::format("group * {}", extent), channel);
}

std::string ConvEmitter::Open(const std::string& var, std::int64_t extent) {
  if (extent == 1) return "0";
  writer_.Open(For(var, extent));
  ++open_;
  return var;
}

void ConvEmitter::CloseAll() {
  for (; open_ > 0; --open_) writer_.Close();
}

std::string ConvEmitter::Vector() {
  const std::string& real = writer_.real();
  const std::int64_t element = writer_.wide() ? 8 : 4;
  if (VectorWidth() * element % 64 == 0) {
    writer_.Helper("Vector_" + real);
    return writer_.wide() ? "DoubleVector" : "FloatVector";
  }
  const std::string name = "Vector_" + name_;
  writer_.Line(
      fmt::format("typedef {} {} __attribute__((vector_size(32), aligned({}), may_alias));", real, name, element));
  return name;
}

void ConvEmitter::EmitLibrary() {
  if (!OpenLibraryRun(program_, kernel_, conv_, writer_)) return;
  if (!IsValue(kernel_.epilogue, kIt)) {
    for (std::size_t d = 0; d < 3; ++d) phase_[d] = conv_.phases[d][0];
    EmitEpilogue(true);
  }
  writer_.Line("return;");
  writer_.Close();
}

void ConvEmitter::EmitEpilogue(bool of_target) {
  writer_.ParallelFor(2);
  writer_.Open(For("image", conv_.batch));
  writer_.Open(For("channel", conv_.groups * conv_.made));
  Index at = Zeros();
  at[Conv::kN] = "image";
  at[Conv::kO] = "channel";
  for (int d = 0; d < 3; ++d) {
    const std::string var = fmt::format("o{}", "zyx"[d]);
    const std::int64_t extent = phase_[static_cast<std::size_t>(d)].positions;
    writer_.Open(For(var, extent));
    at[static_cast<std::size_t>(Conv::kZ + d)] = Out(d, var);
  }
  const std::string value = Epilogue(at, of_target ? Target(at) : writer_.Number(0));
  writer_.Line(fmt::format("{} = {};", Target(at), value));
  for (int i = 0; i < 5; ++i) writer_.Close();
}

void ConvEmitter::PackWeights() {
  const Expr& w = kernel_.inputs[1];
  const std::vector<int> buffers = BuffersOf(kernel_, w);
  weights_ = writer_.Scratch("weights", writer_.real(), conv_.groups * panels_ * conv_.channels * taps_ * mr_);
  std::string parameters;
  for (const int buffer : buffers) {
    parameters +=
        fmt::format("const {}* __restrict {}, ", ElementType(program_.buffers[static_cast<std::size_t>(buffer)].dtype),
                    writer_.BufferName(buffer));
  }
  writer_.BeginFunction();
  writer_.Comment(fmt::format(
      "The weights as panels of {} output channels in the order in which they are read, with zeros beyond the last.",
      mr_));
  writer_.Open(fmt::format("void PackW_{}({}{}* __restrict packed, [[maybe_unused]] int threads)", name_, parameters,
                           writer_.real()));
  writer_.ParallelFor((conv_.groups > 1) + (panels_ > 1));
  const std::string g = Open("group", conv_.groups), panel = Open("panel", panels_),
                    c = Open("channel", conv_.channels);
  Index at = Zeros();
  std::string tap = "0";
  for (std::size_t d = 0; d < 3; ++d) {
    const std::string var = Open(fmt::format("t{}", "zyx"[d]), phase_[d].taps);
    at[Conv::kTapZ + d] = Plus(Scaled(var, phase_[d].every), phase_[d].first);
    tap = Plus(Scaled(tap, phase_[d].taps), var);
  }
  const std::string r = Open("r", mr_);
  const std::string o = Plus(Scaled(panel, mr_), r);
  const bool edge = conv_.made % mr_ != 0;
  if (edge) writer_.Open(fmt::format("if ({} < {})", o, conv_.made));
  at[Conv::kC] = c;
  at[Conv::kMade] = o;
  at[Conv::kIn] = Group(c, conv_.channels);
  at[Conv::kO] = Group(o, conv_.made);
  const std::string to = fmt::format(
      "packed[{}]",
      Address({g, panel, c, tap, r},
              {panels_ * conv_.channels * taps_ * mr_, conv_.channels * taps_ * mr_, taps_ * mr_, mr_, 1}, 0));
  ExprWriter text(writer_, [&](const ExprNode& load) { return Element(load.buffer, at); });
  const std::string value = text.Text(w);
  writer_.Line(fmt::format("{} = {};", to, value));
  if (edge) {
    writer_.Close(" else {");
    writer_.Indent();
    writer_.Line(fmt::format("{} = 0;", to));
    writer_.Close();
  }
  CloseAll();
  writer_.Close();
  writer_.EndFunction();

  bool prepared = WordSetting(kernel_, "prepack") == "auto" && !buffers.empty();
  for (const int buffer : buffers)
    prepared &= program_.buffers[static_cast<std::size_t>(buffer)].home == KernelBuffer::Home::kParameter;
  if (prepared) {
    writer_.Prepare({.function = "PackW_" + name_, .buffers = buffers, .scratch = {weights_}});
  } else {
    std::string arguments;
    for (const int buffer : buffers) arguments += writer_.BufferName(buffer) + ", ";
    writer_.Line(fmt::format("PackW_{}({}{}, {});", name_, arguments, weights_, writer_.parallel() ? "threads" : "1"));
  }
}

std::string ConvEmitter::Weights() const {
  return weights_ + " + " +
         Address({conv_.groups == 1 ? "0" : "group", "o0 + i", tile_channels_ < conv_.channels ? "c0" : "0"},
                 {panels_ * conv_.channels * taps_ * mr_, conv_.channels * taps_, taps_ * mr_}, 0);
}

void ConvEmitter::WriteMultiply(const std::vector<std::int64_t>& places, std::int64_t step) {
  const std::string& real = writer_.real();
  writer_.BeginFunction();
  const std::string vector = Vector();
  writer_.Comment(fmt::format("tile = the sums over `depth` {} of {} output channels x {} pixels, in registers.",
                              places.empty() ? "products" : "channels and the window's taps", mr_, nr_));
  writer_.Open(
      fmt::format("inline void Multiply_{}(long depth, const {}* __restrict w, const {}* __restrict x, {}* __restrict "
                  "tile)",
                  name_, real, real, real));
  writer_.Line(fmt::format("constexpr int kLanes = sizeof({}) / sizeof({}), kVectors = {} / kLanes;", vector, real,
                           VectorWidth()));
  const bool table = places.size() > 1;
  if (table) {
    writer_.Comment("Where the taps' pixels stand.");
    writer_.Line(fmt::format("static constexpr int kPlaces[{}] = {{{}}};", places.size(), fmt::join(places, ", ")));
  }
  // A long sum is made of the sums of equal chunks, so that fewer roundings pile up.
  const std::int64_t products = places.empty() ? 1 : static_cast<std::int64_t>(places.size());
  const std::int64_t most = tile_channels_ * taps_ / products;
  const std::int64_t chunks = (most * products + kChunk - 1) / kChunk;
  const std::int64_t chunk = (most + chunks - 1) / chunks;
  const bool chunked = chunk < most;
  if (chunked) {
    writer_.Open(fmt::format("for (long k0 = 0; k0 < depth; k0 += {})", chunk));
    writer_.Line(fmt::format("const long k_end = k0 + {} < depth ? k0 + {} : depth;", chunk, chunk));
  }
  const std::int64_t rows = channels_along_ ? nr_ : mr_;
  writer_.Line(fmt::format("{} sum[{}][kVectors] = {{}};", vector, rows));
  writer_.Open(fmt::format("for (long k = {}; k < {}; ++k, x += {})", chunked ? "k0" : "0", chunked ? "k_end" : "depth",
                           places.empty() ? nr_ : step));
  if (table) writer_.Open(fmt::format("for (int t = 0; t < {}; ++t, w += {})", places.size(), mr_));
  writer_.Line(fmt::format("{} row[kVectors];", vector));
  writer_.Line("#pragma GCC unroll 16");
  const std::string place = table                             ? "kPlaces[t] + "
                            : places.size() == 1 && places[0] ? fmt::format("{} + ", places[0])
                                                              : "";
  // One side is read as vectors, of the other an element meets them all.
  writer_.Line(fmt::format("for (int v = 0; v < kVectors; ++v) row[v] = *reinterpret_cast<const {}*>({}v * kLanes);",
                           vector, channels_along_ ? "w + " : "x + " + place));
  writer_.Line("#pragma GCC unroll 32");
  writer_.Open(fmt::format("for (int r = 0; r < {}; ++r)", rows));
  writer_.Line("#pragma GCC unroll 16");
  writer_.Line(fmt::format("for (int v = 0; v < kVectors; ++v) sum[r][v] += {} * row[v];",
                           channels_along_ ? fmt::format("x[{}r]", place) : "w[r]"));
  writer_.Close();
  if (table) {
    writer_.Close();
  } else {
    writer_.Line(fmt::format("w += {};", mr_));
  }
  writer_.Close();
  const auto keep = [&](std::string_view how) {
    writer_.Line("#pragma GCC unroll 32");
    writer_.Open(fmt::format("for (int r = 0; r < {}; ++r)", rows));
    writer_.Line("#pragma GCC unroll 16");
    writer_.Line(
        fmt::format("for (int v = 0; v < kVectors; ++v) *reinterpret_cast<{}*>(tile + r * {} + v * kLanes) {} "
                    "sum[r][v];",
                    vector, VectorWidth(), how));
    writer_.Close();
  };
  if (chunked) {
    writer_.Open("if (k0 == 0)");
    keep("=");
    writer_.Close(" else {");
    writer_.Indent();
    keep("+=");
    writer_.Close();
    writer_.Close();
  } else {
    keep("=");
  }
  writer_.Close();
  writer_.EndFunction();
}

void ConvEmitter::OpenTasks(const std::string& var, std::int64_t extent, std::int64_t step) {
  if (step >= extent) {
    writer_.Line(fmt::format("constexpr long {} = 0;", var));
    return;
  }
  writer_.Open(fmt::format("for (long {} = 0; {} < {}; {} += {})", var, var, extent, var, step));
  ++open_;
}

std::string ConvEmitter::TileElement() const {
  return channels_along_ ? fmt::format("tile[l * {} + r]", mr_) : fmt::format("tile[r * {} + l]", nr_);
}

void ConvEmitter::StoreSums(const std::string& begin, const std::string& end, const std::string& target,
                            const std::function<std::string()>& chain) {
  const std::string sum = TileElement();
  const auto loops = [&](const std::function<void()>& body) {
    writer_.Open("for (long r = 0; r < tile_rows; ++r)");
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long l = {}; l < {}; ++l)", begin, end));
    body();
    writer_.Close();
    writer_.Close();
  };
  const auto finish = [&](const std::string& it) {
    loops([&] {
      writer_.Line(fmt::format("const {} total = {};", writer_.real(), it));
      const std::string value = chain();
      writer_.Line(fmt::format("{} = {};", target, value));
    });
  };
  if (tile_channels_ >= conv_.channels) return finish(sum);
  // The sums of parts of the channels meet in the target, or beside it where that would round them.
  std::string before = target;
  if (kernel_.target_type != kernel_.compute) {
    if (sums_.empty()) sums_ = writer_.Scratch("sums", writer_.real(), ElementCount(kernel_.result));
    before.replace(0, writer_.TargetName().size(), sums_);
  }
  writer_.Open("if (c0 == 0)");
  loops([&] { writer_.Line(fmt::format("{} = {};", before, sum)); });
  writer_.Close(fmt::format(" else if (c0 + {} < {}) {{", tile_channels_, conv_.channels));
  writer_.Indent();
  loops([&] { writer_.Line(fmt::format("{} += {};", before, sum)); });
  writer_.Close(" else {");
  writer_.Indent();
  finish(fmt::format("{} + {}", before, sum));
  writer_.Close();
}

void EmitConvolutionDirect(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  ConvEmitter(program, kernel, writer).Emit(ConvPath::kDirect);
}
void EmitConvolutionGemm(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  ConvEmitter(program, kernel, writer).Emit(ConvPath::kGemm);
}
void EmitConvolutionByLibrary(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  ConvEmitter(program, kernel, writer).Emit(ConvPath::kLibrary);
}

}  // namespace hone::dsl
