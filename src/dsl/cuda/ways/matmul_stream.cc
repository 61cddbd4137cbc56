// Matrix products of a few rows with many columns, of 16-bit numbers that lie along K: a decoder's layer with the
// tokens of one step, as in matmul_rows.cc. How fast the columns (a layer's weights) are read is all that matters, and
// memory is busy to the end only if every multiprocessor has as much of them to read as every other. So the tiles of
// the result are cut into units of K, all of them in one row, and every block has an equal share of it (stream-K):
//
//   tiles   |  0: u u u u u u  |  1: u u u u u u  |  2: u u u u u u  | ...
//   blocks  |    0    |    1    |    2    |    3    |    4    | ...
//
// Who has the first unit of a tile ends it. What others have made of it they have made first of all, and left in
// memory; so nobody waits but at the very end, and the sums are always added up in the same order.
//
// A unit comes by the copy engine into a ring of stages. The columns are what wgmma calls rows, of which it multiplies
// 64 at a time, and the rows its columns, of which it can do with 8.
//
//   columns  of a tile, of each product
//   depth    of K in a unit
//   stages   units that are in flight in shared memory
//   blocks   that have shares
#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.h"
#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_layout.h"
#include "dsl/cuda/matmul_tensor.h"
#include "dsl/cuda/matmul_text.h"
#include "dsl/cuda/tensor_product.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kTensorCoreText;    // dsl/cuda/tensor_core.cuh
extern const std::string_view kTensorSharesText;  // dsl/cuda/tensor_shares.cuh
}  // namespace hone

namespace hone::dsl::cuda_way_matmul_stream {
namespace {

constexpr std::int64_t kMostRows = 64;
constexpr std::int64_t kLine = 64;            // of K, which are 128 bytes
constexpr std::int64_t kConsumers = 128;      // threads that multiply
constexpr std::int64_t kSharedBeside = 2048;  // barriers, and what aligns the ring

// What is the same for the checks, the values of knobs and the text.
struct Streamed {
  explicit Streamed(const Kernel& kernel)
      : shape(kernel), products(static_cast<std::int64_t>(ProductsOf(kernel))), rows(RoundUp(shape.m.extent, 8)) {}

  MatmulShape shape;
  std::int64_t products, rows;  // rows as wgmma has them

  std::int64_t UnitBytes(std::int64_t columns, std::int64_t depth) const {
    return (products * columns + rows) * depth * 2;
  }
  // Rows of what is left for the threads to end: the columns of all products, so that banks do not meet.
  std::int64_t Pitch(std::int64_t columns) const { return products * columns + 4; }
  std::int64_t EndBytes(std::int64_t columns) const { return rows * Pitch(columns) * 4; }
  std::int64_t MostStages(const Kernel& kernel, std::int64_t columns, std::int64_t depth) const {
    const std::int64_t room = kernel.device->limits.block_shared_bytes - kSharedBeside - EndBytes(columns);
    return std::clamp<std::int64_t>(room / UnitBytes(columns, depth), 0, 32);
  }
  std::int64_t Tiles(std::int64_t columns) const { return TilesOf(shape, shape.m.extent, columns); }
};

// The operands' type, which is one of the two.
DType HalvesOf(const Kernel& kernel) { return AllAre(kernel, DType::kBF16) ? DType::kBF16 : DType::kF16; }

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto lacks = Lacks(*kernel.device, kTensorNeeds)) return lacks;
  if (HasChoice(kernel)) return "every multiprocessor reads as many columns, and of a matrix that is chosen none may";
  const MatmulShape shape(kernel);
  if (shape.m.extent > kMostRows)
    return fmt::format("it holds all {} rows at once, {} are possible", shape.m.extent, kMostRows);
  if (!AllAre(kernel, DType::kBF16) && !AllAre(kernel, DType::kF16)) return "it is for operands that are f16, or bf16";
  if (kernel.compute != DType::kF32) return "the product is computed in f64, which halves cannot make";
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) {
    if (LayoutOf(kernel, shape, i, HalvesOf(kernel)) != OperandLayout::kAlongK)
      return "the copy engine reads both operands along K, at multiples of 16 bytes, and one does not lie so";
  }
  if (shape.k.extent % kLine != 0) return fmt::format("K is {}, and it reads {} at a time", shape.k.extent, kLine);
  if (ProductsOf(kernel) > 4) return fmt::format("it makes up to 4 products, not {}", ProductsOf(kernel));
  return std::nullopt;
}

