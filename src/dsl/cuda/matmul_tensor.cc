// One file because it writes one kernel: what a warpgroup loads, multiplies and ends with shares its names and its
// counting of shared memory.
#include "dsl/cuda/matmul_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>

#include "dsl/cuda/conv_product.h"
#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_end.h"
#include "dsl/cuda/matmul_end_stages.h"
#include "dsl/cuda/matmul_halves.h"
#include "dsl/cuda/matmul_layout.h"
#include "dsl/cuda/matmul_pack.h"
#include "dsl/cuda/matmul_rows_end.h"
#include "dsl/cuda/tensor_product.h"
#include "dsl/cuda/tensor_tail.h"

namespace hone {
extern const std::string_view kSettleText;          // dsl/cuda/settle.cuh
extern const std::string_view kTensorAcrossText;    // dsl/cuda/tensor_across.cuh
extern const std::string_view kTensorCoreText;      // dsl/cuda/tensor_core.cuh
extern const std::string_view kTensorEndText;       // dsl/cuda/tensor_end.cuh
extern const std::string_view kTensorGroupsText;    // dsl/cuda/tensor_groups.cuh
extern const std::string_view kTensorHalvesText;    // dsl/cuda/tensor_halves.cuh
extern const std::string_view kTensorSegmentsText;  // dsl/cuda/tensor_segments.cuh
extern const std::string_view kTensorTailText;      // dsl/cuda/tensor_tail.cuh
}  // namespace hone

namespace hone::dsl {
namespace {

// Registers of a thread, which warpgroups hand to one another: 504 for three, 256 for two of which two blocks fit, 512
// for two of which one does, as of a tile of 256 columns.
constexpr int kProducerRegisters = 56, kConsumerRegisters = 224, kOneConsumerRegisters = 200,
              kAloneConsumerRegisters = 240;
constexpr int kProducerBesideTwoSums = 40, kTwoSumsRegisters = 232;
// Of one warpgroup and of two that make halves, and of two consumers beside.
constexpr int kSplitterRegisters[] = {104, 104}, kBesideSplitters[] = {200, 152};
// Of two sums, and of those that are scaled: 4096 x 11008 x 4096 takes 292 us with four and 295 with eight, 4096 x 7168
// x 2048 with scales of blocks 124 and 122 (docs/measured/cuda_8bit.md).
constexpr int kStepsInLine = 4, kScaledInLine = 8;
// Tiles of rows that blocks go through together, so that what they read of B stays in L2. Where both operands are so
// small that they stay there anyway, what is written counts: then blocks go along the rows of the result.
constexpr std::int64_t kRowGroup = 8;
constexpr std::int64_t kSmallOperands = 24 << 20;  // bytes of both
constexpr std::int64_t kBoxRows = 64;              // of an operand that lies across K

// What operands are packed as.
DType ElementType(TensorPrecision precision) {
  if (precision == TensorPrecision::kTF32) return DType::kF32;
  return precision == TensorPrecision::kBF16 ? DType::kBF16 : DType::kF16;
}
// The type that an operand has to have to be multiplied where it lies. Reals of 8 bits are of two, that may be mixed;
// right operands, which are one to wgmma, are of one.
DType TypeInPlace(const Kernel& kernel, std::size_t input, TensorPrecision precision) {
  if (precision == TensorPrecision::kI8) return DType::kI8;
  if (precision != TensorPrecision::kF8) return ElementType(precision);
  const int operand = OperandOf(InputOf(kernel, std::min<std::size_t>(input, 1)));
  const DType type = operand < 0 ? DType::kF32 : kernel.operand_types[static_cast<std::size_t>(operand)];
  return type == DType::kF8E5M2 ? type : DType::kF8E4M3;
}
OperandLayout LayoutInPlace(const Kernel& kernel, const MatmulShape& shape, std::size_t input,
                            TensorPrecision precision) {
  return LayoutOf(kernel, shape, input, TypeInPlace(kernel, input, precision));
}

class TensorEmitter {
 public:
  TensorEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, const TensorSettings& settings,
                const ConvProduct* conv)
      : program_(program),
        kernel_(kernel),
        out_(out),
        settings_(settings),
        conv_(conv),
        text_(program, kernel, out, MatmulShape::WithHeads(kernel)),
        scaled_(ScalesOperands(kernel, settings.precision)),
        end_(EndStagesOf(kernel, text_.shape, settings, conv ? conv->phase() : nullptr)) {}

  void Emit() {
    out_.Define(std::string(kTensorCoreText));
    const ProductKind kind = Kind();
    out_.Define(ProductText(TensorWidth(settings_), kind));
    if (kind.a_across || kind.b_across) out_.Define(std::string(kTensorAcrossText));
    if (TwoSums()) out_.Define(std::string(kSettleText));
    if (Grouped()) out_.Define(std::string(kTensorGroupsText));
    if (settings_.segments) out_.Define(std::string(kTensorSegmentsText));
    if (TensorSplitters(settings_) > 0) out_.Define(std::string(kTensorHalvesText));
    chunk_ = promoted_ ? settings_.promote : 0;
    const std::int64_t k = text_.shape.k.extent;
    const std::int64_t step = promoted_ ? chunk_ : depth_;
    steps_ = (k + step - 1) / step;
    const std::int64_t split = std::clamp<std::int64_t>(settings_.split, 1, steps_);
    steps_of_split_ = (steps_ + split - 1) / split;
    splits_ = (steps_ + steps_of_split_ - 1) / steps_of_split_;
    const Packing packing{
        .parts = TensorParts(settings_), .element = ElementType(settings_.precision), .chunk = scaled_ ? chunk_ : 0};
    for (int input = 0; !conv_ && input < 1 + settings_.products; ++input) {
      operands_.push_back(Splits(input) || Layout(input) != OperandLayout::kElsewise
                              ? AsItLies(input)
                              : PackOperand(kernel_, text_, out_, input, packing));
    }
    Products();
    if (splits_ > 1) text_.EmitSums(partial_, splits_);
    if (FoldsRows() && !FoldsGroups()) EmitRowsTogether(kernel_, text_, out_, partial_, settings_.tile_n);
  }

 private:
  bool Grouped() const { return settings_.groups > 0; }
  bool KeepsB() const { return settings_.kept_steps > 0; }
  bool FoldsRows() const { return settings_.end == TensorEnd::kRows; }
  bool FoldsGroups() const { return ColumnsOfGroup(kernel_) > 0; }
  const KernelOperand& Ends() const { return InputOperand(kernel_, 2); }

