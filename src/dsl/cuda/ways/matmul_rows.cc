// Matrix products of a few rows with many columns, of 16-bit numbers that lie along K: a decoder's layer with the
// tokens of one step. The columns (a layer's weights) are read once, and how fast that goes is all that matters. So
// they go from memory to registers, 16 bytes at a time and many at once, and pass by shared memory and the first-level
// cache, which keeps the rows of A. The tensor cores multiply (mma, 16 x 8 x 16), since the other units are too slow
// for more than a few rows.
//
// A block makes 16 columns of all rows. Its warps have parts of K each and add up in shared memory what they have made:
//
//   K      0 ........ 127 | 128 ....... 255 | ...             a warp's step: 4 loads of 16 bytes for each thread,
//   warp        0         |        1        | ...             of two columns and of one row, or two
//
// An mma wants of a thread the elements 2t, 2t + 1, 2t + 8 and 2t + 9 of K, where t is its place among four. A sum does
// not care for the order of K: eight neighbours, which are one load, are given to two of them, of both operands alike.
//
//   warps  of a block: the more, the more is on its way where columns are few
//   split  parts of K for blocks of their own, whose sums a second kernel adds up
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_parts.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_rows {
namespace {

constexpr std::int64_t kMostRows = 16, kLeastColumns = 64;
constexpr std::int64_t kMostColumns = 2048;  // for which tiles leave most of the device idle
constexpr std::int64_t kColumns = 16;        // of a block: what an mma has
constexpr std::int64_t kLoads = 4;           // of a column, that a thread has on their way at once
constexpr std::int64_t kStep = kLoads * 32;  // of K: what a warp takes at a time

constexpr std::string_view kHelpers = R"(// Sixteen bytes that nobody reads again.
__device__ __forceinline__ uint4 Stream(const void* from) {
  uint4 to;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w)
               : "l"(from));
  return to;
}
)";
// The places of TYPE are the operands' type in PTX.
constexpr std::string_view kMultiply =
    R"(// sum += 16 columns of B x 8 rows of A, of 16 elements of K: as registers of mma.
__device__ __forceinline__ void MultiplyTYPE(float (&sum)[4], unsigned low, unsigned high, unsigned low_8,
                                             unsigned high_8, unsigned x, unsigned x_8) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.TYPE.TYPE.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(low), "r"(high), "r"(low_8), "r"(high_8), "r"(x), "r"(x_8));
}
)";

class RowsEmitter : MatmulInParts {
 public:
  using MatmulInParts::MatmulInParts;