// Of 16 rows on an H200, alone: 4096 columns of K 11008 take 29.4 us, tiles in parts of K 31.0; among the other kernels
// of a decoder's step, which hide the start of the kernel that adds up parts, 27.7 and 26.5. So it is what is tried
// next where tiles need parts. Where they need none they are as fast, and up to 2048 columns ways/matmul_rows.cc is
// faster.
std::optional<double> Cost(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  constexpr std::int64_t kFewColumns = 2048, kTileColumns = 256, kMeasuredRows = 16, kLeast = 8 << 20;
  const std::int64_t tiles = TilesOf(shape, shape.m.extent, kTileColumns);
  const bool parts = tiles * 2 <= kernel.device->multiprocessors && shape.n.extent > kFewColumns;
  const bool large = shape.n.extent * shape.k.extent >= kLeast;
  // Of up to 8 rows dot products of 14336 x 4096 take 38, 47, 81 and 153 us for 1, 2, 4 and 8 rows, and these 35; of
  // 4096 x 4096 8.7, 11.5, 21 and 34, and these 10 (docs/measured/cuda_few_rows.txt).
  constexpr std::int64_t kFewRows = 8, kLeastOfFew = 4 << 20, kDotsOfOne = 16 << 20;
  const std::int64_t weights = shape.n.extent * shape.k.extent;
  if (shape.m.extent <= kFewRows && kernel.lets.empty() && shape.n.extent > kFewColumns && weights >= kLeastOfFew)
    return shape.m.extent == 1 && weights <= kDotsOfOne ? 1.2 : 1.08;
  return parts && large && shape.m.extent <= kMeasuredRows && kernel.lets.empty() ? 1.6 : 2.7;
}

// --- Settings.

std::vector<Setting> ProductsValues(const Kernel& kernel) {
  return kernel.lets.empty() ? std::vector<Setting>() : std::vector{Word("together")};
}
std::optional<std::string> CheckProducts(const Kernel& kernel, const Setting& value) {
  if (kernel.lets.empty()) return "there is one product; remove it";
  if (auto why = CheckWord(value, {"apart", "together"})) return why;
  if (value == Word("together")) return std::nullopt;
  return "it makes all products at once; try together";
}

std::vector<Setting> ColumnsValues(const Kernel& kernel) {
  const Streamed streamed(kernel);
  std::vector<Setting> values;
  for (const std::int64_t columns : {128, 64, 256}) {
    if (columns * streamed.products <= 256 && streamed.MostStages(kernel, columns, kLine) >= 3)
      values.push_back(Whole(columns));
  }
  if (streamed.products > 1)
    std::stable_sort(values.begin(), values.end(), [](const Setting& a, const Setting& b) {
      return std::get<std::int64_t>(a.value) < std::get<std::int64_t>(b.value);
    });
  return values;
}
std::optional<std::string> CheckColumns(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 64, 256)) return why;
  const auto columns = std::get<std::int64_t>(value.value);
  if (columns % 64 != 0) return fmt::format("it is a multiple of 64, not {}; try 128", columns);
  const Streamed streamed(kernel);
  if (columns * streamed.products > 256) return "the columns of all products are 256 at most; try 64";
  if (streamed.MostStages(kernel, columns, kLine) < 2) return "two stages do not fit into shared memory; try 64";
  return std::nullopt;
}

std::vector<Setting> DepthValues(const Kernel& kernel) {
  const Streamed streamed(kernel);
  const std::int64_t columns = IntSetting(kernel, "columns");
  std::vector<Setting> values;
  for (const std::int64_t depth : {256, 128, 64}) {
    if ((depth == kLine || depth <= streamed.shape.k.extent) && streamed.MostStages(kernel, columns, depth) >= 3)
      values.push_back(Whole(depth));
  }
  if (values.empty()) values.push_back(Whole(kLine));
  return values;
}
std::optional<std::string> CheckDepth(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, kLine, 512)) return why;
  const auto depth = std::get<std::int64_t>(value.value);
  if (depth % kLine != 0) return fmt::format("it is a multiple of {}, not {}; try 128", kLine, depth);
  if (Streamed(kernel).MostStages(kernel, IntSetting(kernel, "columns"), depth) < 2)
    return "two stages do not fit into shared memory; try 64";
  return std::nullopt;
}

