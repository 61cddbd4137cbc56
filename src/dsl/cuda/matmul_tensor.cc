#include "dsl/cuda/matmul_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "dsl/cuda/matmul_pack.h"
#include "dsl/knobs.h"

namespace hone {
extern const std::string_view kTensorCoreText;  // dsl/cuda/tensor_core.cuh
}

namespace hone::dsl {
namespace {

// Registers of a thread, which warpgroups hand to one another: 504 for three, 256 for two of which two blocks fit.
constexpr int kProducerRegisters = 56, kConsumerRegisters = 224, kOneConsumerRegisters = 200;
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

std::int64_t Parts(const TensorSettings& settings) { return settings.precision == TensorPrecision::kF32x3 ? 2 : 1; }
std::int64_t Consumers(const TensorSettings& settings) { return settings.tile_m / 64; }
DType ElementType(TensorPrecision precision) {
  return precision == TensorPrecision::kBF16 ? DType::kBF16 : DType::kF16;
}
// Of a chunk's scales, of the rows of A and of B that are in a tile; there is room for them also where there are none.
std::int64_t ScaleBytes(const TensorSettings& settings) { return (settings.tile_m + settings.tile_n) * 4; }
std::int64_t StageBytes(const TensorSettings& settings) {
  return (settings.tile_m + settings.tile_n) * kTensorDepth * 2 * Parts(settings);
}
// Of what multiplies: a program may do so in both types, with tiles of the same size.
std::string_view Suffix(TensorPrecision precision) { return precision == TensorPrecision::kBF16 ? "Brains" : "Halves"; }

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
__device__ __forceinline__ void Multiply{8}(float (&d)[{1}], unsigned long a, unsigned long b, int add) {{
  asm volatile(
      "{{\n.reg .pred add;\nsetp.ne.b32 add, %{2}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{3}.{3} {{{4}}}, %{5}, %{6}, add, 1, 1, 0, 0;\n}}"
      : {7}
      : "l"(a), "l"(b), "r"(add));
}}
)",
      n, registers, registers + 2, type, names, registers, registers + 1, values, Suffix(precision));
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
    const Packing packing{.parts = Parts(settings_), .element = ElementType(settings_.precision), .chunk = chunk_};
    for (const int input : {0, 1}) {
      operands_[input] = Direct(input) && !scaled_ ? InPlace(input) : PackOperand(kernel_, text_, out_, input, packing);
    }
    Products();
    if (splits_ > 1) text_.EmitSums(partial_, splits_);
  }

 private:
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
  PackedOperand InPlace(int input) const {
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

  // --- Products.

  TensorMapArgument Map(const PackedOperand& operand, std::int64_t rows) const {
    return {.buffer = operand.buffer,
            .offset = operand.offset,
            .shape = operand.shape,
            .strides = operand.strides,
            .box = {1, 1, rows, kTensorDepth},
            .swizzle = 128};
  }

  void Products() {
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent, k = text_.shape.k.extent;
    const std::int64_t cluster = settings_.cluster,
                       resident = TensorBlocksAProcessor(kernel_.device->limits, settings_);
    blocks_k_ = (k + kTensorDepth - 1) / kTensorDepth;
    blocks_a_step_ = scaled_ ? chunk_ / kTensorDepth : 1;
    tiles_m_ = (m + settings_.tile_m * cluster - 1) / (settings_.tile_m * cluster);
    tiles_n_ = (n + settings_.tile_n - 1) / settings_.tile_n;
    items_ = tiles_m_ * tiles_n_ * text_.Batches() * splits_;
    if (splits_ > 1) partial_ = out_.Scratch("parts", DType::kF32, splits_ * text_.Batches() * m * n);

    out_.BeginKernel("products", 128 * (Consumers(settings_) + 1), static_cast<int>(resident));
    OpenRing();
    out_.Open(fmt::format("if (warpgroup == {})", Consumers(settings_)));
    Produce();
    out_.Close();
    out_.Open("else");
    Consume();
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
    launch.maps = {{"a_map", Map(operands_[0], settings_.tile_m)},
                   {"b_map", Map(operands_[1], settings_.tile_n / cluster)}};
    launch.cluster_x = cluster;
    launch.grid_x = std::min(items_, kernel_.device->multiprocessors * resident / cluster) * cluster;
    launch.shared_bytes = TensorSharedBytes(settings_);
    out_.Launch(launch);
  }

  std::int64_t PartBytes(int input) const {
    return (input == 0 ? settings_.tile_m : settings_.tile_n) * kTensorDepth * 2;
  }

  // The stages with their barriers, and which warpgroup the thread is of.
  void OpenRing() {
    const std::int64_t cluster = settings_.cluster, consumers = Consumers(settings_);
    out_.Line(fmt::format("constexpr int kStages = {};", settings_.stages));
    out_.Line(fmt::format("constexpr unsigned kStageBytes = {};", StageBytes(settings_)));
    if (scaled_) {
      // Scales of a chunk, in a ring of their own: as many chunks as stages may be ahead of one whose sums are made.
      out_.Line("constexpr int kScales = kStages + 1;");
      out_.Line(fmt::format("constexpr unsigned kScaleBytes = {};", ScaleBytes(settings_)));
    }
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
    out_.Line(scaled_ ? "int stage = 0, scales = 0;" : "int stage = 0;");
    out_.Line(fmt::format("unsigned phase = warpgroup == {} ? 1 : 0;", consumers));
  }
  void Advance() {
    out_.Open("if (++stage == kStages)");
    out_.Line("stage = 0;");
    out_.Line("phase ^= 1;");
    out_.Close();
  }

  // A loop over what the block makes: tiles of batches and parts of K. Rows go in groups, so that what runs at a time
  // shares operands.
  void OpenItems() {
    const std::int64_t cluster = settings_.cluster, per_batch = tiles_m_ * tiles_n_,
                       per_split = per_batch * text_.Batches();
    const std::int64_t operand_bytes =
        (text_.shape.m.extent + text_.shape.n.extent) * text_.shape.k.extent * Parts(settings_) * 2;
    const std::int64_t row_group = operand_bytes <= kSmallOperands ? 1 : kRowGroup;
    const std::string of_cluster = cluster > 1 ? fmt::format(" / {}", cluster) : "";
    const std::string& index = text_.index;
    out_.Open(fmt::format("for (int item = blockIdx.x{0}; item < {1}; item += gridDim.x{0})", of_cluster, items_));
    if (splits_ > 1) out_.Line(fmt::format("const int part = item / {};", per_split));
    out_.Line(fmt::format("const int batch = {};", text_.Batches() == 1 ? "0"
                                                   : splits_ > 1 ? fmt::format("item % {} / {}", per_split, per_batch)
                                                                 : fmt::format("item / {}", per_batch)));
    out_.Line(fmt::format("const int tile = item % {};", per_batch));
    out_.Line(fmt::format("const int group = tile / {0}, in_group = tile % {0};", row_group * tiles_n_));
    out_.Line(fmt::format("const int height = min({0}, {1} - group * {0});", row_group, tiles_m_));
    out_.Line(fmt::format("const {} m0 = ((group * {} + in_group % height) * {}{}) * {};", index, row_group, cluster,
                          cluster > 1 ? " + member" : "", settings_.tile_m));
    out_.Line(fmt::format("const {} n0 = in_group / height * {};", index, settings_.tile_n));
    if (splits_ > 1) {
      out_.Line(fmt::format("const int first_step = part * {0}, last_step = min(first_step + {0}, {1});",
                            steps_of_split_, steps_));
    } else {
      out_.Line(fmt::format("const int first_step = 0, last_step = {};", steps_));
    }
  }

  // The producer, one thread: fills stage after stage as they become free.
  void Produce() {
    const std::int64_t cluster = settings_.cluster, parts = Parts(settings_);
    out_.Line(fmt::format("GiveRegisters<{}>();", kProducerRegisters));
    out_.Open("if (thread == 0)");
    out_.Line("FetchMap(&a_map);");
    out_.Line("FetchMap(&b_map);");
    OpenItems();
    const std::vector<std::string> batches = text_.OpenBatches("batch", -1);
    out_.Line(
        fmt::format("const int a_batch = {}, b_batch = {};", text_.BatchOf(0, batches), text_.BatchOf(1, batches)));
    out_.Line(fmt::format("const int end = min(last_step * {}, {});", blocks_a_step_, blocks_k_));
    out_.Open(fmt::format("for (int block = first_step * {}; block < end; ++block)", blocks_a_step_));
    out_.Line("const unsigned barrier = SharedAddress(&full[stage]), to = stages + stage * kStageBytes;");
    out_.Line("WaitFor(SharedAddress(&empty[stage]), phase);");
    if (scaled_) {
      // A chunk's scales come with its last stage.
      out_.Line(blocks_a_step_ == 1 ? "constexpr bool last = true;"
                                    : fmt::format("const bool last = block % {} == {} || block + 1 == end;",
                                                  blocks_a_step_, blocks_a_step_ - 1));
      out_.Line("ExpectBytes(barrier, kStageBytes + (last ? kScaleBytes : 0));");
      out_.Open("if (last)");
      out_.Line("const unsigned scales_to = stages + kStages * kStageBytes + scales * kScaleBytes;");
      for (const int input : {0, 1}) {
        const std::int64_t tile = input == 0 ? settings_.tile_m : settings_.tile_n;
        out_.Line(fmt::format(
            "CopyBytes(scales_to{}, {} + (static_cast<long>({}_batch) * {} + block / {}) * {} + {}, {}, barrier);",
            input == 0 ? "" : fmt::format(" + {}", settings_.tile_m * 4), operands_[input].scales,
            input == 0 ? "a" : "b", steps_, blocks_a_step_, ScaleRows(text_.RowsOf(input)), input == 0 ? "m0" : "n0",
            tile * 4));
      }
      out_.Line("if (++scales == kScales) scales = 0;");
      out_.Close();
    } else {
      out_.Line("ExpectBytes(barrier, kStageBytes);");
    }
    for (std::int64_t p = 0; p < parts; ++p) {
      out_.Line(fmt::format("CopyBox(to + {}, &a_map, block * {}, m0, a_batch, {}, barrier);", p * PartBytes(0),
                            kTensorDepth, p));
    }
    for (std::int64_t p = 0; p < parts; ++p) {
      const std::int64_t at = parts * PartBytes(0) + p * PartBytes(1);
      if (cluster > 1) {
        out_.Line(fmt::format(
            "CopyBoxToAll(to + {} + member * {}, &b_map, block * {}, n0 + member * {}, b_batch, {}, barrier, {});", at,
            PartBytes(1) / cluster, kTensorDepth, settings_.tile_n / cluster, p, (1 << cluster) - 1));
      } else {
        out_.Line(fmt::format("CopyBox(to + {}, &b_map, block * {}, n0, b_batch, {}, barrier);", at, kTensorDepth, p));
      }
    }
    Advance();
    out_.Close();
    out_.Close();
    out_.Close();
  }

  // The consumers: 64 rows of the tile each.
  void Consume() {
    const std::int64_t tile_n = settings_.tile_n;
    const std::string& index = text_.index;
    out_.Line(
        fmt::format("TakeRegisters<{}>();", Consumers(settings_) == 1 ? kOneConsumerRegisters : kConsumerRegisters));
    out_.Line("unsigned char* const ring = tiles + (stages - SharedAddress(tiles));");
    out_.Line(fmt::format("float* const mine = reinterpret_cast<float*>(ring + {}) + threadIdx.x / 32 * {};",
                          settings_.stages * StageBytes(settings_) + (settings_.stages + 1) * ScaleBytes(settings_),
                          16 * kEndStride));
    if (TakesTurns()) out_.Line("if (warpgroup == 1) GiveTurn(0);");
    OpenItems();
    out_.Line(fmt::format("float d[{}];", tile_n / 2));
    if (scaled_) {
      out_.Line(fmt::format("float sum[{}];", tile_n / 2));
      out_.Unroll();
      out_.Line(fmt::format("for (int i = 0; i < {}; ++i) sum[i] = 0.0f;", tile_n / 2));
    }
    const std::vector<std::string> batches = text_.OpenBatches("batch", -1);
    out_.Line(fmt::format("const {} row0 = m0 + warpgroup * 64 + thread / 32 * 16;", index));
    out_.Line("const int column = thread % 4 * 2;");
    if (scaled_) {
      out_.Open("for (int step = first_step; step < last_step; ++step)");
      out_.Line(fmt::format("const int begin = step * {0}, end = min(begin + {0}, {1});", blocks_a_step_, blocks_k_));
    } else {
      out_.Line("const int begin = first_step, end = last_step;");
    }
    out_.Line("int before = 0;");
    out_.Open("for (int block = begin; block < end; ++block)");
    MultiplyStage();
    out_.Close();
    if (scaled_) {
      ReadScales();
      out_.Line("WaitForProducts<0>();");
      Release("", "before");
      Promote();
      out_.Close();
      End("sum", batches);
    } else {
      out_.Line("WaitForProducts<0>();");
      Release("", "before");
      End("d", batches);
    }
    out_.Close();
  }

  // Whether a consumer waits for its products after every stage, because they are promoted then; and whether two of
  // them take turns, which is worth it where a stage has products enough to hide the other's sums.
  bool PromotesEach() const { return scaled_ && blocks_a_step_ == 1; }
  bool TakesTurns() const { return PromotesEach() && Consumers(settings_) == 2 && Parts(settings_) == 2; }

  void Release(const std::string& condition, const std::string& which) {
    if (settings_.cluster > 1) {
      out_.Line(fmt::format("if ({}thread < {}) ArriveAt(SharedAddress(&empty[{}]), thread);", condition,
                            settings_.cluster, which));
    } else {
      out_.Line(fmt::format("if ({}thread == 0) Arrive(SharedAddress(&empty[{}]));", condition, which));
    }
  }

  void MultiplyStage() {
    const std::int64_t parts = Parts(settings_);
    out_.Line("WaitFor(SharedAddress(&full[stage]), phase);");
    out_.Line(fmt::format("const unsigned a = stages + stage * kStageBytes + warpgroup * {};", 64 * kTensorDepth * 2));
    out_.Line(fmt::format("const unsigned b = stages + stage * kStageBytes + {};", parts * PartBytes(0)));
    if (TakesTurns()) out_.Line("TakeTurn(warpgroup);");
    out_.Line("BeginProducts();");
    const auto product = [&](std::int64_t a_part, std::int64_t b_part, const std::string& add) {
      out_.Line(fmt::format("Multiply{}(d, TileDescriptor(a + {} + i * 32), TileDescriptor(b + {} + i * 32), {});",
                            Suffix(settings_.precision), a_part * PartBytes(0), b_part * PartBytes(1), add));
    };
    const auto open = [&] {
      out_.Unroll();
      out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", kTensorDepth * 2 / 32));
    };
    open();
    product(parts - 1, 0, "block > begin || i > 0");
    if (parts == 2) {
      product(0, 1, "1");
      out_.Close();
      // The other consumer may begin when all but these are done: the tensor cores never wait, nor mix the two.
      if (TakesTurns()) out_.Line("CommitProducts();");
      open();
      product(0, 0, "1");
    }
    out_.Close();
    out_.Line("CommitProducts();");
    if (TakesTurns() || !PromotesEach()) out_.Line("WaitForProducts<1>();");
    if (TakesTurns()) out_.Line("GiveTurn(1 - warpgroup);");
    if (!PromotesEach()) Release("block > begin && ", "before");
    out_.Line("before = stage;");
    Advance();
  }

  void ReadScales() {
    const std::int64_t tile_n = settings_.tile_n;
    out_.Line(
        "const float* const scale = reinterpret_cast<const float*>(ring + kStages * kStageBytes + scales * "
        "kScaleBytes);");
    out_.Line("if (++scales == kScales) scales = 0;");
    out_.Line("const float* const rows = scale + warpgroup * 64 + thread / 32 * 16 + thread % 32 / 4;");
    out_.Line("const float upper = rows[0], lower = rows[8];");
    out_.Line(fmt::format("float2 across[{}];", tile_n / 8));
    out_.Unroll();
    out_.Line(fmt::format(
        "for (int i = 0; i < {}; ++i) across[i] = *reinterpret_cast<const float2*>(scale + {} + i * 8 + column);",
        tile_n / 8, settings_.tile_m));
  }
  void Promote() {
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", settings_.tile_n / 8));
    for (int e = 0; e < 4; ++e) {
      out_.Line(fmt::format("sum[i * 4 + {0}] = fmaf(d[i * 4 + {0}], {1} * across[i].{2}, sum[i * 4 + {0}]);", e,
                            e < 2 ? "upper" : "lower", e % 2 == 0 ? "x" : "y"));
    }
    out_.Close();
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
    // What a long chain takes hides the loop, and as many copies of it as there are rows would take long to compile.
    constexpr double kLongChain = 60;  // operations
    out_.Line(OperationsPerElement(kernel_.epilogue) > kLongChain ? "#pragma unroll 1" : "#pragma unroll");
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
    out_.Line(fmt::format("{} made;", PackType(out_, type, vector)));
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
  std::int64_t tiles_m_ = 1, tiles_n_ = 1, items_ = 1;        // rows of tiles are counted in clusters
  std::int64_t blocks_k_ = 1, blocks_a_step_ = 1;             // a block is what a stage holds of K
  std::int64_t chunk_ = 0;                                    // of K between two promotions, 0 = never
  std::int64_t steps_ = 1, steps_of_split_ = 1, splits_ = 1;  // a step is a chunk, or a stage where nothing is promoted
  PackedOperand operands_[2];
  std::string partial_;
};

}  // namespace

