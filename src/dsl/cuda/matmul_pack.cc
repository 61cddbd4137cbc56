#include "dsl/cuda/matmul_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/rounding.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kLine = 64;  // 16-bit numbers of a cache line

class Packer {
 public:
  Packer(const Kernel& kernel, const MatmulText& text, DeviceWriter& out, const Packing& packing)
      : kernel_(kernel), text_(text), out_(out), packing_(packing) {}

  PackedOperand Pack(int input) {
    const std::int64_t parts = packing_.parts, batches = text_.BatchesOf(input), rows = text_.RowsOf(input);
    // Rows begin where cache lines do: a box row of 128 bytes is one line then.
    const std::int64_t width = RoundUp(text_.shape.k.extent, kLine);
    const std::string_view name = input == 0 ? "a" : "b";
    PackedOperand made;
    made.buffer = out_.Scratch(fmt::format("{}_packed", name), packing_.element, parts * batches * rows * width);
    made.shape = {parts, batches, rows, width};
    made.strides = {batches * rows * width, rows * width, width, 1};
    if (packing_.chunk > 0)
      made.scales = out_.Scratch(fmt::format("{}_scales", name), DType::kF32, batches * Chunks() * ScaleRows(rows));
    // Neighbouring threads go along K where that is how the operand lies, else along its rows.
    const std::int64_t along_k = text_.Stride(input, true), along_rows = text_.Stride(input, false);
    if (along_rows == 1 || (along_k != 1 && along_rows > 0 && along_k > along_rows)) {
      PackAcross(input, made);
    } else {
      PackAlong(input, made);
    }
    return made;
  }

 private:
  std::int64_t Chunks() const { return (text_.shape.k.extent + packing_.chunk - 1) / packing_.chunk; }

  // The element, 0 beyond K.
  void ReadElement(int input, const std::vector<std::string>& batches, const std::string& to, const std::string& row,
                   const std::string& k, const std::string& condition) {
    out_.Line(fmt::format("{} = 0.0f;", to));
    out_.Open(fmt::format("if ({})", condition));
    out_.Line(fmt::format("{} = {};", to, text_.Element(input, batches, row, k)));
    out_.Close();
  }
  std::string PairText() const { return packing_.element == DType::kBF16 ? "BrainPair" : "HalfPair"; }
  void PackedLaunch(int input, const PackedOperand& made, std::int64_t grid) {
    DeviceWriter::LaunchShape launch = text_.Reading(kernel_.inputs[static_cast<std::size_t>(input)]);
    launch.grid_x = grid;
    launch.scratch_writes = {made.buffer};
    if (packing_.chunk > 0) launch.scratch_writes.push_back(made.scales);
    launch.prepare = text_.Constant(input);
    out_.Launch(launch);
  }
  std::int64_t PackDepth() const { return packing_.chunk > 0 ? packing_.chunk : 128; }