std::int64_t MostStages(const Kernel& kernel) {
  return Streamed(kernel).MostStages(kernel, IntSetting(kernel, "columns"), IntSetting(kernel, "depth"));
}
std::vector<Setting> StagesValues(const Kernel& kernel) {
  const std::int64_t most = MostStages(kernel);
  std::vector<Setting> values = {Whole(most)};
  if (most / 2 >= 2) values.push_back(Whole(most / 2));
  return values;
}
std::optional<std::string> CheckStages(const Kernel& kernel, const Setting& value) {
  return CheckRange(value, 2, MostStages(kernel));
}

std::int64_t Units(const Kernel& kernel) {
  const Streamed streamed(kernel);
  return streamed.Tiles(IntSetting(kernel, "columns")) * CeilDiv(streamed.shape.k.extent, IntSetting(kernel, "depth"));
}
std::vector<Setting> BlocksValues(const Kernel& kernel) {
  const std::int64_t all = std::min<std::int64_t>(kernel.device->multiprocessors, Units(kernel));
  std::vector<Setting> values = {Whole(all)};
  for (const std::int64_t other : {all * 2 / 3, all / 2, all / 4}) {
    if (other >= 1 && other != all) values.push_back(Whole(other));
  }
  return values;
}
std::optional<std::string> CheckBlocks(const Kernel& kernel, const Setting& value) {
  return CheckRange(value, 1, std::min<std::int64_t>(kernel.device->multiprocessors, Units(kernel)));
}

constexpr Knob kKnobs[] = {
    {"products", kProductsDoc, ProductsValues, CheckProducts},
    {"columns", "of a tile, of each product", ColumnsValues, CheckColumns},
    {"depth", "of K in a unit, of which every block has as many as every other", DepthValues, CheckDepth},
    {"stages", "units that are in flight in shared memory", StagesValues, CheckStages},
    {"blocks", "that have a share of the units", BlocksValues, CheckBlocks},
};

// --- Text.

class StreamEmitter {
 public:
  StreamEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : program_(program),
        kernel_(kernel),
        out_(out),
        text_(program, kernel, out),
        streamed_(kernel),
        kind_{HalvesOf(kernel), HalvesOf(kernel)},
        columns_(IntSetting(kernel, "columns")),
        lines_(IntSetting(kernel, "depth") / kLine),
        stages_(IntSetting(kernel, "stages")),
        blocks_(IntSetting(kernel, "blocks")),
        tiles_n_(CeilDiv(text_.shape.n.extent, columns_)),
        units_(CeilDiv(text_.shape.k.extent, lines_ * kLine)),
        tiles_(tiles_n_ * text_.Batches()) {}

  void Emit() {
    out_.Define(std::string(kTensorCoreText));
    out_.Define(std::string(kTensorSharesText));
    out_.Define(ProductText(streamed_.rows, kind_));
    if (Shared()) {
      parts_ = out_.Scratch("parts", DType::kF32, blocks_ * sums() * kConsumers);
      flags_ = out_.Scratch("flags", DType::kI32, blocks_);
      out_.Call(MemsetStep{.buffer = flags_, .byte = 0}, true);
    }
    out_.BeginKernel("stream", kConsumers + 32, 1);
    out_.Line("extern __shared__ __align__(128) unsigned char shared[];");
    out_.Line("unsigned char* const ring = shared + (-SharedAddress(shared) & 1023);");
    out_.Line(fmt::format("__shared__ __align__(8) unsigned long full[{0}], empty[{0}];", stages_));
    out_.Open("if (threadIdx.x == 0)");
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", stages_));
    out_.Line("InitBarrier(SharedAddress(&full[i]), 1);");
    out_.Line(fmt::format("InitBarrier(SharedAddress(&empty[i]), {});", kConsumers / 32));
    out_.Close();
    out_.Line("PublishBarriers();");
    out_.Close();
    out_.Line("__syncthreads();");
    out_.Await();
    out_.Line(fmt::format("using Share = Shares<{}, {}, {}>;", tiles_ * units_, units_, blocks_));
    out_.Line("const int end = Share::BeginOf(blockIdx.x + 1);");
    out_.Line("int unit = Share::BeginOf(blockIdx.x), stage = 0;");
    out_.Line("unsigned phase = 0;");
    out_.Open(fmt::format("if (threadIdx.x >= {})", kConsumers));
    Produce();
    out_.Close();
    out_.Open("else");
    Consume();
    out_.Close();

    DeviceWriter::LaunchShape launch = text_.Reading(kernel_.epilogue);
    launch.writes = {kernel_.target};
    if (Shared()) {
      launch.scratch_writes = {parts_, flags_};
      launch.together = blocks_;
    }
    launch.maps = {{"a_map", Map(0)}};
    for (int p = 0; p < streamed_.products; ++p) launch.maps.emplace_back(Right(p), Map(1 + p));
    launch.grid_x = blocks_;
    launch.shared_bytes = 1024 + stages_ * UnitBytes() + streamed_.EndBytes(columns_);
    out_.Launch(launch);
  }