  bool Splits(int input) const { return hone::dsl::Splits(settings_, At(input)); }
  OperandLayout RawLayout(int input) const { return RawLayoutOf(kernel_, text_.shape, At(input)); }
  // Of an operand that is read where it lies; of another, elsewise.
  OperandLayout Layout(int input) const {
    if (conv_) return OperandLayout::kAlongK;
    return scaled_ ? OperandLayout::kElsewise : LayoutInPlace(kernel_, text_.shape, At(input), settings_.precision);
  }
  bool Across(int input) const { return Layout(input) == OperandLayout::kAcrossK; }
  ProductKind Kind() const {
    return {TypeInPlace(kernel_, 0, settings_.precision), TypeInPlace(kernel_, 1, settings_.precision), Across(0),
            Across(1)};
  }

  PackedOperand AsItLies(int input) const {
    const KernelOperand* operand = text_.Plain(input);
    const auto o = At(InputOf(kernel_, At(input))->buffer);
    const bool across = Splits(input) ? RawLayout(input) == OperandLayout::kAcrossK : Across(input);
    const LoopDim& rows = input == 0 ? text_.shape.m : text_.shape.n;
    const LoopDim &lines = across ? text_.shape.k : rows, &line = across ? rows : text_.shape.k;
    // Of an extent of 1: any that is a multiple of 16 bytes.
    const std::int64_t batch_stride = text_.BatchStride(input, LineStride(lines, line, o));
    return {.buffer = program_.buffers[At(operand->buffer)].name,
            .offset = operand->offset,
            .shape = {1, text_.BatchesOf(input), lines.extent, line.extent},
            .strides = {batch_stride, batch_stride, LineStride(lines, line, o), 1},
            .scales = ""};
  }

  // --- Products.

  // Lines of an operand that a copy brings, of which each block of a cluster has its share of B's.
  std::int64_t CopiedLines(int input) const {
    return (Across(input) ? depth_
            : input == 0  ? settings_.tile_m
                          : settings_.tile_n) /
           (input == 0 ? 1 : settings_.cluster);
  }
  TensorMapArgument Map(int input) const {
    if (conv_) return conv_->Map(program_, input, CopiedLines(input));
    const PackedOperand& operand = operands_[At(input)];
    if (Splits(input)) {
      const RawBox box = RawBoxOf(RawLayout(input));
      return {.buffer = operand.buffer,
              .offset = operand.offset,
              .shape = operand.shape,
              .strides = operand.strides,
              .box = {1, 1, box.lines, box.line},
              .swizzle = box.swizzle};
    }
    return {.buffer = operand.buffer,
            .offset = operand.offset,
            .shape = operand.shape,
            .strides = operand.strides,
            .box = {1, 1, CopiedLines(input), depth_},
            .swizzle = static_cast<int>(settings_.row_bytes)};
  }

  void Products() {
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent, k = text_.shape.k.extent;
    const std::int64_t cluster = settings_.cluster,
                       resident = TensorBlocksAProcessor(kernel_.device->limits, settings_);
    blocks_k_ = (k + depth_ - 1) / depth_;
    blocks_a_step_ = promoted_ ? chunk_ / depth_ : 1;
    tiles_m_ = (m + settings_.tile_m * cluster - 1) / (settings_.tile_m * cluster) + settings_.groups;  // at most
    tiles_n_ = (n + settings_.tile_n - 1) / settings_.tile_n;
    items_ = tiles_m_ * tiles_n_ * text_.ResultBatches() * splits_;
    blocks_at_once_ = kernel_.device->multiprocessors * resident / cluster;
    if (KeepsB()) blocks_at_once_ = blocks_at_once_ / tiles_n_ * tiles_n_;  // whose items have the same columns
    if (settings_.tail_in_parts) CutTail();
    if (splits_ > 1)
      partial_ =
          out_.Scratch("parts", SumsAreWhole(settings_) ? DType::kI32 : DType::kF32, splits_ * text_.Batches() * m * n);
    if (FoldsRows() && !FoldsGroups()) partial_ = RowParts(kernel_, text_, out_, settings_.tile_n);

    const std::int64_t splitters = TensorSplitters(settings_);
    out_.BeginKernel("products", 128 * (TensorConsumers(settings_) + std::max<std::int64_t>(splitters, 1)),
                     static_cast<int>(resident));
    OpenRing();
    out_.Open(fmt::format("if (warpgroup {} {})", splitters == 2 ? ">=" : "==", TensorConsumers(settings_)));
    splitters > 0 ? ProduceHalves() : Produce();
    out_.Close();
    out_.Open("else");
    Consume();
    out_.Close();
    if (cluster > 1) out_.Line("SyncCluster();");

    DeviceWriter::LaunchShape launch;
    if (FoldsRows()) {
      ReadScores(kernel_, text_, partial_, launch);
    } else if (splits_ == 1) {
      launch = text_.Reading(kernel_.epilogue);
      if (end_.stages > 0) std::erase_if(launch.reads, [&](int buffer) { return ComeAllInStages(buffer); });
      if (settings_.end == TensorEnd::kLines || Grouped()) launch.writes = {kernel_.target};
    } else {
      launch.scratch_writes = {partial_};
    }
    if (Grouped() || settings_.segments) launch.reads.push_back(Ends().buffer);
    text_.ReadChoice(launch);
    if (blocks_) std::ranges::copy(BuffersOf(kernel_, kernel_.lets[0].body), std::back_inserter(launch.reads));
    for (const PackedOperand& operand : operands_) {
      if (!operand.scales.empty()) launch.scratch_reads.push_back(operand.scales);
    }
    launch.maps = {{"a_map", Map(0)}};
    for (int p = 0; p < settings_.products; ++p) launch.maps.emplace_back(Right("b_map", p), Map(1 + p));
    for (const int operand : end_.operands)
      launch.maps.emplace_back(EndMapName(operand), EndMap(program_, kernel_, text_, settings_, operand));
    if (settings_.end == TensorEnd::kTiles) launch.maps.emplace_back("target_map", TargetMap(program_, kernel_, text_));
    launch.writes_maps = settings_.end == TensorEnd::kTiles;
    launch.aside = splitters == 0;
    launch.static_shared_bytes = TensorStaticBytes(settings_);
    launch.cluster_x = cluster;
    launch.grid_x = (Cut() ? BlocksOfTail() : std::min(items_, blocks_at_once_)) * cluster;
    if (Cut()) {
      launch.together = launch.grid_x;
      launch.scratch_writes = {left_, left_flags_};
      launch.aside = false;
    }
    launch.shared_bytes = TensorSharedBytes(settings_);
    out_.Launch(launch);
  }