  // A warp takes 128 of K of a row, or a chunk where that is more.
  void PackAlong(int input, const PackedOperand& made) {
    const std::int64_t rows = made.shape[2], width = made.shape[3], k = text_.shape.k.extent;
    const std::int64_t depth = PackDepth(), groups = std::max<std::int64_t>(depth / 128, 1), span = groups * 128;
    const std::int64_t spans = (k + span - 1) / span, row_blocks = (rows + 7) / 8;
    const std::int64_t part = made.strides[0];
    out_.BeginKernel(input == 0 ? "pack_a" : "pack_b", 256);
    const std::string& index = text_.index;
    out_.Line("const int lane = threadIdx.x % 32;");
    out_.Line(fmt::format("const {} k0 = blockIdx.x % {} * {} + lane * 4;", index, spans, span));
    out_.Line(fmt::format("const {} row = blockIdx.x / {} % {} * 8 + threadIdx.x / 32;", index, spans, row_blocks));
    out_.Line(fmt::format("const {} batch = blockIdx.x / {};", index, spans * row_blocks));
    out_.Line(fmt::format("if (row >= {}) return;", rows));
    const std::vector<std::string> batches = text_.OpenBatches("batch", input);
    out_.Line(fmt::format("float x[{}];", groups * 4));
    out_.Unroll();
    out_.Open(fmt::format("for (int group = 0; group < {}; ++group)", groups));
    out_.Line(fmt::format("const {} k = k0 + group * 128;", index));
    if (text_.InPacks(input, true)) {
      out_.Line("float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);");
      out_.Line(fmt::format("if (k < {}) four = *reinterpret_cast<const float4*>({});", k,
                            text_.AddressOf(input, batches, "row", "k")));
      for (int i = 0; i < 4; ++i)
        out_.Line(fmt::format("x[group * 4 + {}] = four.{};", i, std::string_view("xyzw").substr(std::size_t(i), 1)));
    } else {
      out_.Unroll();
      out_.Open("for (int i = 0; i < 4; ++i)");
      out_.Line(fmt::format("const {} at_k = k + i;", index));
      ReadElement(input, batches, "x[group * 4 + i]", "row", "at_k", fmt::format("at_k < {}", k));
      out_.Close();
    }
    out_.Close();
    if (packing_.chunk > 0) {
      const std::int64_t lanes = std::min<std::int64_t>(depth / 4, 32);  // that share a chunk
      out_.Line("float largest = 0.0f;");
      out_.Unroll();
      out_.Line(fmt::format("for (int i = 0; i < {}; ++i) largest = fmaxf(largest, fabsf(x[i]));", groups * 4));
      out_.Unroll();
      out_.Line(fmt::format(
          "for (int step = {}; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));",
          lanes / 2));
      out_.Line("float inverse;");
      out_.Line("const float scale = ScaleFor(largest, inverse);");
      out_.Line(fmt::format("if (lane % {} == 0 && k0 < {}) {}[(batch * {} + k0 / {}) * {} + row] = inverse;", lanes, k,
                            made.scales, Chunks(), depth, ScaleRows(rows)));
      out_.Unroll();
      out_.Line(fmt::format("for (int i = 0; i < {}; ++i) x[i] *= scale;", groups * 4));
    }
    out_.Line(
        fmt::format("auto* const to = {} + (static_cast<long>(batch) * {} + row) * {};", made.buffer, rows, width));
    out_.Unroll();
    out_.Open(fmt::format("for (int group = 0; group < {}; ++group)", groups));
    out_.Line(fmt::format("const {} k = k0 + group * 128;", index));
    if (width % span != 0) out_.Line(fmt::format("if (k >= {}) continue;", width));
    const bool two = packing_.parts == 2;
    out_.Line(fmt::format("unsigned high[2]{};", two ? ", low[2]" : ""));
    for (int i = 0; i < 2; ++i) {
      const std::string pair = fmt::format("x[group * 4 + {}], x[group * 4 + {}]", 2 * i, 2 * i + 1);
      out_.Line(two ? fmt::format("high[{0}] = SplitPair({1}, low[{0}]);", i, pair)
                    : fmt::format("high[{0}] = {2}({1});", i, pair, PairText()));
    }
    out_.Line("*reinterpret_cast<uint2*>(to + k) = make_uint2(high[0], high[1]);");
    if (two) out_.Line(fmt::format("*reinterpret_cast<uint2*>(to + k + {}l) = make_uint2(low[0], low[1]);", part));
    out_.Close();
    PackedLaunch(input, made, spans * row_blocks * made.shape[1]);
  }

