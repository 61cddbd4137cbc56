// Matrix products without tensor cores, of any shape, strides and expressions, in f32 or f64: tiles of A and B go
// through shared memory, a thread holds a block of the result in registers.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_parts.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_simt {
namespace {

constexpr std::int64_t kThreads = 256;

class SimtEmitter : MatmulInParts {
 public:
  using MatmulInParts::MatmulInParts;

  void Emit() {
    const std::int64_t tile = TupleSetting(kernel_, "tile")[0], split = IntSetting(kernel_, "split");
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent;
    const std::int64_t micro = tile / 16, depth = 16;
    const std::int64_t vector = std::min<std::int64_t>(micro, 4), loads = tile * depth / kThreads;
    const std::int64_t tiles_m = (m + tile - 1) / tile, tiles_n = (n + tile - 1) / tile;
    const Cut cut = CutK(split, depth);

    const std::string& index = text_.index;
    out_.BeginKernel("tiles", kThreads);
    out_.Line("const int thread = threadIdx.x;");
    out_.Line(fmt::format("__shared__ __align__(16) {} a_tile[2][{}][{}], b_tile[2][{}][{}];", real_, depth, tile + 4,
                          depth, tile + 4));
    out_.Line(fmt::format("const {} n0 = blockIdx.x % {} * {};", index, tiles_n, tile));
    out_.Line(fmt::format("const {} m0 = blockIdx.x / {} % {} * {};", index, tiles_n, tiles_m, tile));
    OpenWork(tiles_m * tiles_n, cut);
    const std::vector<std::string> at = text_.OpenBatches("batch", -1);
    out_.Line(fmt::format("{0} total[{1}][{1}] = {{}}, sum[{1}][{1}] = {{}};", real_, micro));
    out_.Line(fmt::format("{} next_a[{}], next_b[{}];", real_, loads, loads));
    // Neighbouring threads read neighbours in memory.
    const auto fetch = [&](const std::string& k0) {
      for (const int input : {0, 1}) {
        const bool along_k = text_.Stride(input, true) == 1 && text_.Stride(input, false) != 1;
        const std::string side = input == 0 ? "m" : "n";
        out_.Unroll();
        out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", loads));
        out_.Line(fmt::format("const int place = thread + i * {};", kThreads));
        out_.Line(fmt::format("const {0} {1} = {1}0 + place {2}, k = {3} + place {4};", index, side,
                              along_k ? fmt::format("/ {}", depth) : fmt::format("% {}", tile), k0,
                              along_k ? fmt::format("% {}", depth) : fmt::format("/ {}", tile)));
        const std::string to = input == 0 ? "next_a[i]" : "next_b[i]";
        out_.Line(fmt::format("{} = 0;", to));
        out_.Open(fmt::format("if ({} < {} && k < end)", side, text_.RowsOf(input)));
        out_.Line(fmt::format("{} = {};", to, text_.Element(input, at, side, "k")));
        out_.Close();
        out_.Close();
      }
    };
    const auto keep = [&](const std::string& buffer) {
      for (const int input : {0, 1}) {
        const bool along_k = text_.Stride(input, true) == 1 && text_.Stride(input, false) != 1;
        out_.Unroll();
        out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", loads));
        out_.Line(fmt::format("const int place = thread + i * {};", kThreads));
        out_.Line(fmt::format("{}_tile[{}][place {}][place {}] = next_{}[i];", input == 0 ? "a" : "b", buffer,
                              along_k ? fmt::format("% {}", depth) : fmt::format("/ {}", tile),
                              along_k ? fmt::format("/ {}", depth) : fmt::format("% {}", tile),
                              input == 0 ? "a" : "b"));
        out_.Close();
      }
    };
    fetch("begin");
    keep("0");
    out_.Line("__syncthreads();");
    out_.Line("int half = 0;");
    out_.Open(fmt::format("for ({} k0 = begin; k0 < end; k0 += {})", index, depth));
    out_.Open(fmt::format("if (k0 + {} < end)", depth));
    fetch(fmt::format("k0 + {}", depth));
    out_.Close();
    out_.Unroll();
    out_.Open(fmt::format("for (int k = 0; k < {}; ++k)", depth));
    out_.Line(fmt::format("{} a[{}], b[{}];", real_, micro, micro));
    // A thread's rows and columns: groups of neighbours, spread over the tile.
    const auto spread = [&](const std::string& from) {
      return fmt::format("{} * {} + i % {} + i / {} * {}", from, vector, vector, vector, 16 * vector);
    };
    out_.Unroll();
    out_.Line(fmt::format("for (int i = 0; i < {}; ++i) a[i] = a_tile[half][k][{}];", micro, spread("thread / 16")));
    out_.Unroll();
    out_.Line(fmt::format("for (int i = 0; i < {}; ++i) b[i] = b_tile[half][k][{}];", micro, spread("thread % 16")));
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", micro));
    out_.Unroll();
    out_.Line(fmt::format("for (int j = 0; j < {}; ++j) sum[i][j] += a[i] * b[j];", micro));
    out_.Close();
    out_.Close();
    out_.Open(fmt::format("if ((k0 - begin) % {} == {} || k0 + {} >= end)", kSumDepth, kSumDepth - depth, depth));
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", micro * micro));
    out_.Line(fmt::format("total[i / {0}][i % {0}] += sum[i / {0}][i % {0}];", micro));
    out_.Line(fmt::format("sum[i / {0}][i % {0}] = 0;", micro));
    out_.Close();
    out_.Close();
    out_.Open(fmt::format("if (k0 + {} < end)", depth));
    out_.Line("half ^= 1;");
    keep("half");
    out_.Line("__syncthreads();");
    out_.Close();
    out_.Close();

    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", micro));
    out_.Line(fmt::format("const {} m = m0 + {};", index, spread("thread / 16")));
    if (m % tile != 0) out_.Line(fmt::format("if (m >= {}) continue;", m));
    out_.Unroll();
    out_.Open(fmt::format("for (int j = 0; j < {}; ++j)", micro));
    out_.Line(fmt::format("const {} n = n0 + thread % 16 * {} + j % {} + j / {} * {};", index, vector, vector, vector,
                          16 * vector));
    if (n % tile != 0) out_.Line(fmt::format("if (n >= {}) continue;", n));
    Finish(cut, at, "total[i][j]");
    out_.Close();
    out_.Close();
    Launch(tiles_m * tiles_n, cut, 4 * depth * (tile + 4) * (out_.wide() ? 8 : 4));
  }
};

std::optional<double> Cost(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  const bool dots = IsNarrow(shape) && AlongK(kernel, shape);
  return dots || (IsLarge(shape) && TensorCoresCan(kernel)) ? 10 : 1.8;
}

std::vector<Setting> TileValues(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  // The largest that gives every multiprocessor a tile, or else the one that gives most.
  const bool small = TilesOf(shape, 64, 64) < kernel.device->multiprocessors &&
                     shape.m.extent * shape.n.extent * BatchesOf(shape) > 64 * 64;
  if (small) return {Tuple({32, 32})};
  return {Tuple({64, 64}), Tuple({32, 32})};
}
std::optional<std::string> CheckTile(const Kernel&, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2) return "it is rows x columns; try 64x64";
  if ((*tuple)[0] != (*tuple)[1] || ((*tuple)[0] != 64 && (*tuple)[0] != 32))
    return "simt has 32x32 and 64x64; try 64x64";
  return std::nullopt;
}

std::vector<Setting> SplitValues(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  const auto tile = TupleSetting(kernel, "tile");
  if (tile.size() != 2) return {Whole(1)};
  return SplitsAround(shape,
                      SplitFor(shape, TilesOf(shape, tile[0], tile[1]), 2 * kernel.device->multiprocessors, 256));
}

constexpr Knob kKnobs[] = {
    kProductsApartKnob,
    {"tile", "rows x columns of the result that a block makes at a time", TileValues, CheckTile},
    {"split", kSplitDoc, SplitValues, CheckSplitK},
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  SimtEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "simt",
    .doc = "without tensor cores",
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_matmul_simt