 private:
  std::int64_t UnitBytes() const { return streamed_.UnitBytes(columns_, lines_ * kLine); }
  std::int64_t sixty_fours() const { return streamed_.products * columns_ / 64; }
  // Of a thread.
  std::int64_t sums() const { return sixty_fours() * streamed_.rows / 2; }
  static std::string Right(int product) { return fmt::format("b{}_map", product); }
  // Whether more than one block has units of some tile.
  bool Shared() const {
    for (std::int64_t block = 1; block < blocks_; ++block) {
      if (tiles_ * units_ * block / blocks_ % units_ != 0) return true;
    }
    return false;
  }

  TensorMapArgument Map(int input) const {
    const KernelOperand* operand = text_.Plain(input);
    const auto o = static_cast<std::size_t>(InputOf(kernel_, static_cast<std::size_t>(input))->buffer);
    const LoopDim& rows = input == 0 ? text_.shape.m : text_.shape.n;
    const std::int64_t line_stride = LineStride(rows, text_.shape.k, o);
    return {.buffer = program_.buffers[static_cast<std::size_t>(operand->buffer)].name,
            .offset = operand->offset,
            .shape = {text_.shape.k.extent / kLine, text_.BatchesOf(input), rows.extent, kLine},
            .strides = {kLine, text_.BatchStride(input, line_stride), line_stride, 1},
            .box = {lines_, 1, input == 0 ? streamed_.rows : columns_, kLine},
            .swizzle = 128};
  }

  // The place of the tile in each batch dimension, and its first column `n0`.
  std::vector<std::string> OpenTile() {
    const std::string& index = text_.index;
    out_.Line(fmt::format("const int tile = unit / {};", units_));
    out_.Line(fmt::format("const {} batch = tile / {}, n0 = tile % {} * {};", index, tiles_n_, tiles_n_, columns_));
    return text_.OpenBatches("batch", -1);
  }

  void Produce() {
    out_.Line(fmt::format("if (threadIdx.x != {}) return;", kConsumers));
    out_.Line("FetchMap(&a_map);");
    for (int p = 0; p < streamed_.products; ++p) out_.Line(fmt::format("FetchMap(&{});", Right(p)));
    out_.Open("for (; unit < end; ++unit)");
    const std::vector<std::string> at = OpenTile();
    out_.Line(fmt::format("const int line = unit % {} * {};", units_, lines_));
    out_.Line("WaitFor(SharedAddress(&empty[stage]), phase ^ 1);");
    out_.Line("const unsigned barrier = SharedAddress(&full[stage]);");
    out_.Line(fmt::format("const unsigned to = SharedAddress(ring) + stage * {};", UnitBytes()));
    out_.Line(fmt::format("ExpectBytes(barrier, {});", UnitBytes()));
    const std::int64_t product = columns_ * lines_ * kLine * 2;
    for (int p = 0; p < streamed_.products; ++p) {
      out_.Line(fmt::format("CopyBox(to + {}, &{}, 0, static_cast<int>(n0), static_cast<int>({}), line, barrier);",
                            p * product, Right(p), text_.BatchOf(1 + p, at)));
    }
    out_.Line(fmt::format("CopyBox(to + {}, &a_map, 0, 0, static_cast<int>({}), line, barrier);",
                          streamed_.products * product, text_.BatchOf(0, at)));
    NextStage();
    out_.Close();
  }

  void NextStage() {
    out_.Open(fmt::format("if (++stage == {})", stages_));
    out_.Line("stage = 0;");
    out_.Line("phase ^= 1;");
    out_.Close();
  }

