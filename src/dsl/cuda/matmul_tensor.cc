#include "dsl/cuda/matmul_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace hone {
extern const std::string_view kTensorCoreText;  // dsl/cuda/tensor_core.cuh
}

namespace hone::dsl {
namespace {

constexpr std::int64_t kProcessors = 132;               // multiprocessors of an H100 or H200 SXM
constexpr std::int64_t kSharedOfBlock = 227 << 10;      // bytes, with what is static
constexpr std::int64_t kSharedOfProcessor = 227 << 10;  // likewise
// Tiles of rows that blocks go through together, so that what they read of B stays in L2. Where both operands are so
// small that they stay there anyway, what is written counts: then blocks go along the rows of the result.
constexpr std::int64_t kRowGroup = 8;
constexpr std::int64_t kSmallOperands = 24 << 20;  // bytes of both
// A warp's sums on their way out: 16 rows of so many columns, padded so that pairs of eight rows lie in different
// banks.
constexpr std::int64_t kEndColumns = 32, kEndStride = 40;
// A result of so many bytes would only drive the operands out of L2. Measured on an H200: 32768 x 64 x 32768 takes 1.27
// ms then, not 1.50 (docs/measured/cuda_matmul.md).
constexpr std::int64_t kStreamed = 128 << 20;
constexpr std::int64_t kLine = 64;        // halves of a cache line
constexpr std::int64_t kScaleRows = 256;  // scales are padded to a multiple of every tile

std::int64_t RoundUp(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }
std::int64_t Parts(const TensorSettings& settings) { return settings.precision == TensorPrecision::kF32x3 ? 2 : 1; }
std::int64_t Consumers(const TensorSettings& settings) { return settings.tile_m / 64; }
DType ElementType(TensorPrecision precision) {
  return precision == TensorPrecision::kBF16 ? DType::kBF16 : DType::kF16;
}
std::int64_t StageBytes(const TensorSettings& settings) {
  return (settings.tile_m + settings.tile_n) * kTensorDepth * 2 * Parts(settings);
}
// Two blocks share a multiprocessor where they have one consumer each and fit.
std::int64_t BlocksAProcessor(const TensorSettings& settings) {
  return Consumers(settings) == 1 && 2 * (TensorSharedBytes(settings) + 2048) <= kSharedOfProcessor ? 2 : 1;
}

// wgmma for tiles of 64 x n x 16: its operands are named one by one.
std::string ProductText(std::int64_t n, TensorPrecision precision) {
  const std::string_view type = precision == TensorPrecision::kBF16 ? "bf16" : "f16";
  const std::int64_t registers = n / 2;
  std::string names, values;
  for (std::int64_t i = 0; i < registers; ++i) {
    names += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    values += fmt::format("{}\"+f\"(d[{}])", i == 0 ? "" : ", ", i);
  }
  return fmt::format(
      R"(// d = a * b, and what d was where `add` is not 0: a of 64 x 16, b of {0} x 16, both by their descriptors.
__forceinline__ void Multiply(float (&d)[{1}], unsigned long a, unsigned long b, int add) {{
  asm volatile(
      "{{\n.reg .pred add;\nsetp.ne.b32 add, %{2}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{3}.{3} {{{4}}}, %{5}, %{6}, add, 1, 1, 0, 0;\n}}"
      : {7}
      : "l"(a), "l"(b), "r"(add));
}}
)",
      n, registers, registers + 2, type, names, registers, registers + 1, values);
}

class TensorEmitter {
 public:
  TensorEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, const TensorSettings& settings)
      : program_(program), kernel_(kernel), out_(out), settings_(settings), text_(program, kernel, out) {}

  void Emit() {
    out_.Define(std::string(kTensorCoreText));
    out_.Define(ProductText(settings_.tile_n, settings_.precision));
    const bool direct = Direct(0) && Direct(1);
    scaled_ =
        settings_.precision == TensorPrecision::kF32x3 || (settings_.precision == TensorPrecision::kF16 && !direct);
    chunk_ = scaled_ ? settings_.promote : 0;
    const std::int64_t k = text_.shape.k.extent;
    const std::int64_t step = scaled_ ? chunk_ : kTensorDepth;
    steps_ = (k + step - 1) / step;
    const std::int64_t split = std::clamp<std::int64_t>(settings_.split, 1, steps_);
    steps_of_split_ = (steps_ + split - 1) / split;
    splits_ = (steps_ + steps_of_split_ - 1) / steps_of_split_;
    for (const int input : {0, 1}) operands_[input] = Direct(input) && !scaled_ ? InPlace(input) : Packed(input);
    Products();
    if (splits_ > 1) text_.EmitSums(partial_, splits_);
  }