  // The last tiles are made in parts of K (tensor_tail.h): memory for what blocks leave for others, with a flag for
  // each warpgroup that does.
  void CutTail() {
    tail_ = PartsOfTail(items_, blocks_at_once_, steps_);
    if (!Cut()) return;
    out_.Define(std::string(kTensorEndText));
    out_.Define(std::string(kTensorTailText));
    const std::int64_t leaving = tail_.tiles * tail_.parts * WarpgroupsOfTile();
    left_ = out_.Scratch("left", DType::kF32, leaving * SumsOfWarpgroup());
    left_flags_ = out_.Scratch("flags", DType::kI32, leaving);
    out_.Call(MemsetStep{.buffer = left_flags_, .byte = 0}, true);
  }
  bool Cut() const { return tail_.parts > 1; }
  std::int64_t BlocksOfTail() const { return items_ > tail_.tiles ? blocks_at_once_ : tail_.tiles * tail_.parts; }
  std::int64_t WarpgroupsOfTile() const { return TensorConsumers(settings_) * settings_.cluster; }
  std::int64_t SumsOfWarpgroup() const { return 64 * TensorWidth(settings_); }
  // Behind the products of a part: who has not the tile's first leaves what it has, who has adds up what others left.
  void LeavePart() {
    if (!Cut()) return;
    out_.Open("if (first_step > 0)");
    out_.Line("WaitForProducts<0>();");
    ReleaseStage(out_, settings_, "", "before");
    out_.Line(fmt::format("const int mine = blockIdx.x * {} + warpgroup;", TensorConsumers(settings_)));
    out_.Line(fmt::format("LeaveSums({} + static_cast<long>(mine) * {}, {} + mine, d, warpgroup, thread);", left_,
                          SumsOfWarpgroup(), left_flags_));
    out_.Line("continue;");
    out_.Close();
  }
  void AddParts() {
    if (!Cut()) return;
    const std::int64_t apart = tail_.tiles * WarpgroupsOfTile();
    out_.Open(fmt::format("if (last_step < {})", steps_));
    out_.Line(fmt::format("const int theirs = blockIdx.x * {} + warpgroup + {};", TensorConsumers(settings_), apart));
    out_.Line(fmt::format(
        "AddSums({0} + static_cast<long>(theirs) * {2}, {1} + theirs, {5}, {3}, {4}, d, warpgroup, thread);", left_,
        left_flags_, SumsOfWarpgroup(), apart * SumsOfWarpgroup(), apart, tail_.parts - 1));
    out_.Close();
  }

  // Whether all that the chain reads of a buffer does.
  bool ComeAllInStages(int buffer) const {
    const std::vector<int> operands = OperandsOf({kernel_.epilogue});
    return std::ranges::all_of(operands, [&](int o) {
      return kernel_.operands[At(o)].buffer != buffer || std::ranges::count(end_.operands, o) > 0;
    });
  }

  std::int64_t PartBytes(int input) const {
    return (input == 0 ? settings_.tile_m : TensorWidth(settings_)) * settings_.row_bytes;
  }
  static std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }
  // What is of one of the right operands.
  static std::string Right(std::string_view name, std::int64_t product) {
    return product == 0 ? std::string(name) : fmt::format("{}_{}", name, product + 1);
  }

  // The stages with their barriers, and which warpgroup the thread is of.
  void OpenRing() {
    // Of a stage: all consumers, or the one whose turn it is.
    const std::int64_t cluster = settings_.cluster, consumers = TensorConsumers(settings_),
                       readers = settings_.turns ? 1 : consumers;
    out_.Line(fmt::format("constexpr int kStages = {};", settings_.stages));
    out_.Line(fmt::format("constexpr unsigned kStageBytes = {};", TensorStageBytes(settings_)));
    if (scaled_) {
      // Scales of a chunk, in a ring of their own: as many chunks as stages may be ahead of one whose sums are made.
      out_.Line("constexpr int kScales = kStages + 1;");
      out_.Line(fmt::format("constexpr unsigned kScaleBytes = {};", TensorScaleBytes(settings_)));
    }
    out_.Line("extern __shared__ unsigned char tiles[];");
    out_.Line("__shared__ __align__(8) unsigned long full[kStages], empty[kStages];");
    const std::int64_t splitters = TensorSplitters(settings_);
    if (splitters > 0) {
      out_.Line("__shared__ __align__(8) unsigned long raw[2];");
      out_.Line("__shared__ NextTile next_tiles[2];");
    }
    if (KeepsB()) out_.Line("__shared__ __align__(8) unsigned long kept[1];");
    out_.Line("const unsigned stages = (SharedAddress(tiles) + 1023) & ~1023u;");
    out_.Line("const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;");
    if (cluster > 1) out_.Line("const unsigned member = BlockOfCluster();");
    out_.Open("if (threadIdx.x == 0)");
    out_.Open("for (int i = 0; i < kStages; ++i)");
    // Of a stage: the copy engine, and each warpgroup that makes halves.
    out_.Line(fmt::format("InitBarrier(SharedAddress(&full[i]), {});", splitters == 0 ? 1 : 2));
    out_.Line(fmt::format("InitBarrier(SharedAddress(&empty[i]), {});", readers * cluster));
    out_.Close();
    if (KeepsB()) out_.Line("InitBarrier(SharedAddress(&kept[0]), 1);");
    for (std::int64_t i = 0; splitters > 0 && i < 2; ++i)
      out_.Line(fmt::format("InitBarrier(SharedAddress(&raw[{}]), 1);", i));
    out_.Line("PublishBarriers();");
    out_.Close();
    out_.Await();
    if (Grouped()) FindGroups();
    out_.Line(cluster > 1 ? "SyncCluster();" : "__syncthreads();");
    out_.Line(scaled_ ? "int stage = 0, scales = 0;" : "int stage = 0;");
    out_.Line(fmt::format("unsigned phase = warpgroup {} {} ? 1 : 0;", splitters == 2 ? ">=" : "==", consumers));
  }

  void FindGroups() {
    const KernelOperand& ends = Ends();
    out_.Line(fmt::format("__shared__ int row_end[{0}], tile_end[{0}];", settings_.groups));
    out_.Line(fmt::format("FindGroups({} + {}, {}, {}, {}, row_end, tile_end);", out_.BufferName(ends.buffer),
                          ends.offset, ends.strides[0], text_.shape.m.extent, settings_.tile_m * settings_.cluster));
  }

