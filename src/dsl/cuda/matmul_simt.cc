#include "dsl/cuda/matmul_simt.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::dsl {
namespace {

constexpr std::int64_t kThreads = 256;
// Products that are summed before they join a total: rounding errors then grow with the number of such sums, and a sum
// of FP32 is as accurate as a good one of the host. A multiple of a tile's depth.
constexpr std::int64_t kSumDepth = 128;

// Parts of K, each a multiple of `step` long: how many there are and how long.
struct Cut {
  std::int64_t parts = 1, length = 1;
};
Cut CutOf(std::int64_t k, std::int64_t parts, std::int64_t step) {
  const std::int64_t steps = std::max<std::int64_t>((k + step - 1) / step, 1);
  const std::int64_t each =
      (steps + std::clamp<std::int64_t>(parts, 1, steps) - 1) / std::clamp<std::int64_t>(parts, 1, steps);
  return {.parts = (steps + each - 1) / each, .length = each * step};
}

class SimtEmitter {
 public:
  SimtEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel), out_(out), text_(program, kernel, out), real_(out.Type(ScalarType::kReal)) {}

  void Tiles(std::int64_t tile, std::int64_t split) {
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent, k = text_.shape.k.extent;
    const std::int64_t micro = tile / 16, depth = 16;
    const std::int64_t vector = std::min<std::int64_t>(micro, 4), loads = tile * depth / kThreads;
    const std::int64_t tiles_m = (m + tile - 1) / tile, tiles_n = (n + tile - 1) / tile, batches = text_.Batches();
    const Cut cut = CutOf(k, split, depth);
    if (cut.parts > 1) BeginParts(cut.parts);

    const std::string& index = text_.index;
    out_.BeginKernel("tiles", kThreads);
    out_.Line("const int thread = threadIdx.x;");
    out_.Line(fmt::format("__shared__ __align__(16) {} a_tile[2][{}][{}], b_tile[2][{}][{}];", real_, depth, tile + 4,
                          depth, tile + 4));
    out_.Line(fmt::format("const {} n0 = blockIdx.x % {} * {};", index, tiles_n, tile));
    out_.Line(fmt::format("const {} m0 = blockIdx.x / {} % {} * {};", index, tiles_n, tiles_m, tile));
    OpenWork(tiles_m * tiles_n, cut, k);
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
    Finish(cut.parts, at, "total[i][j]");
    out_.Close();
    out_.Close();
    Launch(tiles_m * tiles_n * batches * cut.parts, cut.parts);
  }

  void Dots(std::int64_t rows, std::int64_t columns, std::int64_t split) {
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent, k = text_.shape.k.extent;
    const std::int64_t blocks_m = (m + rows - 1) / rows, blocks_n = (n + columns - 1) / columns;
    const bool packs[2] = {text_.InPacks(0, true) && !out_.wide(), text_.InPacks(1, true) && !out_.wide()};
    const std::int64_t vector = packs[0] || packs[1] ? 4 : 1, stride = kThreads * vector;
    const Cut cut = CutOf(k, split, stride);
    if (cut.parts > 1) BeginParts(cut.parts);

    const std::string& index = text_.index;
    out_.BeginKernel("dots", kThreads);
    out_.Line("const int thread = threadIdx.x;");
    out_.Line(fmt::format("__shared__ {} sums[{}][{}];", real_, kThreads / 32, rows * columns));
    out_.Line(fmt::format("const {} n0 = blockIdx.x % {} * {};", index, blocks_n, columns));
    out_.Line(fmt::format("const {} m0 = blockIdx.x / {} % {} * {};", index, blocks_n, blocks_m, rows));
    OpenWork(blocks_m * blocks_n, cut, k);
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
    Finish(cut.parts, at, "total");
    Launch(blocks_m * blocks_n * text_.Batches() * cut.parts, cut.parts);
  }

 private:
  void BeginParts(std::int64_t parts) {
    partial_ = out_.Scratch("parts", out_.wide() ? DType::kF64 : DType::kF32,
                            parts * text_.Batches() * text_.shape.m.extent * text_.shape.n.extent);
  }
  // Lines that say which batch and part of K the block is for.
  void OpenWork(std::int64_t blocks, const Cut& cut, std::int64_t k) {
    const std::string& index = text_.index;
    const std::int64_t batches = text_.Batches();
    out_.Line(fmt::format("const {} batch = {};", index,
                          batches == 1     ? "0"
                          : cut.parts == 1 ? fmt::format("blockIdx.x / {}", blocks)
                                           : fmt::format("blockIdx.x / {} % {}", blocks, batches)));
    if (cut.parts > 1) {
      out_.Line(fmt::format("const {} part = blockIdx.x / {};", index, blocks * batches));
      out_.Line(fmt::format("const {0} begin = part * {1}, end = min(begin + {1}, static_cast<{0}>({2}));", index,
                            cut.length, k));
    } else {
      out_.Line(fmt::format("const {} begin = 0, end = {};", index, k));
    }
  }
  void Finish(std::int64_t parts, const std::vector<std::string>& batches, const std::string& sum) {
    if (parts > 1) {
      out_.Line(fmt::format("{}[((static_cast<long>(part) * {} + batch) * {} + m) * {} + n] = {};", partial_,
                            text_.Batches(), text_.shape.m.extent, text_.shape.n.extent, sum));
    } else {
      out_.Line(fmt::format("const {} it = {};", real_, sum));
      out_.Line(fmt::format("{} = {};", text_.Target(batches, "m", "n"), text_.Result(batches, "m", "n", {"it"})));
    }
  }
  void Launch(std::int64_t grid, std::int64_t parts) {
    DeviceWriter::LaunchShape launch;
    for (const Expr* expr : {&kernel_.inputs[0], &kernel_.inputs[1], &kernel_.epilogue}) {
      if (parts > 1 && expr == &kernel_.epilogue) continue;
      for (const int buffer : BuffersOf(kernel_, *expr)) {
        if (std::find(launch.reads.begin(), launch.reads.end(), buffer) == launch.reads.end())
          launch.reads.push_back(buffer);
      }
    }
    if (parts > 1) {
      launch.scratch_writes = {partial_};
    } else {
      launch.writes = {kernel_.target};
    }
    launch.grid_x = grid;
    out_.Launch(launch);
    if (parts > 1) text_.EmitSums(partial_, parts);
  }

  const Kernel& kernel_;
  DeviceWriter& out_;
  MatmulText text_;
  std::string real_, partial_;
};

}  // namespace

void EmitMatmulSimt(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, std::int64_t tile,
                    std::int64_t split) {
  SimtEmitter(program, kernel, out).Tiles(tile, split);
}

void EmitMatmulDot(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, std::int64_t rows,
                   std::int64_t columns, std::int64_t split) {
  SimtEmitter(program, kernel, out).Dots(rows, columns, split);
}

}  // namespace hone::dsl