 private:
  // An operand as the copy engine reads it: [part, batch, row, k].
  struct Operand {
    std::string buffer;  // a plan's or a tensor's name
    std::int64_t offset = 0;
    std::vector<std::int64_t> shape, strides;
    std::string scales;  // of [batch, chunk, row]: what to multiply with to undo the scaling
  };

  // Whether the operand can be read where it lies.
  bool Direct(int input) const {
    const KernelOperand* operand = text_.Plain(input);
    if (!operand) return false;
    const KernelBuffer& buffer = program_.buffers[static_cast<std::size_t>(operand->buffer)];
    if (buffer.dtype != ElementType(settings_.precision) || settings_.precision == TensorPrecision::kF32x3)
      return false;
    const auto o = static_cast<std::size_t>(kernel_.inputs[static_cast<std::size_t>(input)]->buffer);
    const LoopDim& rows = input == 0 ? text_.shape.m : text_.shape.n;
    if (text_.shape.k.strides[o] != 1 || rows.strides[o] % 8 != 0 || rows.strides[o] == 0 || operand->offset % 8 != 0)
      return false;
    std::size_t varying = 0;
    for (std::size_t d = 0; d < text_.shape.batch.size(); ++d) {
      if (!text_.Varies(input, d)) continue;
      if (++varying > 1 || text_.shape.batch[d].strides[o] % 8 != 0) return false;
    }
    return true;
  }
  Operand InPlace(int input) const {
    const KernelOperand* operand = text_.Plain(input);
    const auto o = static_cast<std::size_t>(kernel_.inputs[static_cast<std::size_t>(input)]->buffer);
    const LoopDim& rows = input == 0 ? text_.shape.m : text_.shape.n;
    std::int64_t batch_stride = rows.strides[o];  // of an extent of 1: any that is a multiple of 16 bytes
    for (std::size_t d = 0; d < text_.shape.batch.size(); ++d) {
      if (text_.Varies(input, d)) batch_stride = text_.shape.batch[d].strides[o];
    }
    return {.buffer = program_.buffers[static_cast<std::size_t>(operand->buffer)].name,
            .offset = operand->offset,
            .shape = {1, text_.BatchesOf(input), rows.extent, text_.shape.k.extent},
            .strides = {batch_stride, batch_stride, rows.strides[o], 1},
            .scales = ""};
  }

  // --- Packing.

  Operand Packed(int input) {
    const std::int64_t parts = Parts(settings_), batches = text_.BatchesOf(input), rows = text_.RowsOf(input);
    // Rows begin where cache lines do: a box row of 128 bytes is one line then.
    const std::int64_t width = RoundUp(text_.shape.k.extent, kLine);
    const std::string_view name = input == 0 ? "a" : "b";
    Operand made;
    made.buffer =
        out_.Scratch(fmt::format("{}_packed", name), ElementType(settings_.precision), parts * batches * rows * width);
    made.shape = {parts, batches, rows, width};
    made.strides = {batches * rows * width, rows * width, width, 1};
    if (scaled_)
      made.scales =
          out_.Scratch(fmt::format("{}_scales", name), DType::kF32, batches * steps_ * RoundUp(rows, kScaleRows));
    // Neighbouring threads go along K where that is how the operand lies, else along its rows.
    const std::int64_t along_k = text_.Stride(input, true), along_rows = text_.Stride(input, false);
    const bool by_rows = along_rows == 1 || (along_k != 1 && along_rows > 0 && along_k > along_rows);
    if (by_rows) {
      PackAcross(input, made);
    } else {
      PackAlong(input, made);
    }
    return made;
  }