  // A loop over the tiles of all groups, in bands of rows as below.
  void OpenItemsOfGroups() {
    const std::string& index = text_.index;
    const std::string of_cluster = settings_.cluster > 1 ? fmt::format(" / {}", settings_.cluster) : "";
    out_.Line(fmt::format("const int row_tiles = tile_end[{}];", settings_.groups - 1));
    out_.Open(fmt::format("for (int item = blockIdx.x{0}; item < row_tiles * {1}; item += gridDim.x{0})", of_cluster,
                          tiles_n_));
    out_.Line(fmt::format("const int band = item / {0}, in_band = item % {0};", kRowGroup * tiles_n_));
    out_.Line(fmt::format("const int height = min({0}, row_tiles - band * {0});", kRowGroup));
    out_.Line(fmt::format("const int row_tile = band * {} + in_band % height, batch = GroupOf(tile_end, row_tile);",
                          kRowGroup));
    out_.Line("const int in_group = row_tile - (batch == 0 ? 0 : tile_end[batch - 1]);");
    out_.Line(fmt::format(
        "const {} m0 = (batch == 0 ? 0 : row_end[batch - 1]) + (in_group{}) * {}, m_end = "
        "row_end[batch];",
        index,
        settings_.cluster > 1 ? fmt::format(" * {} + static_cast<int>(member)", settings_.cluster) : std::string(),
        settings_.tile_m));
    out_.Line(fmt::format("const {} n0 = in_band / height * {};", index, settings_.tile_n));
    out_.Line(fmt::format("const int first_step = 0, last_step = {};", steps_));
  }

  // A loop over what the block makes: tiles of batches and parts of K. Rows go in groups, so that what runs at a time
  // shares operands. Batches that choose their matrices are all at the same columns, of which L2 then keeps those of
  // each matrix, whoever has chosen it.
  void OpenItems() {
    if (Grouped()) return OpenItemsOfGroups();
    const std::string of_cluster = settings_.cluster > 1 ? fmt::format(" / {}", settings_.cluster) : "";
    if (Cut()) {
      out_.Open(fmt::format("for (Tail<{}, {}, {}, {}> at(blockIdx.x{}); at.item < {}; at.Next())", steps_, tail_.tiles,
                            tail_.parts, BlocksOfTail(), of_cluster, items_));
      out_.Line("const int item = at.item, first_step = at.first, last_step = at.last;");
    } else {
      out_.Open(fmt::format("for (int item = blockIdx.x{0}; item < {1}; item += gridDim.x{0})", of_cluster, items_));
    }
    PlacesOfItem();
  }

  // Where `item` lies, and which steps it has.
  void PlacesOfItem() {
    const std::int64_t cluster = settings_.cluster, per_batch = tiles_m_ * tiles_n_,
                       per_split = per_batch * text_.Batches();
    const std::int64_t operand_bytes = (text_.shape.m.extent + text_.shape.n.extent * settings_.products) *
                                       text_.shape.k.extent * TensorParts(settings_) *
                                       TensorElementBytes(settings_.precision);
    const std::int64_t row_group =
        KeepsB() || operand_bytes <= kSmallOperands ? 1 : kRowGroup * (settings_.turns ? 2 : 1);
    const std::string& index = text_.index;
    if (splits_ > 1) out_.Line(fmt::format("const int part = item / {};", per_split));
    const std::string of_part = splits_ > 1 ? fmt::format("item % {}", per_split) : "item";
    if (text_.shape.chooses) {
      out_.Line(fmt::format("const int batch = {0} % {1}, tile = {0} / {1};", of_part, text_.Batches()));
    } else {
      out_.Line(fmt::format("const int batch = {};",
                            text_.Batches() == 1 ? "0" : fmt::format("{} / {}", of_part, per_batch)));
      out_.Line(fmt::format("const int tile = item % {};", per_batch));
    }
    out_.Line(fmt::format("const int group = tile / {0}, in_group = tile % {0};", row_group * tiles_n_));
    out_.Line(fmt::format("const int height = min({0}, {1} - group * {0});", row_group, tiles_m_));
    out_.Line(fmt::format("const {} m0 = ((group * {} + in_group % height) * {}{}) * {};", index, row_group, cluster,
                          cluster > 1 ? " + member" : "", settings_.tile_m));
    out_.Line(fmt::format("const {} n0 = in_group / height * {};", index, settings_.tile_n));
    if (settings_.segments) {
      const auto end = [&](const char* segment) {
        return fmt::format("SegmentEnd({} + {}, {}, {}, {})", out_.BufferName(Ends().buffer), Ends().offset,
                           Ends().strides[0], segment, text_.shape.k.extent);
      };
      out_.Line(fmt::format("const int k_begin = {}, k_end = max(k_begin, {});", end("batch - 1"), end("batch")));
      out_.Line(fmt::format("const int first_step = 0, last_step = (k_end - k_begin + {}) / {};", depth_ - 1, depth_));
    } else if (splits_ > 1) {
      out_.Line(fmt::format("const int first_step = part * {0}, last_step = min(first_step + {0}, {1});",
                            steps_of_split_, steps_));
    } else if (!Cut()) {
      out_.Line(fmt::format("const int first_step = 0, last_step = {};", steps_));
    }
  }

