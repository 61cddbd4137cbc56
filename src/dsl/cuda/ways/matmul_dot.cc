// Matrix products of few rows or columns, in f32 or f64: a block of threads reads whole rows of both operands and adds
// up dot products. What counts is that the larger operand is read once.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_parts.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_dot {
namespace {

constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kOneTile = 64 * 64;  // elements

class DotEmitter : MatmulInParts {
 public:
  using MatmulInParts::MatmulInParts;

  void Emit() {
    const auto block = TupleSetting(kernel_, "tile");
    const std::int64_t rows = block[0], columns = block[1], split = IntSetting(kernel_, "split");
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent;
    const std::int64_t blocks_m = (m + rows - 1) / rows, blocks_n = (n + columns - 1) / columns;
    const bool packs[2] = {text_.InPacks(0, true) && !out_.wide(), text_.InPacks(1, true) && !out_.wide()};
    const std::int64_t vector = packs[0] || packs[1] ? 4 : 1, stride = kThreads * vector;
    const Cut cut = CutK(split, stride);

    const std::string& index = text_.index;
    out_.BeginKernel("dots", kThreads);
    out_.Line("const int thread = threadIdx.x;");
    out_.Line(fmt::format("__shared__ {} sums[{}][{}];", real_, kThreads / 32, rows * columns));
    out_.Line(fmt::format("const {} n0 = blockIdx.x % {} * {};", index, blocks_n, columns));
    out_.Line(fmt::format("const {} m0 = blockIdx.x / {} % {} * {};", index, blocks_n, blocks_m, rows));
    OpenWork(blocks_m * blocks_n, cut);
    const std::vector<std::string> at = text_.OpenBatches("batch", -1);
    out_.Line(fmt::format("{} sum[{}] = {{}};", real_, rows * columns));
    out_.Open(fmt::format("for ({0} first = begin; first < end; first += {1})", index, kSumDepth * stride / vector));
    out_.Line(fmt::format("{} part_sum[{}] = {{}};", real_, rows * columns));
    out_.Line(fmt::format("const {} last = min(first + {}, end);", index, kSumDepth * stride / vector));
    out_.Line("#pragma unroll 2");
    out_.Open(fmt::format("for ({0} k0 = first + thread * {1}; k0 < last; k0 += {2})", index, vector, stride));
    // The last block may lie beyond the last row; it reads that row again.
    const auto read = [&](int input) {
      const std::int64_t count = input == 0 ? rows : columns, extent = text_.RowsOf(input);
      const std::string side = input == 0 ? "m" : "n", name = input == 0 ? "a" : "b";
      out_.Line(fmt::format("{} {}[{}][{}];", real_, name, count, vector));
      out_.Unroll();
      out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", count));
      out_.Line(extent % count == 0
                    ? fmt::format("const {} {} = {}0 + i;", index, side, side)
                    : fmt::format("const {0} {1} = min({1}0 + i, static_cast<{0}>({2}));", index, side, extent - 1));
      if (packs[input]) {
        out_.Line(fmt::format("const float4 four = *reinterpret_cast<const float4*>({});",
                              text_.AddressOf(input, at, side, "k0")));
        for (int v = 0; v < 4; ++v)
          out_.Line(fmt::format("{}[i][{}] = four.{};", name, v, std::string_view("xyzw").substr(std::size_t(v), 1)));
      } else {
        out_.Unroll();
        const std::string v = out_.Fresh("v");
        out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", v, vector));
        out_.Line(fmt::format("const {} k = k0 + {};", index, v));
        out_.Line(fmt::format("{}[i][{}] = {};", name, v, text_.Element(input, at, side, "k")));
        out_.Close();
      }
      out_.Close();
    };
    read(0);
    read(1);
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", rows * columns));
    out_.Unroll();
    out_.Line(fmt::format("for (int v = 0; v < {}; ++v) part_sum[i] += a[i / {}][v] * b[i % {}][v];", vector, columns,
                          columns));
    out_.Close();
    out_.Close();
    out_.Unroll();
    out_.Line(fmt::format("for (int i = 0; i < {}; ++i) sum[i] += part_sum[i];", rows * columns));
    out_.Close();
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", rows * columns));
    out_.Unroll();
    out_.Line("for (int step = 16; step > 0; step /= 2) sum[i] += __shfl_xor_sync(~0u, sum[i], step);");
    out_.Line("if (thread % 32 == 0) sums[thread / 32][i] = sum[i];");
    out_.Close();
    out_.Line("__syncthreads();");
    out_.Line(fmt::format("if (thread >= {}) return;", rows * columns));
    out_.Line(fmt::format("const {0} m = m0 + thread / {1}, n = n0 + thread % {1};", index, columns));
    if (m % rows != 0 || n % columns != 0) out_.Line(fmt::format("if (m >= {} || n >= {}) return;", m, n));
    out_.Line(fmt::format("{} total = 0;", real_));
    out_.Unroll();
    out_.Line(fmt::format("for (int i = 0; i < {}; ++i) total += sums[i][thread];", kThreads / 32));
    Finish(cut, at, "total");
    Launch(blocks_m * blocks_n, cut, kThreads / 32 * rows * columns * (out_.wide() ? 8 : 4));
  }
};

std::optional<double> Cost(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  if (!AlongK(kernel, shape)) return std::nullopt;
  // Of more than two rows of halves they take as many times as long as there are rows (ways/matmul_stream.cc).
  const bool halves = AllAre(kernel, DType::kBF16) || AllAre(kernel, DType::kF16);
  if (IsNarrow(shape)) return halves && shape.m.extent > 2 && shape.m.extent <= shape.n.extent ? 2.6 : 1.1;
  // What would be one tile of a way without tensor cores: 64 x 20 x 480 took 35 us so.
  const bool little = shape.m.extent * shape.n.extent * BatchesOf(shape) <= kOneTile;
  return little && !IsLarge(shape) ? std::optional(1.4) : std::nullopt;
}

std::vector<Setting> TileValues(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  const std::int64_t m = std::max<std::int64_t>(shape.m.extent, 1), n = std::max<std::int64_t>(shape.n.extent, 1);
  // Four of the longer side share what is read of the shorter one.
  const std::int64_t few = std::min(m, n) <= 2 ? std::min(m, n) : 2;
  std::vector<Setting> values;
  const auto add = [&](std::int64_t rows, std::int64_t columns) {
    const Setting value = Tuple({rows, columns});
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  };
  const std::int64_t four_m = std::min<std::int64_t>(m, 4), four_n = std::min<std::int64_t>(n, 4);
  if (n <= m) {
    add(four_m, few);
    add(std::min<std::int64_t>(m, 2), four_n);
  } else {
    add(few, four_n);
    add(four_m, std::min<std::int64_t>(n, 2));
  }
  add(1, 1);
  return values;
}
std::optional<std::string> CheckTile(const Kernel&, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2) return "it is rows x columns; try 4x1";
  const std::int64_t rows = (*tuple)[0], columns = (*tuple)[1];
  if (rows < 1 || columns < 1 || rows > 16 || columns > 16 || rows * columns > 16)
    return "a block of dot makes 1 to 16 elements; try 4x1";
  return std::nullopt;
}

std::vector<Setting> SplitValues(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  const auto tile = TupleSetting(kernel, "tile");
  if (tile.size() != 2) return {Whole(1)};
  const std::int64_t wanted = 8 * kernel.device->multiprocessors;
  return SplitsAround(shape, SplitFor(shape, TilesOf(shape, tile[0], tile[1]), wanted, 4096));
}

constexpr Knob kKnobs[] = {
    kProductsApartKnob,
    {"tile", "rows x columns of the result that a block makes at a time", TileValues, CheckTile},
    {"split", kSplitDoc, SplitValues, CheckSplitK},
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  DotEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "dot",
    .doc = "dot products, for few rows or columns",
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_matmul_dot