  // The element, 0 beyond K.
  void ReadElement(int input, const std::vector<std::string>& batches, const std::string& to, const std::string& row,
                   const std::string& k, const std::string& condition) {
    out_.Line(fmt::format("{} = 0.0f;", to));
    out_.Open(fmt::format("if ({})", condition));
    out_.Line(fmt::format("{} = {};", to, text_.Element(input, batches, row, k)));
    out_.Close();
  }
  std::string PairText() const { return settings_.precision == TensorPrecision::kBF16 ? "BrainPair" : "HalfPair"; }
  void PackedLaunch(int input, const Operand& made, std::int64_t grid) {
    DeviceWriter::LaunchShape launch = text_.Reading(kernel_.inputs[static_cast<std::size_t>(input)]);
    launch.grid_x = grid;
    launch.scratch_writes = {made.buffer};
    if (scaled_) launch.scratch_writes.push_back(made.scales);
    launch.prepare = text_.Constant(input);
    out_.Launch(launch);
  }
  std::int64_t PackDepth() const { return scaled_ ? chunk_ : 128; }

  // A warp takes 128 of K of a row, or a chunk where that is more.
  void PackAlong(int input, const Operand& made) {
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
    if (scaled_) {
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
                            made.scales, steps_, depth, RoundUp(rows, kScaleRows)));
      out_.Unroll();
      out_.Line(fmt::format("for (int i = 0; i < {}; ++i) x[i] *= scale;", groups * 4));
    }
    out_.Line(
        fmt::format("auto* const to = {} + (static_cast<long>(batch) * {} + row) * {};", made.buffer, rows, width));
    out_.Unroll();
    out_.Open(fmt::format("for (int group = 0; group < {}; ++group)", groups));
    out_.Line(fmt::format("const {} k = k0 + group * 128;", index));
    if (width % span != 0) out_.Line(fmt::format("if (k >= {}) continue;", width));
    const bool two = Parts(settings_) == 2;
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
  void PackAcross(int input, const Operand& made) {
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
    if (scaled_) {
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
                            made.scales, steps_, RoundUp(rows, kScaleRows)));
      out_.Unroll();
      out_.Line("for (int i = 0; i < 8; ++i) x[i][j] *= scale;");
      out_.Close();
    }
    out_.Unroll();
    out_.Open("for (int j = 0; j < 4; ++j)");
    out_.Line(fmt::format("if (row0 + j >= {} || k0 >= {}) continue;", rows, width));
    const bool two = Parts(settings_) == 2;
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

  // --- Products.

  TensorMapArgument Map(const Operand& operand, std::int64_t rows) const {
    return {.buffer = operand.buffer,
            .offset = operand.offset,
            .shape = operand.shape,
            .strides = operand.strides,
            .box = {1, 1, rows, kTensorDepth},
            .swizzle = 128};
  }

  void Products() {
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent, k = text_.shape.k.extent;
    const std::int64_t tile_m = settings_.tile_m, tile_n = settings_.tile_n, consumers = Consumers(settings_);
    const std::int64_t cluster = settings_.cluster, parts = Parts(settings_);
    const std::int64_t blocks_k = (k + kTensorDepth - 1) / kTensorDepth;
    const std::int64_t tiles_m = (m + tile_m * cluster - 1) / (tile_m * cluster), tiles_n = (n + tile_n - 1) / tile_n;
    const std::int64_t items = tiles_m * tiles_n * text_.Batches() * splits_;
    const std::int64_t a_bytes = tile_m * kTensorDepth * 2, b_bytes = tile_n * kTensorDepth * 2;
    const std::int64_t resident = BlocksAProcessor(settings_);
    const std::int64_t row_group = (m + n) * k * parts * 2 <= kSmallOperands ? 1 : kRowGroup;
    const std::string& index = text_.index;
    const std::int64_t blocks_a_step = scaled_ ? chunk_ / kTensorDepth : 1;

    if (splits_ > 1) partial_ = out_.Scratch("parts", DType::kF32, splits_ * text_.Batches() * m * n);
    out_.BeginKernel("products", 128 * (consumers + 1), static_cast<int>(resident));
    out_.Line(fmt::format("constexpr int kStages = {};", settings_.stages));
    out_.Line(fmt::format("constexpr unsigned kStageBytes = {};", StageBytes(settings_)));
    out_.Line("extern __shared__ unsigned char tiles[];");
    out_.Line("__shared__ __align__(8) unsigned long full[kStages], empty[kStages];");
    out_.Line("const unsigned stages = (SharedAddress(tiles) + 1023) & ~1023u;");
    out_.Line("const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;");
    if (cluster > 1) out_.Line("const unsigned member = BlockOfCluster();");
    out_.Open("if (threadIdx.x == 0)");
    out_.Open("for (int i = 0; i < kStages; ++i)");
    out_.Line("InitBarrier(SharedAddress(&full[i]), 1);");
    out_.Line(fmt::format("InitBarrier(SharedAddress(&empty[i]), {});", consumers * cluster));
    out_.Close();
    out_.Line("PublishBarriers();");
    out_.Close();
    out_.Line(cluster > 1 ? "SyncCluster();" : "__syncthreads();");
    out_.Line("int stage = 0;");
    out_.Line(fmt::format("unsigned phase = warpgroup == {} ? 1 : 0;", consumers));
    const std::string first = cluster > 1 ? fmt::format("blockIdx.x / {}", cluster) : std::string("blockIdx.x");
    const std::string stride = cluster > 1 ? fmt::format("gridDim.x / {}", cluster) : std::string("gridDim.x");

    // Which tile of which batch and part of K: rows go in groups, so that what runs at a time shares operands.
    const std::int64_t per_split = tiles_m * tiles_n * text_.Batches(), per_batch = tiles_m * tiles_n;
    const auto place = [&] {
      out_.Open(fmt::format("for (int item = {}; item < {}; item += {})", first, items, stride));
      if (splits_ > 1) out_.Line(fmt::format("const int part = item / {};", per_split));
      const std::string batch =
          splits_ > 1 ? fmt::format("item % {} / {}", per_split, per_batch) : fmt::format("item / {}", per_batch);
      out_.Line(fmt::format("const int batch = {};", text_.Batches() > 1 ? batch : "0"));
      out_.Line(fmt::format("const int tile = item % {};", per_batch));
      out_.Line(fmt::format("const int group = tile / {0}, in_group = tile % {0};", row_group * tiles_n));
      out_.Line(fmt::format("const int height = min({0}, {1} - group * {0});", row_group, tiles_m));
      out_.Line(fmt::format("const {} m0 = ((group * {} + in_group % height) * {}{}) * {};", index, row_group, cluster,
                            cluster > 1 ? " + member" : "", tile_m));
      out_.Line(fmt::format("const {} n0 = in_group / height * {};", index, tile_n));
      out_.Line(fmt::format(
          "const int first_step = {}, last_step = {};", splits_ > 1 ? fmt::format("part * {}", steps_of_split_) : "0",
          splits_ > 1 ? fmt::format("min(first_step + {}, {})", steps_of_split_, steps_) : fmt::format("{}", steps_)));
    };
    const auto advance = [&] {
      out_.Open("if (++stage == kStages)");
      out_.Line("stage = 0;");
      out_.Line("phase ^= 1;");
      out_.Close();
    };

    // The producer: one thread.
    out_.Open(fmt::format("if (warpgroup == {})", consumers));
    out_.Line("GiveRegisters<56>();");
    out_.Open("if (thread == 0)");
    out_.Line("FetchMap(&a_map);");
    out_.Line("FetchMap(&b_map);");
    place();
    const std::vector<std::string> batches = text_.OpenBatches("batch", -1);
    out_.Line(
        fmt::format("const int a_batch = {}, b_batch = {};", text_.BatchOf(0, batches), text_.BatchOf(1, batches)));
    const std::string last_block =
        blocks_a_step > 1 ? fmt::format("min(last_step * {}, {})", blocks_a_step, blocks_k) : std::string("last_step");
    const std::string first_block =
        blocks_a_step > 1 ? fmt::format("first_step * {}", blocks_a_step) : std::string("first_step");
    out_.Line(fmt::format("const int end = {};", last_block));
    out_.Open(fmt::format("for (int block = {}; block < end; ++block)", first_block));
    out_.Line("const unsigned barrier = SharedAddress(&full[stage]), to = stages + stage * kStageBytes;");
    out_.Line("WaitFor(SharedAddress(&empty[stage]), phase);");
    out_.Line("ExpectBytes(barrier, kStageBytes);");
    for (std::int64_t p = 0; p < parts; ++p)
      out_.Line(
          fmt::format("CopyBox(to + {}, &a_map, block * {}, m0, a_batch, {}, barrier);", p * a_bytes, kTensorDepth, p));
    for (std::int64_t p = 0; p < parts; ++p) {
      const std::int64_t at = parts * a_bytes + p * b_bytes;
      if (cluster > 1) {
        out_.Line(fmt::format(
            "CopyBoxToAll(to + {} + member * {}, &b_map, block * {}, n0 + member * {}, b_batch, {}, barrier, {});", at,
            b_bytes / cluster, kTensorDepth, tile_n / cluster, p, (1 << cluster) - 1));
      } else {
        out_.Line(fmt::format("CopyBox(to + {}, &b_map, block * {}, n0, b_batch, {}, barrier);", at, kTensorDepth, p));
      }
    }
    advance();
    out_.Close();
    out_.Close();
    out_.Close();
    out_.Close();

    // The consumers: 64 rows each.
    out_.Open("else");
    out_.Line(fmt::format("TakeRegisters<{}>();", consumers == 1 ? 200 : 224));
    out_.Line(
        fmt::format("float* const mine = reinterpret_cast<float*>(tiles + (stages - SharedAddress(tiles)) + {}) + "
                    "threadIdx.x / 32 * {};",
                    settings_.stages * StageBytes(settings_), 16 * kEndStride));
    // Where every stage is promoted, a consumer waits for its products each time.
    const bool each = scaled_ && blocks_a_step == 1, turns = each && consumers == 2 && parts == 2;
    if (turns) out_.Line("if (warpgroup == 1) GiveTurn(0);");
    place();
    const std::string sums = scaled_ ? "sum" : "d";
    out_.Line(fmt::format("float d[{}];", tile_n / 2));
    if (scaled_) {
      out_.Line(fmt::format("float sum[{}];", tile_n / 2));
      out_.Unroll();
      out_.Line(fmt::format("for (int i = 0; i < {}; ++i) sum[i] = 0.0f;", tile_n / 2));
    }
    const std::vector<std::string> at = text_.OpenBatches("batch", -1);
    out_.Line(
        fmt::format("const {} row0 = m0 + warpgroup * 64 + thread / 32 * 16, row = row0 + thread % 32 / 4;", index));
    out_.Line("const int column = thread % 4 * 2;");
    if (scaled_) {
      out_.Line(fmt::format("const float* a_scale = {} + (static_cast<long>({}) * {} + first_step) * {} + row;",
                            operands_[0].scales, text_.BatchOf(0, at), steps_, RoundUp(m, kScaleRows)));
      out_.Line(fmt::format("const float* b_scale = {} + (static_cast<long>({}) * {} + first_step) * {} + n0 + column;",
                            operands_[1].scales, text_.BatchOf(1, at), steps_, RoundUp(n, kScaleRows)));
      out_.Open("for (int step = first_step; step < last_step; ++step)");
      out_.Line(fmt::format("const int begin = step * {0}, end = min(begin + {0}, {1});", blocks_a_step, blocks_k));
    } else {
      out_.Line("const int begin = first_step, end = last_step;");
    }
    if (scaled_) {
      // Asked for early: they come while the products are made.
      out_.Line("const float upper = a_scale[0], lower = a_scale[8];");
      out_.Line(fmt::format("float2 across[{}];", tile_n / 8));
      out_.Unroll();
      out_.Line(fmt::format(
          "for (int i = 0; i < {}; ++i) across[i] = *reinterpret_cast<const float2*>(b_scale + i * 8);", tile_n / 8));
      out_.Line(fmt::format("a_scale += {};", RoundUp(m, kScaleRows)));
      out_.Line(fmt::format("b_scale += {};", RoundUp(n, kScaleRows)));
    }
    out_.Line("int before = 0;");
    out_.Open("for (int block = begin; block < end; ++block)");
    out_.Line("WaitFor(SharedAddress(&full[stage]), phase);");
    out_.Line(
        fmt::format("const unsigned a = stages + stage * kStageBytes + warpgroup * {}, b = stages + stage * "
                    "kStageBytes + {};",
                    64 * kTensorDepth * 2, parts * a_bytes));
    if (turns) out_.Line("TakeTurn(warpgroup);");
    out_.Line("BeginProducts();");
    const auto product = [&](std::int64_t a_part, std::int64_t b_part, const std::string& add) {
      out_.Line(fmt::format("Multiply(d, TileDescriptor(a + {} + i * 32), TileDescriptor(b + {} + i * 32), {});",
                            a_part * a_bytes, b_part * b_bytes, add));
    };
    const std::string add = "block > begin || i > 0";
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", kTensorDepth * 2 / 32));
    product(parts - 1, 0, add);
    if (parts == 2) {
      product(0, 1, "1");
      out_.Close();
      // The other consumer may begin when all but these are done: the tensor cores never wait, nor mix the two.
      if (turns) out_.Line("CommitProducts();");
      out_.Unroll();
      out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", kTensorDepth * 2 / 32));
      product(0, 0, "1");
    }
    out_.Close();
    out_.Line("CommitProducts();");
    if (turns || !each) out_.Line("WaitForProducts<1>();");
    if (turns) out_.Line("GiveTurn(1 - warpgroup);");
    const auto release = [&](const std::string& condition, const std::string& which) {
      if (cluster > 1) {
        out_.Line(
            fmt::format("if ({}thread < {}) ArriveAt(SharedAddress(&empty[{}]), thread);", condition, cluster, which));
      } else {
        out_.Line(fmt::format("if ({}thread == 0) Arrive(SharedAddress(&empty[{}]));", condition, which));
      }
    };
    if (!each) release("block > begin && ", "before");
    out_.Line("before = stage;");
    advance();
    out_.Close();
    out_.Line("WaitForProducts<0>();");
    release("", "before");
    if (scaled_) {
      out_.Unroll();
      out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", tile_n / 8));
      out_.Line("sum[i * 4] = fmaf(d[i * 4], upper * across[i].x, sum[i * 4]);");
      out_.Line("sum[i * 4 + 1] = fmaf(d[i * 4 + 1], upper * across[i].y, sum[i * 4 + 1]);");
      out_.Line("sum[i * 4 + 2] = fmaf(d[i * 4 + 2], lower * across[i].x, sum[i * 4 + 2]);");
      out_.Line("sum[i * 4 + 3] = fmaf(d[i * 4 + 3], lower * across[i].y, sum[i * 4 + 3]);");
      out_.Close();
      out_.Close();
    }
    End(sums, at);
    out_.Close();
    out_.Close();
    if (cluster > 1) out_.Line("SyncCluster();");

    DeviceWriter::LaunchShape launch;
    if (splits_ == 1) {
      launch = text_.Reading(kernel_.epilogue);
      launch.writes = {kernel_.target};
    } else {
      launch.scratch_writes = {partial_};
    }
    if (scaled_) launch.scratch_reads = {operands_[0].scales, operands_[1].scales};
    launch.maps = {{"a_map", Map(operands_[0], tile_m)}, {"b_map", Map(operands_[1], tile_n / cluster)}};
    launch.cluster_x = cluster;
    launch.grid_x = std::min(items, kProcessors * resident / cluster) * cluster;
    launch.shared_bytes = TensorSharedBytes(settings_);
    out_.Launch(launch);
  }

  // What is done with a thread's sums. As wgmma leaves them, a warp would write 32 bytes a row; they go through shared
  // memory, 16 rows x 32 columns of a warp at a time, so that it reads and writes whole lines.
  void End(const std::string& sums, const std::vector<std::string>& batches) {
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent;
    const std::string& index = text_.index;
    const DType target = program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype;
    const std::string type = splits_ > 1 ? "float" : DeviceType(target);
    const std::int64_t vector = n % 4 == 0 ? 4 : 1, rows = 4 * 4 / vector;
    const std::int64_t lanes = kEndColumns / vector, at_a_time = 32 / lanes;
    out_.Unroll();
    out_.Open(fmt::format("for (int part_n = 0; part_n < {}; ++part_n)", settings_.tile_n / kEndColumns));
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", kEndColumns / 8));
    for (const int half : {0, 1}) {
      out_.Line(
          fmt::format("*reinterpret_cast<float2*>(mine + (thread % 32 / 4 + {0}) * {1} + i * 8 + column) = "
                      "make_float2({2}[(part_n * {3} + i) * 4 + {4}], {2}[(part_n * {3} + i) * 4 + {5}]);",
                      half * 8, kEndStride, sums, kEndColumns / 8, half * 2, half * 2 + 1));
    }
    out_.Close();
    out_.Line("__syncwarp();");
    out_.Line(fmt::format("const {} n = n0 + part_n * {} + thread % {} * {};", index, kEndColumns, lanes, vector));
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", rows));
    out_.Line(fmt::format("const int below = i * {} + thread % 32 / {};", at_a_time, lanes));
    out_.Line(fmt::format("const {} m = row0 + below;", index));
    std::string guard;
    if (m % (settings_.tile_m * settings_.cluster) != 0) guard = fmt::format("m < {}", m);
    if (n % settings_.tile_n != 0) guard += fmt::format("{}n < {}", guard.empty() ? "" : " && ", n);
    out_.Open(guard.empty() ? "" : fmt::format("if ({})", guard));
    if (vector == 4) {
      out_.Line(
          fmt::format("const float4 four = *reinterpret_cast<const float4*>(mine + below * {} + thread % {} * 4);",
                      kEndStride, lanes));
      out_.Line("const float its[4] = {four.x, four.y, four.z, four.w};");
    } else {
      out_.Line(fmt::format("const float its[1] = {{mine[below * {} + thread % 32]}};", kEndStride));
    }
    out_.Line(fmt::format("{}<{}, {}> made;", out_.Helper("Pack"), type, vector));
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", vector));
    if (splits_ > 1) {
      out_.Line("made.at[e] = its[e];");
    } else {
      out_.Line(fmt::format("const {} at_n = n + e;", index));
      out_.Line("const float it = its[e];");
      out_.Line(fmt::format("made.at[e] = {};", text_.Result(batches, "m", "at_n", "it")));
    }
    out_.Close();
    const std::string to = splits_ > 1 ? fmt::format("{}[((static_cast<long>(part) * {} + batch) * {} + m) * {} + n]",
                                                     partial_, text_.Batches(), m, n)
                                       : text_.Target(batches, "m", "n");
    const std::int64_t bytes = text_.Batches() * m * n * static_cast<std::int64_t>(Bytes(target));
    if (type == "float" && vector == 4 && bytes >= kStreamed) {
      out_.Line(fmt::format("__stcs(reinterpret_cast<float4*>(&{}), *reinterpret_cast<float4*>(&made));", to));
    } else {
      out_.Line(fmt::format("*reinterpret_cast<Pack<{}, {}>*>(&{}) = made;", type, vector, to));
    }
    out_.Close();
    out_.Close();
    out_.Line("__syncwarp();");
    out_.Close();
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  const TensorSettings settings_;
  MatmulText text_;
  bool scaled_ = false;
  std::int64_t chunk_ = 0;                                    // of K between two promotions, 0 = never
  std::int64_t steps_ = 1, steps_of_split_ = 1, splits_ = 1;  // a step is a chunk, or a stage where nothing is promoted
  Operand operands_[2];
  std::string partial_;
};

}  // namespace