  // A thread takes 4 rows x 8 of K; four neighbours 16 rows, so that reads are of 64 bytes, eight times that 64 of K,
  // so that writes are of 128.
  void PackAcross(int input, const PackedOperand& made) {
    const std::int64_t rows = made.shape[2], width = made.shape[3], k = text_.shape.k.extent;
    const std::int64_t depth = PackDepth(), deep = depth / 64;
    const std::int64_t chunks = (k + depth - 1) / depth, row_blocks = (rows + 63) / 64;
    const std::int64_t part = made.strides[0];
    const std::string& index = text_.index;
    out_.BeginKernel(input == 0 ? "pack_a" : "pack_b", 128 * deep);
    out_.Line("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
    out_.Line(fmt::format("const int group = warp / {} * 16 + lane % 4 * 4;", deep));
    out_.Line(fmt::format("const {} row0 = blockIdx.x % {} * 64 + group;", index, row_blocks));
    out_.Line(fmt::format("const int chunk = blockIdx.x / {} % {};", row_blocks, chunks));
    out_.Line(fmt::format("const {} batch = blockIdx.x / {};", index, row_blocks * chunks));
    out_.Line(fmt::format("const {} k0 = chunk * {} + warp % {} * 64 + lane / 4 * 8;", index, depth, deep));
    const std::vector<std::string> batches = text_.OpenBatches("batch", input);
    out_.Line("float x[8][4];");
    out_.Unroll();
    out_.Open("for (int i = 0; i < 8; ++i)");
    out_.Line(fmt::format("const {} k = k0 + i;", index));
    if (text_.InPacks(input, false)) {
      out_.Line("float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);");
      out_.Line(fmt::format("if (row0 < {} && k < {}) four = *reinterpret_cast<const float4*>({});", rows, k,
                            text_.AddressOf(input, batches, "row0", "k")));
      for (int i = 0; i < 4; ++i)
        out_.Line(fmt::format("x[i][{}] = four.{};", i, std::string_view("xyzw").substr(std::size_t(i), 1)));
    } else {
      out_.Unroll();
      out_.Open("for (int j = 0; j < 4; ++j)");
      out_.Line(fmt::format("const {} row = row0 + j;", index));
      ReadElement(input, batches, "x[i][j]", "row", "k", fmt::format("row < {} && k < {}", rows, k));
      out_.Close();
    }
    out_.Close();
    if (packing_.chunk > 0) {
      if (deep > 1) out_.Line(fmt::format("__shared__ float most[{}][64];", deep));
      out_.Line("float largest[4];");
      out_.Unroll();
      out_.Open("for (int j = 0; j < 4; ++j)");
      out_.Line("largest[j] = 0.0f;");
      out_.Unroll();
      out_.Line("for (int i = 0; i < 8; ++i) largest[j] = fmaxf(largest[j], fabsf(x[i][j]));");
      out_.Unroll();
      out_.Line(
          "for (int step = 4; step < 32; step *= 2) largest[j] = fmaxf(largest[j], __shfl_xor_sync(~0u, largest[j], "
          "step));");
      if (deep > 1) out_.Line(fmt::format("if (lane < 4) most[warp % {}][group + j] = largest[j];", deep));
      out_.Close();
      if (deep > 1) out_.Line("__syncthreads();");
      out_.Unroll();
      out_.Open("for (int j = 0; j < 4; ++j)");
      if (deep > 1) {
        out_.Unroll();
        out_.Line(
            fmt::format("for (int i = 0; i < {}; ++i) largest[j] = fmaxf(largest[j], most[i][group + j]);", deep));
      }
      out_.Line("float inverse;");
      out_.Line("const float scale = ScaleFor(largest[j], inverse);");
      out_.Line(fmt::format("if (lane < 4 && warp % {} == 0) {}[(batch * {} + chunk) * {} + row0 + j] = inverse;", deep,
                            made.scales, Chunks(), ScaleRows(rows)));
      out_.Unroll();
      out_.Line("for (int i = 0; i < 8; ++i) x[i][j] *= scale;");
      out_.Close();
    }
    out_.Unroll();
    out_.Open("for (int j = 0; j < 4; ++j)");
    out_.Line(fmt::format("if (row0 + j >= {} || k0 >= {}) continue;", rows, width));
    const bool two = packing_.parts == 2;
    out_.Line(fmt::format("unsigned high[4]{};", two ? ", low[4]" : ""));
    out_.Unroll();
    out_.Line(two ? "for (int i = 0; i < 4; ++i) high[i] = SplitPair(x[2 * i][j], x[2 * i + 1][j], low[i]);"
                  : fmt::format("for (int i = 0; i < 4; ++i) high[i] = {}(x[2 * i][j], x[2 * i + 1][j]);", PairText()));
    out_.Line(fmt::format("auto* const to = {} + (static_cast<long>(batch) * {} + row0 + j) * {} + k0;", made.buffer,
                          rows, width));
    for (int p = 0; p < (two ? 2 : 1); ++p) {
      out_.Line(fmt::format("*reinterpret_cast<uint4*>(to + {0}l) = make_uint4({1}[0], {1}[1], {1}[2], {1}[3]);",
                            p * part, p == 0 ? "high" : "low"));
    }
    out_.Close();
    PackedLaunch(input, made, chunks * row_blocks * made.shape[1]);
  }

  const Kernel& kernel_;
  const MatmulText& text_;
  DeviceWriter& out_;
  const Packing packing_;
};

}  // namespace

std::int64_t ScaleRows(std::int64_t rows) { return RoundUp(rows, 256); }

PackedOperand PackOperand(const Kernel& kernel, const MatmulText& text, DeviceWriter& out, int input,
                          const Packing& packing) {
  return Packer(kernel, text, out, packing).Pack(input);
}

}  // namespace hone::dsl