  // The producer, one thread: fills stage after stage as they become free.
  void Produce() {
    const std::int64_t parts = TensorParts(settings_);
    out_.Line(fmt::format("GiveRegisters<{}>();", TwoSums() ? kProducerBesideTwoSums : kProducerRegisters));
    out_.Open("if (thread == 0)");
    out_.Line("FetchMap(&a_map);");
    for (std::int64_t p = 0; p < settings_.products; ++p) out_.Line(fmt::format("FetchMap(&{});", Right("b_map", p)));
    for (const int operand : end_.operands) out_.Line(fmt::format("FetchMap(&{});", EndMapName(operand)));
    if (KeepsB()) CopyKept();
    OpenItems();
    const std::vector<std::string> batches = text_.OpenBatches("batch", -1);
    if (conv_) {
      conv_->OpenTile(out_, text_, batches, settings_);
    } else {
      std::string of_batch = fmt::format("const int a_batch = {}", text_.BatchOf(0, batches));
      for (std::int64_t p = 0; p < settings_.products; ++p)
        of_batch += fmt::format(", {} = {}", Right("b_batch", p), text_.BatchOf(static_cast<int>(1 + p), batches));
      out_.Line(of_batch + ";");
    }
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
      for (const int input : {0, 1})
        CopyScales(input, input == 0 ? "scales_to" : fmt::format("scales_to + {}", settings_.tile_m * 4),
                   fmt::format("block / {}", blocks_a_step_));
      out_.Line("if (++scales == kScales) scales = 0;");
      out_.Close();
    } else {
      out_.Line("ExpectBytes(barrier, kStageBytes);");
    }
    if (conv_) conv_->OpenStage(out_);
    for (std::int64_t p = 0; p < parts; ++p) CopyTile(0, p * PartBytes(0), "a_map", "a_batch", p);
    for (std::int64_t copy = 0; !KeepsB() && copy < parts * settings_.products; ++copy) {
      const std::int64_t part = copy % parts, product = copy / parts;
      CopyTile(1 + static_cast<int>(product),
               parts * PartBytes(0) + part * PartBytes(1) + product * settings_.tile_n * settings_.row_bytes,
               Right("b_map", product), Right("b_batch", product), part);
    }
    NextStage(out_);
    out_.Close();
    const bool some_end = Cut() && end_.stages > 0;
    if (some_end) out_.Open("if (first_step == 0)");
    EmitEndCopies(end_, text_, out_, settings_);
    if (some_end) out_.Close();
    out_.Close();
    out_.Close();
  }

  // Producers that make halves of what the copy engine brings, a warpgroup for each operand; what is packed one of them
  // has copied. A step is a stage.
  void ProduceHalves() {
    const std::int64_t parts = TensorParts(settings_), splitters = TensorSplitters(settings_),
                       consumers = TensorConsumers(settings_);
    out_.Line(fmt::format("GiveRegisters<{}>();", kSplitterRegisters[splitters - 1]));
    out_.Line("unsigned char* const ring = tiles + (stages - SharedAddress(tiles));");
    std::int64_t raw_at = TensorRingBytes(settings_) - splitters * kSplitRawBytes;
    for (const int input : {0, 1}) {
      if (!Splits(input)) continue;
      const int other = 1 - input;
      const auto tile_at = [&](int of) { return of == 0 ? 0 : parts * PartBytes(0); };
      const auto scales_at = [&](int of) { return of == 0 ? 0 : settings_.tile_m * 4; };
      if (splitters == 2) out_.Open(input == 0 ? fmt::format("if (warpgroup == {})", consumers) : "else");
      Splitter splitter{.input = input,
                        .lies = RawLayout(input),
                        .row0 = input == 0 ? "m0" : "n0",
                        .batch = input == 0 ? "a_batch" : "b_batch",
                        .tile_at = tile_at(input),
                        .scales_at = scales_at(input),
                        .raw_at = raw_at,
                        .items = items_,
                        .places = [this] { PlacesAndBatches(); },
                        .copy_another = {}};
      raw_at += kSplitRawBytes;
      if (!Splits(other)) {
        splitter.copy_another = [&] {
          out_.Line("const unsigned barrier = SharedAddress(&full[stage]), to = stages + stage * kStageBytes;");
          out_.Line(fmt::format("ExpectBytes(barrier, {});", parts * PartBytes(other) + kSplitRows * 4));
          CopyScales(other, fmt::format("stages + scales_at + {}", scales_at(other)), "block");
          for (std::int64_t p = 0; p < parts; ++p)
            CopyTile(other, tile_at(other) + p * PartBytes(other), other == 0 ? "a_map" : "b_map",
                     other == 0 ? "a_batch" : "b_batch", p);
        };
      }
      EmitSplitter(out_, settings_, splitter);
      if (splitters == 2) out_.Close();
    }
  }
  void PlacesAndBatches() {
    PlacesOfItem();
    const std::vector<std::string> batches = text_.OpenBatches("batch", -1);
    out_.Line(
        fmt::format("const int a_batch = {}, b_batch = {};", text_.BatchOf(0, batches), text_.BatchOf(1, batches)));
  }
  // The scales of a tile's rows, of the chunk of that number.
  void CopyScales(int input, const std::string& to, const std::string& chunk) {
    out_.Line(fmt::format("CopyBytes({}, {} + (static_cast<long>({}_batch) * {} + {}) * {} + {}, {}, barrier);", to,
                          operands_[At(input)].scales, input == 0 ? "a" : "b", steps_, chunk,
                          ScaleRows(text_.RowsOf(input)), input == 0 ? "m0" : "n0",
                          (input == 0 ? settings_.tile_m : settings_.tile_n) * 4));
  }

  // What is kept of B, a step after the other, by each block of a cluster for itself.
  void CopyKept() {
    const std::int64_t lines = CopiedLines(1), step = TensorWidth(settings_) * settings_.row_bytes;
    const std::string of_cluster = settings_.cluster > 1 ? fmt::format(" / {}", settings_.cluster) : "";
    out_.Open("");
    out_.Line(
        fmt::format("const {} n0 = blockIdx.x{} % {} * {};", text_.index, of_cluster, tiles_n_, settings_.tile_n));
    out_.Line("const unsigned barrier = SharedAddress(&kept[0]);");
    out_.Line(fmt::format("ExpectBytes(barrier, {});", TensorKeptBytes(settings_)));
    out_.Open(fmt::format("for (int block = 0; block < {}; ++block)", settings_.kept_steps));
    out_.Line(fmt::format("const unsigned to = stages + kStages * kStageBytes + block * {};", step));
    if (conv_) conv_->OpenStage(out_);
    for (std::int64_t share = 0; share < settings_.products * settings_.cluster; ++share) {
      const std::int64_t product = share / settings_.cluster, row = share % settings_.cluster * lines;
      const std::string at = fmt::format("to + {}", share * lines * settings_.row_bytes), map = Right("b_map", product),
                        from = row > 0 ? fmt::format(" + {}", row) : "";
      out_.Line(conv_ ? conv_->Copy(1, at, map, from, 0)
                      : fmt::format("CopyBox({}, &{}, block * {}, n0{}, 0, 0, barrier);", at, map, depth_, from));
    }
    out_.Close();
    out_.Close();
  }

  // Copies of an operand's part of the stage, `at` bytes from where that begins.
  void CopyTile(int input, std::int64_t at, const std::string& map, const std::string& batch, std::int64_t part) {
    const bool shared = input > 0 && settings_.cluster > 1, across = Across(input);
    const std::int64_t lines = CopiedLines(input), rows = input == 0 ? settings_.tile_m : settings_.tile_n;
    const std::string share = shared ? fmt::format(" + member * {}", lines) : "";
    const std::string to = shared ? fmt::format(" + member * {}", lines * settings_.row_bytes) : "";
    if (conv_)
      return out_.Line(
          conv_->Copy(input, fmt::format("to + {}{}", at, to), map, share, shared ? (1 << settings_.cluster) - 1 : 0));
    const std::string row0 = input == 0 ? "m0" : "n0",
                      k0 = fmt::format("{}block * {}", settings_.segments ? "k_begin + " : "", depth_);
    for (std::int64_t box = 0; box < (across ? rows / kBoxRows : 1); ++box) {
      const std::string row = box == 0 ? row0 : fmt::format("{} + {}", row0, box * kBoxRows);
      const std::string where =
          across ? fmt::format("{}, {}{}", row, k0, share) : fmt::format("{}, {}{}", k0, row, share);
      out_.Line(fmt::format("CopyBox{}(to + {}{}, &{}, {}, {}, {}, barrier{});", shared ? "ToAll" : "",
                            at + box * kBoxRows * settings_.row_bytes, to, map, where, batch, part,
                            shared ? fmt::format(", {}", (1 << settings_.cluster) - 1) : ""));
    }
  }

  // The consumers: 64 rows of the tile each.
  void Consume() {
    const std::int64_t width = TensorWidth(settings_), splitters = TensorSplitters(settings_);
    const std::string& index = text_.index;
    out_.Line(fmt::format("TakeRegisters<{}>();", splitters > 0                    ? kBesideSplitters[splitters - 1]
                                                  : TwoSums()                      ? kTwoSumsRegisters
                                                  : TensorConsumers(settings_) > 1 ? kConsumerRegisters
                                                  : width == 256                   ? kAloneConsumerRegisters
                                                                                   : kOneConsumerRegisters));
    OpenTileEnd(out_, settings_);
    if (KeepsB()) out_.Line("WaitFor(SharedAddress(&kept[0]), 0);");
    if (TakesTurns() || settings_.turns) out_.Line("if (warpgroup == 1) GiveTurn(0);");
    if (settings_.turns) out_.Line("int turn = 1;");
    OpenItems();
    if (settings_.turns) PassTheOthers();
    out_.Line(fmt::format("{} d[{}];", SumsAreWhole(settings_) ? "int" : "float", width / 2));
    if (settings_.segments) {  // of which there may be no terms
      out_.Unroll();
      out_.Line(fmt::format("for (int i = 0; i < {}; ++i) d[i] = 0.0f;", width / 2));
    }
    if (promoted_) {
      out_.Line(fmt::format("float sum[{}];", width / 2));
      out_.Unroll();
      out_.Line(fmt::format("for (int i = 0; i < {}; ++i) sum[i] = 0.0f;", width / 2));
    }
    const std::vector<std::string> batches = text_.OpenBatches("batch", -1);
    out_.Line(fmt::format("const {} row0 = m0{} + thread / 32 * 16;", index, RowsBefore()));
    out_.Line("const int column = thread % 4 * 2;");
    if (TwoSums()) return PromoteAhead(batches);
    if (promoted_) {
      out_.Open("for (int step = first_step; step < last_step; ++step)");
      out_.Line(fmt::format("const int begin = step * {0}, end = min(begin + {0}, {1});", blocks_a_step_, blocks_k_));
    } else {
      out_.Line("const int begin = first_step, end = last_step;");
    }
    out_.Line("int before = 0;");
    if (settings_.turns) out_.Line("TakeTurn(warpgroup);");
    out_.Open("for (int block = begin; block < end; ++block)");
    MultiplyStage();
    out_.Close();
    if (promoted_) {
      if (scaled_) ReadScales();
      if (blocks_) ReadScalesOfBlocks("step");
      out_.Line("WaitForProducts<0>();");
      ReleaseStage(out_, settings_, "", "before");
      Promote("d");
      out_.Close();
      const TensorTile tile = Tile("sum", batches);
      BeginTileEnd(tile);
      EmitTileEnd(tile);
    } else {
      if (settings_.turns) {
        // The other waits for what comes into these stages next. Of a barrier whose last phase has not ended yet, it
        // could not tell that from the one before.
        if (end_.stages > 0)
          out_.Line(
              fmt::format("for (int i = 0; i < {}; ++i) WaitFor(SharedAddress(&full[(stage + i) % kStages]), "
                          "phase ^ ((stage + i) / kStages & 1));",
                          end_.stages));
        out_.Line("GiveTurn(1 - warpgroup);");
      }
      const TensorTile tile = Tile("d", batches);
      LeavePart();
      BeginTileEnd(tile);
      out_.Line("WaitForProducts<0>();");
      ReleaseStage(out_, settings_, settings_.segments ? "last_step > 0 && " : "", "before");
      AddParts();
      EmitTileEnd(tile);
    }
    out_.Close();
    CloseTileEnd(out_, settings_);
  }

  // Sums of a stage each, d and e in turn: one is promoted while the tensor cores make the other. So many steps follow
  // one another without a branch, at which the compiler would wait for all that is under way.
  void PromoteAhead(const std::vector<std::string>& batches) {
    constexpr std::string_view kNames[] = {"d", "e"};
    const int in_line = blocks_ ? kScaledInLine : kStepsInLine;
    out_.Line(fmt::format("float e[{}];", TensorWidth(settings_) / 2));
    out_.Line("int step = first_step, of_d, of_e;");  // and stages
    out_.Open(fmt::format("for (; step + {0} <= last_step; step += {0})", in_line));
    BeginSum("d");
    for (int i = 1; i < in_line; ++i) {
      BeginSum(kNames[i % 2]);
      EndSum(kNames[(i + 1) % 2], fmt::format("(step + {})", i - 1), 1);
    }
    EndSum(kNames[(in_line + 1) % 2], fmt::format("(step + {})", in_line - 1), 0);
    out_.Close();
    out_.Open("for (; step < last_step; ++step)");
    BeginSum("d");
    EndSum("d", "step", 0);
    out_.Close();
    const TensorTile tile = Tile("sum", batches);
    BeginTileEnd(tile);
    EmitTileEnd(tile);
    out_.Close();
    CloseTileEnd(out_, settings_);
  }
  void BeginSum(std::string_view sums) {
    out_.Open("");
    OpenStage();
    out_.Line("BeginProducts();");
    MultiplyTile(sums, 0, 0, "i > 0");
    out_.Line("CommitProducts();");
    out_.Line(fmt::format("of_{} = stage;", sums));
    NextStage(out_);
    out_.Close();
  }
  // Of a step whose sums are made, but for those of `left` later ones: its stage is free, and they are promoted.
  void EndSum(std::string_view sums, const std::string& step, int left) {
    out_.Open("");
    if (blocks_) ReadScalesOfBlocks(step);
    out_.Line(fmt::format("WaitForProducts<{}>();", left));
    out_.Line(fmt::format("Settle({});", sums));
    ReleaseStage(out_, settings_, "", fmt::format("of_{}", sums));
    Promote(sums);
    out_.Close();
  }

  TensorTile Tile(const std::string& sums, const std::vector<std::string>& batches) {
    return {.program = program_,
            .kernel = kernel_,
            .out = out_,
            .text = text_,
            .settings = settings_,
            .sums = sums,
            .batches = batches,
            .rows_end = Grouped() ? "m_end" : "",
            .partial = partial_,
            .apart = conv_ ? conv_->phase() : nullptr};
  }

  // A consumer whose turn it is not goes on behind the tile's stages.
  void PassTheOthers() {
    out_.Line("turn ^= 1;");
    out_.Open("if (turn != warpgroup)");
    out_.Line(fmt::format("const int passed = stage + last_step - first_step{};",
                          end_.stages > 0 ? fmt::format(" + {}", end_.stages) : ""));
    out_.Line("stage = passed % kStages;");
    out_.Line("phase ^= passed / kStages & 1;");
    out_.Line("continue;");
    out_.Close();
  }
  // Of the tile, those that are other consumers'.
  std::string RowsBefore() const { return settings_.turns ? "" : " + warpgroup * 64"; }

  // Whether a consumer waits for its products after every stage, because they are promoted then; and whether two of
  // them take turns, which is worth it where a stage has products enough to hide the other's sums.
  bool PromotesEach() const { return promoted_ && blocks_a_step_ == 1; }
  bool TakesTurns() const { return PromotesEach() && TensorConsumers(settings_) == 2 && TensorParts(settings_) == 2; }

  bool TwoSums() const { return settings_.sums == 2; }

  // Waits for it, and says where its operands lie.
  void OpenStage() {
    const std::int64_t parts = TensorParts(settings_);
    out_.Line("WaitFor(SharedAddress(&full[stage]), phase);");
    out_.Line(settings_.turns ? "const unsigned a = stages + stage * kStageBytes;"
                              : fmt::format("const unsigned a = stages + stage * kStageBytes + warpgroup * {};",
                                            64 * settings_.row_bytes));
    out_.Line(KeepsB() ? fmt::format("const unsigned b = stages + kStages * kStageBytes + block * {};", PartBytes(1))
                       : fmt::format("const unsigned b = stages + stage * kStageBytes + {};", parts * PartBytes(0)));
  }

  // Products of parts of both operands, of all K in the stage; `add` says when they add to what is there.
  void MultiplyTile(std::string_view sums, std::int64_t a_part, std::int64_t b_part, const std::string& add) {
    OpenDepth();
    Product(sums, a_part, b_part, add);
    out_.Close();
  }
  void OpenDepth() {
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", conv_ ? conv_->StepsOfStage() : settings_.row_bytes / 32));
  }
  void Product(std::string_view sums, std::int64_t a_part, std::int64_t b_part, const std::string& add) {
    const ProductKind kind = Kind();
    // 16 of K are 32 bytes of each line, or 16 lines.
    const std::string rows = settings_.row_bytes == kTensorRowBytes ? "" : fmt::format("<{}>", settings_.row_bytes);
    const auto descriptor = [&rows](bool across, std::string_view tile, std::int64_t at) {
      return across ? fmt::format("AcrossDescriptor({} + {} + i * 2048)", tile, at)
                    : fmt::format("TileDescriptor{}({} + {} + i * 32)", rows, tile, at);
    };
    out_.Line(fmt::format("{}({}, {}, {}, {});", kind.Name(), sums,
                          descriptor(kind.a_across, "a", a_part * PartBytes(0)),
                          descriptor(kind.b_across, "b", b_part * PartBytes(1)), add));
  }

  void MultiplyStage() {
    const std::int64_t parts = TensorParts(settings_);
    OpenStage();
    if (settings_.segments) ClearWhatIsBehind();
    if (TakesTurns()) out_.Line("TakeTurn(warpgroup);");
    out_.Line("BeginProducts();");
    OpenDepth();
    Product("d", parts - 1, 0, "block > begin || i > 0");
    if (parts == 2) {
      Product("d", 0, 1, "1");
      out_.Close();
      // The other consumer may begin when all but these are done: the tensor cores never wait, nor mix the two.
      if (TakesTurns()) out_.Line("CommitProducts();");
      OpenDepth();
      Product("d", 0, 0, "1");
    }
    out_.Close();
    out_.Line("CommitProducts();");
    if (TakesTurns() || !PromotesEach()) out_.Line("WaitForProducts<1>();");
    if (TakesTurns()) out_.Line("GiveTurn(1 - warpgroup);");
    if (!PromotesEach()) ReleaseStage(out_, settings_, "block > begin && ", "before");
    out_.Line("before = stage;");
    NextStage(out_);
  }

  // What a stage has of other segments' terms: of A in the consumer's own rows, of B in all columns.
  void ClearWhatIsBehind() {
    out_.Open(fmt::format("if (const int left = k_end - k_begin - block * {0}; left < {0})", depth_));
    out_.Line("ClearLines<1>(a, left, thread);");
    out_.Line(fmt::format("ClearLines<{}>(b, left, thread);", TensorWidth(settings_) / kBoxRows));
    out_.Line("PublishLines(warpgroup);");
    out_.Close();
  }

  void ReadScales() {
    const std::int64_t tile_n = settings_.tile_n;
    out_.Line(
        "const float* const scale = reinterpret_cast<const float*>(ring + kStages * kStageBytes + scales * "
        "kScaleBytes);");
    out_.Line("if (++scales == kScales) scales = 0;");
    out_.Line("const float* const rows = scale + warpgroup * 64 + thread / 32 * 16 + thread % 32 / 4;");
    out_.Line("const float upper = rows[0], lower = rows[8];");
    if (TensorSplitters(settings_) == 2) {  // there are no registers for them
      return out_.Line(fmt::format("const float2* const across = reinterpret_cast<const float2*>(scale + {} + column);",
                                   settings_.tile_m));
    }
    out_.Line(fmt::format("float2 across[{}];", tile_n / 8));
    out_.Unroll();
    out_.Line(fmt::format(
        "for (int i = 0; i < {}; ++i) across[i] = *reinterpret_cast<const float2*>(scale + {} + i * 8 + column);",
        tile_n / 8, settings_.tile_m));
  }

  // While the tensor cores multiply: those of the thread's two rows, for columns that share theirs.
  void ReadScalesOfBlocks(const std::string& step) {
    const auto [rows, columns, depth] = BlockOf(kernel_);
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent, spans = settings_.tile_n / ScaleSpan();
    const auto block_of = [](const std::string& place, std::int64_t size, std::int64_t extent) {
      if (size >= extent) return std::string("0");
      return size == 1 ? place : fmt::format("({}) / {}", place, size);
    };
    for (const bool lower : {false, true}) {
      std::string row = fmt::format("row0 + thread % 32 / 4{}", lower ? " + 8" : "");
      if (m % (settings_.tile_m * settings_.cluster) != 0)
        row = fmt::format("min({}, static_cast<{}>({}))", row, text_.index, m - 1);
      const std::string name = lower ? "lower" : "upper";
      out_.Line(fmt::format("const {} {}_row = {};", text_.index, name, block_of(row, rows, m)));
      out_.Line(fmt::format("float {}[{}];", name, spans));
      for (std::int64_t i = 0; i < spans; ++i) {
        std::string column = i == 0 ? "n0" : fmt::format("n0 + {}", i * ScaleSpan());
        if (i > 0 && n % settings_.tile_n != 0)
          column = fmt::format("min({}, static_cast<{}>({}))", column, text_.index, n - 1);
        const std::string scale = text_.ScaleOfBlock(name + "_row", block_of(column, columns, n), step);
        out_.Line(fmt::format("{}[{}] = {};", name, i, scale));
      }
    }
  }
  std::int64_t ScaleSpan() const { return ColumnsOfOneScale(kernel_, text_.shape, settings_.tile_n); }

  void Promote(std::string_view sums) {
    out_.Unroll();
    if (blocks_) {
      out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", settings_.tile_n / 8));
      for (int e = 0; e < 4; ++e)
        out_.Line(fmt::format("sum[i * 4 + {0}] = fmaf({3}[i * 4 + {0}], {1}[i / {2}], sum[i * 4 + {0}]);", e,
                              e < 2 ? "upper" : "lower", ScaleSpan() / 8, sums));
      out_.Close();
      return;
    }
    if (!scaled_) {
      out_.Line(fmt::format("for (int i = 0; i < {}; ++i) sum[i] += {}[i];", TensorWidth(settings_) / 2, sums));
      return;
    }
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", settings_.tile_n / 8));
    const bool in_registers = TensorSplitters(settings_) < 2;
    if (!in_registers) out_.Line("const float2 one = across[i * 4];");
    for (int e = 0; e < 4; ++e) {
      out_.Line(fmt::format("sum[i * 4 + {0}] = fmaf({3}[i * 4 + {0}], {1} * {4}.{2}, sum[i * 4 + {0}]);", e,
                            e < 2 ? "upper" : "lower", e % 2 == 0 ? "x" : "y", sums,
                            in_registers ? "across[i]" : "one"));
    }
    out_.Close();
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  const TensorSettings settings_;
  const ConvProduct* const conv_;
  MatmulText text_;
  const std::int64_t depth_ = settings_.row_bytes / TensorElementBytes(settings_.precision);
  const bool scaled_;
  const bool blocks_ = HasBlocks(kernel_);
  const bool promoted_ = scaled_ || blocks_ || (settings_.precision == TensorPrecision::kF8 && settings_.promote > 0);
  std::int64_t tiles_m_ = 1, tiles_n_ = 1, items_ = 1;        // rows of tiles are counted in clusters
  std::int64_t blocks_at_once_ = 1;                           // likewise
  TailParts tail_;                                            // of items_
  std::int64_t blocks_k_ = 1, blocks_a_step_ = 1;             // a block is what a stage holds of K
  std::int64_t chunk_ = 0;                                    // of K between two promotions, 0 = never
  std::int64_t steps_ = 1, steps_of_split_ = 1, splits_ = 1;  // a step is a chunk, or a stage where nothing is promoted
  std::vector<PackedOperand> operands_;                       // A, then the right ones
  const EndStages end_;
  std::string partial_, left_, left_flags_;
};

}  // namespace