std::int64_t TensorSharedBytes(const TensorSettings& settings) {
  // Where the first stage begins is rounded up; behind the stages are the consumers' sums on their way out.
  return settings.stages * StageBytes(settings) + 1024 + settings.tile_m * kEndStride * 4;
}

std::optional<std::string> CheckTensor(const TensorSettings& settings) {
  if (settings.stages < 2) return "a ring has 2 stages at least";
  const bool promoted = settings.precision != TensorPrecision::kBF16;
  if (promoted && settings.tile_n > 128)
    return fmt::format("tiles of {} columns leave no registers for promoted sums; try 128x128", settings.tile_n);
  constexpr std::int64_t kStatic = 256;
  if (TensorSharedBytes(settings) + kStatic > kSharedOfBlock) {
    return fmt::format("{} stages of {} bytes are more than a block's {} bytes of shared memory; try {}",
                       settings.stages, StageBytes(settings), kSharedOfBlock,
                       (kSharedOfBlock - kStatic - 1024 - settings.tile_m * kEndStride * 4) / StageBytes(settings));
  }
  return std::nullopt;
}

void EmitMatmulTensor(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out,
                      const TensorSettings& settings) {
  TensorEmitter(program, kernel, out, settings).Emit();
}

}  // namespace hone::dsl