  void Emit() {
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent, k = text_.shape.k.extent;
    const std::int64_t warps = IntSetting(kernel_, "warps"), tiles = (n + kColumns - 1) / kColumns;
    const std::int64_t eights = (m + 7) / 8;  // of rows
    const bool bf16 = AllAre(kernel_, DType::kBF16);
    const std::string type = bf16 ? "bf16" : "f16";
    const Cut cut = CutK(IntSetting(kernel_, "split"), kStep);
    out_.Define(std::string(kHelpers));
    std::string multiply(kMultiply);
    for (auto at = multiply.find("TYPE"); at != std::string::npos; at = multiply.find("TYPE", at))
      multiply.replace(at, 4, type);
    out_.Define(multiply);

    const std::string& index = text_.index;
    out_.BeginKernel("rows", 32 * warps);
    out_.Line("const int thread = threadIdx.x, warp = thread / 32, row = thread % 32 / 4, eighth = thread % 4 * 8;");
    out_.Line(fmt::format("__shared__ float sums[{}][{}][{}];", warps, 8 * eights, kColumns + 1));
    out_.Line(fmt::format("const {} n0 = blockIdx.x % {} * {};", index, tiles, kColumns));
    OpenWork(tiles, cut);
    const std::vector<std::string> at = text_.OpenBatches("batch", -1);
    // Beyond the last row or column the last one is read again; what comes of it is not written.
    const auto place = [&](std::string_view name, int input, const std::string& wanted, std::int64_t extent,
                           bool beyond) {
      const std::string at_row =
          beyond ? fmt::format("min({}, static_cast<{}>({}))", wanted, index, extent - 1) : wanted;
      out_.Line(fmt::format("const auto* const {} = {};", name, text_.AddressOf(input, at, at_row, "eighth")));
    };
    place("low", 1, "n0 + row", n, n % kColumns != 0);
    place("high", 1, "n0 + row + 8", n, n % kColumns != 0);
    for (std::int64_t e = 0; e < eights; ++e) {
      place(fmt::format("x{}", e), 0, fmt::format("static_cast<{}>(row + {})", index, 8 * e), m, 8 * e + 8 > m);
      out_.Line(fmt::format("float sum{}[4] = {{}};", e));
    }
    out_.Open(fmt::format("for ({0} k0 = begin + warp * {1}; k0 < end; k0 += {2})", index, kStep, warps * kStep));
    std::string rows;
    for (std::int64_t e = 0; e < eights; ++e) rows += fmt::format(", rows{}[{}]", e, kLoads);
    out_.Line(fmt::format("uint4 lows[{0}], highs[{0}]{1};", kLoads, rows));
    // All loads before the first product.
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", kLoads));
    out_.Line(fmt::format("const {} k = k0 + i * 32;", index));
    const bool whole = k % kStep == 0;
    const auto load = [&](const std::string& to, std::string_view how, const std::string& from) {
      const std::string text = fmt::format(fmt::runtime(how), from);
      out_.Line(whole ? fmt::format("{} = {};", to, text)
                      : fmt::format("{} = k + eighth < end ? {} : make_uint4(0, 0, 0, 0);", to, text));
    };
    load("lows[i]", "Stream({} + k)", "low");
    load("highs[i]", "Stream({} + k)", "high");
    for (std::int64_t e = 0; e < eights; ++e)
      load(fmt::format("rows{}[i]", e), "__ldg(reinterpret_cast<const uint4*>({} + k))", fmt::format("x{}", e));
    out_.Close();
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", kLoads));
    for (std::int64_t e = 0; e < eights; ++e) {
      out_.Line(fmt::format(
          "Multiply{0}(sum{1}, lows[i].x, highs[i].x, lows[i].y, highs[i].y, rows{1}[i].x, rows{1}[i].y);", type, e));
      out_.Line(fmt::format(
          "Multiply{0}(sum{1}, lows[i].z, highs[i].z, lows[i].w, highs[i].w, rows{1}[i].z, rows{1}[i].w);", type, e));
    }
    out_.Close();
    out_.Close();

    // A thread has columns `row` and `row` + 8 of two neighbouring rows of A.
    for (std::int64_t e = 0; e < eights; ++e) {
      out_.Unroll();
      out_.Line(fmt::format(
          "for (int i = 0; i < 4; ++i) sums[warp][{} + eighth / 4 + i % 2][row + i / 2 * 8] = sum{}[i];", 8 * e, e));
    }
    out_.Line("__syncthreads();");
    out_.Open(fmt::format("for (int place = thread; place < {}; place += {})", kColumns * m, 32 * warps));
    out_.Line(fmt::format("const {0} m = place / {1}, n = n0 + place % {1};", index, kColumns));
    if (n % kColumns != 0) out_.Line(fmt::format("if (n >= {}) continue;", n));
    out_.Line("float total = 0;");
    out_.Unroll();
    out_.Line(fmt::format("for (int w = 0; w < {}; ++w) total += sums[w][m][place % {}];", warps, kColumns));
    Finish(cut, at, "total");
    out_.Close();
    Launch(tiles, cut, warps * 8 * eights * (kColumns + 1) * 4);
  }
};

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  if (shape.m.extent > kMostRows)
    return fmt::format("it holds all {} rows at once, {} are possible", shape.m.extent, kMostRows);
  if (!AllAre(kernel, DType::kBF16) && !AllAre(kernel, DType::kF16)) return "it is for operands that are f16, or bf16";
  if (kernel.compute != DType::kF32) return "the product is computed in f64, which halves cannot make";
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) {
    const int operand = OperandOf(InputOf(kernel, i));
    if (operand < 0) return "it reads both operands where they lie, and one is an expression";
    const auto o = static_cast<std::size_t>(operand);
    bool aligned = kernel.operands[o].offset % 8 == 0 && shape.k.extent % 8 == 0;
    for (const LoopDim* dim : {&shape.m, &shape.n}) aligned &= dim->extent == 1 || dim->strides[o] % 8 == 0;
    for (const LoopDim& dim : shape.batch) aligned &= dim.strides[o] % 8 == 0;
    if (shape.k.strides[o] != 1 || !aligned)
      return "it reads 16 bytes at a time along K, and an operand does not lie so";
  }
  return std::nullopt;
}

std::optional<double> Cost(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  if (shape.m.extent > kMostRows || shape.n.extent < kLeastColumns) return std::nullopt;
  // Of 8 rows, K 4096 on an H200: 1024 columns 6.9 us, tiles 7.3, cuBLASLt 7.6; 28672 columns 71, 64 and 62. Rows that
  // choose their matrices each have few others to share it with: of a row dot products read two bytes at a time.
  return shape.n.extent <= kMostColumns || HasChoice(kernel) ? 1.05 : 2.5;
}

// Enough warps for what has to be on its way to keep memory busy, as far as K gives them something to do.
std::vector<Setting> WarpsValues(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  const bool many = TilesOf(shape, shape.m.extent, kColumns) >= 2 * kernel.device->multiprocessors;
  std::vector<Setting> values;
  for (const std::int64_t warps : {many ? 8 : 16, many ? 16 : 8, 4}) {
    if (warps == 4 || warps * kStep <= shape.k.extent) values.push_back(Whole(warps));
  }
  return values;
}
std::optional<std::string> CheckWarps(const Kernel&, const Setting& value) { return CheckRange(value, 1, 32); }

std::vector<Setting> SplitValues(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  const std::int64_t tiles = TilesOf(shape, shape.m.extent, kColumns);
  return SplitsAround(shape, SplitFor(shape, tiles, kernel.device->multiprocessors, 2048));
}

constexpr Knob kKnobs[] = {
    kProductsApartKnob,
    {"warps", "of a block, with parts of K each", WarpsValues, CheckWarps},
    {"split", kSplitDoc, SplitValues, CheckSplitK},
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  RowsEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "rows",
    .doc = "few rows of 16-bit numbers, as fast as the columns can be read",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_matmul_rows