bool ScalesOperands(const Kernel& kernel, TensorPrecision precision) {
  if (HasBlocks(kernel)) return false;
  if (precision != TensorPrecision::kF16) return precision == TensorPrecision::kF32x3;
  bool halves = AllAre(kernel, DType::kF16);
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) halves &= OperandOf(InputOf(kernel, i)) >= 0;
  return !halves;
}

std::int64_t ColumnsOfOneScale(const Kernel& kernel, const MatmulShape& shape, std::int64_t tile_n) {
  const std::int64_t columns = BlockOf(kernel).columns;
  return columns >= shape.n.extent ? tile_n : std::gcd(columns, tile_n);
}

namespace {
// Whether every operand that is multiplied lies so, where none is packed.
template <class Is>
bool AllLie(const Kernel& kernel, TensorPrecision precision, const Is& is) {
  if (ScalesOperands(kernel, precision)) return false;
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  bool all = true;
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) all &= is(LayoutInPlace(kernel, shape, i, precision));
  return all;
}
}  // namespace

std::vector<std::size_t> PackedInputs(const Kernel& kernel, TensorPrecision precision) {
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  std::vector<std::size_t> packed;
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) {
    if (ScalesOperands(kernel, precision) || LayoutInPlace(kernel, shape, i, precision) == OperandLayout::kElsewise)
      packed.push_back(i);
  }
  return packed;
}

bool MultipliesInPlace(const Kernel& kernel, TensorPrecision precision) {
  return PackedInputs(kernel, precision).empty();
}

bool LieAlongK(const Kernel& kernel, TensorPrecision precision) {
  return AllLie(kernel, precision, [](OperandLayout lies) { return lies == OperandLayout::kAlongK; });
}

bool LieAcrossK(const Kernel& kernel) {
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  const DType type = AllAre(kernel, DType::kBF16) ? DType::kBF16 : DType::kF16;
  bool across = true;
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i)
    across &= LayoutOf(kernel, shape, i, type) == OperandLayout::kAcrossK;
  return across;
}

bool RightOnesLieAlike(const Kernel& kernel, TensorPrecision precision) {
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  bool alike = true;
  for (std::size_t i = 2; i < 1 + ProductsOf(kernel); ++i) {
    alike &= LayoutInPlace(kernel, shape, i, precision) == LayoutInPlace(kernel, shape, 1, precision);
  }
  return alike;
}

void EmitMatmulTensor(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out,
                      const TensorSettings& settings, const ConvProduct* conv) {
  TensorEmitter(program, kernel, out, settings, conv).Emit();
}

}  // namespace hone::dsl