  void Consume() {
    const std::int64_t products = streamed_.products, rows = streamed_.rows;
    out_.Line(fmt::format("float* const ended = reinterpret_cast<float*>(ring + {});", stages_ * UnitBytes()));
    out_.Open("while (unit < end)");
    const std::vector<std::string> at = OpenTile();
    out_.Line(fmt::format("const int first = unit - tile * {0}, last = min({0}, first + end - unit);", units_));
    out_.Line(fmt::format("float sums[{}][{}] = {{}};", sixty_fours(), streamed_.rows / 2));
    out_.Open("for (int i = first; i < last; ++i)");
    out_.Line("WaitFor(SharedAddress(&full[stage]), phase);");
    out_.Line(fmt::format("const unsigned from = SharedAddress(ring) + stage * {};", UnitBytes()));
    out_.Line("BeginProducts();");
    out_.Unroll();
    out_.Open(fmt::format("for (int k = 0; k < {}; ++k)", lines_ * kLine / 16));
    out_.Line(fmt::format("const unsigned long rows = TileDescriptor(from + {} + k / 4 * {} + k % 4 * 32);",
                          products * columns_ * lines_ * kLine * 2, rows * kLine * 2));
    for (std::int64_t i = 0; i < sixty_fours(); ++i) {
      const std::int64_t product = i * 64 / columns_, within = i * 64 % columns_;
      out_.Line(fmt::format("{}(sums[{}], TileDescriptor(from + {} + k / 4 * {} + k % 4 * 32), rows, 1);", kind_.Name(),
                            i, product * columns_ * lines_ * kLine * 2 + within * kLine * 2, columns_ * kLine * 2));
    }
    out_.Close();
    out_.Line("CommitProducts();");
    out_.Line("WaitForProducts<0>();");
    out_.Line("if (threadIdx.x % 32 == 0) Arrive(SharedAddress(&empty[stage]));");
    NextStage();
    out_.Close();
    out_.Line("unit += last - first;");
    if (Shared()) {
      out_.Open("if (first > 0)");
      out_.Line(
          fmt::format("Give({0} + blockIdx.x * {1}, {2} + blockIdx.x, sums);", parts_, sums() * kConsumers, flags_));
      out_.Line("continue;");
      out_.Close();
      out_.Open(fmt::format("if (last < {})", units_));
      out_.Line(fmt::format("Take({}, {}, blockIdx.x + 1, Share::LastOf(tile) - blockIdx.x, sums);", parts_, flags_));
      out_.Close();
    }
    End(at);
    out_.Close();
  }

  // Of wgmma's 64 x 8 a thread has two neighbouring rows (of ours) of two columns, eight apart.
  void End(const std::vector<std::string>& at) {
    const std::int64_t pitch = streamed_.Pitch(columns_);
    out_.Line("SyncConsumers();");
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", sums()));
    out_.Line(
        fmt::format("const int column = i / {} * 64 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;",
                    streamed_.rows / 2));
    out_.Line(fmt::format("const int row = i % {} / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;", streamed_.rows / 2));
    out_.Line(
        fmt::format("ended[row * {} + column] = sums[i / {}][i % {}];", pitch, streamed_.rows / 2, streamed_.rows / 2));
    out_.Close();
    out_.Line("SyncConsumers();");
    // What the chain reads is waited for once, not once an element.
    out_.Line("#pragma unroll 8");
    out_.Open(fmt::format("for (int place = threadIdx.x; place < {}; place += {})", text_.shape.m.extent * columns_,
                          kConsumers));
    out_.Line(fmt::format("const {0} m = place / {1}, n = n0 + place % {1};", text_.index, columns_));
    if (text_.shape.n.extent % columns_ != 0) out_.Line(fmt::format("if (n >= {}) continue;", text_.shape.n.extent));
    std::vector<std::string> its;
    for (std::int64_t p = 0; p < streamed_.products; ++p) {
      its.push_back(p == 0 ? "it" : fmt::format("it{}", p));
      out_.Line(fmt::format("const float {} = ended[place / {} * {} + place % {} + {}];", its.back(), columns_, pitch,
                            columns_, p * columns_));
    }
    out_.Line(fmt::format("{} = {};", text_.Target(at, "m", "n"), text_.Result(at, "m", "n", its)));
    out_.Close();
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  MatmulText text_;
  Streamed streamed_;
  ProductKind kind_;
  std::int64_t columns_, lines_, stages_, blocks_, tiles_n_, units_, tiles_;  // lines of K in a unit; units of a tile
  std::string parts_, flags_;
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  StreamEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "stream",
    .doc = "few rows of 16-bit numbers, of whose columns every multiprocessor reads as many",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_matmul_stream