std::int64_t TensorSharedBytes(const TensorSettings& settings) {
  // Where the first stage begins is rounded up; behind the stages are the consumers' sums on their way out.
  return settings.stages * StageBytes(settings) + 1024 + (settings.stages + 1) * ScaleBytes(settings) +
         settings.tile_m * kEndStride * 4;
}

std::int64_t TensorBlocksAProcessor(const MultiprocessorLimits& limits, const TensorSettings& settings) {
  return Consumers(settings) == 1 && 2 * (TensorSharedBytes(settings) + 2048) <= limits.block_shared_bytes ? 2 : 1;
}

std::optional<std::string> CheckTensor(const MultiprocessorLimits& limits, const TensorSettings& settings) {
  if (settings.stages < 2) return "a ring has 2 stages at least";
  const bool promoted = settings.precision != TensorPrecision::kBF16;
  if (promoted && settings.tile_n > 128)
    return fmt::format("tiles of {} columns leave no registers for promoted sums; try 128x128", settings.tile_n);
  constexpr std::int64_t kStatic = 256;
  if (TensorSharedBytes(settings) + kStatic > limits.block_shared_bytes) {
    return fmt::format(
        "{} stages of {} bytes are more than a block's {} bytes of shared memory; try {}", settings.stages,
        StageBytes(settings), limits.block_shared_bytes,
        (limits.block_shared_bytes - kStatic - 1024 - ScaleBytes(settings) - settings.tile_m * kEndStride * 4) /
            (StageBytes(settings) + ScaleBytes(settings)));
  }
  return std::nullopt;
}

void EmitMatmulTensor(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out,
                      const TensorSettings& settings) {
  TensorEmitter(program, kernel, out, settings).Emit();
}

}  // namespace hone::dsl
