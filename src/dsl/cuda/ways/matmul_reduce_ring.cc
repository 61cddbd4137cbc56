// As matmul_reduce_stream.cc, but columns come by the bulk copy engine: each warp keeps a ring of stages in shared
// memory full, a slice of sixteen columns in each. So far more of them is on its way than registers hold, and those may
// have room for the rows that stay. Columns that lie side by side and are not sliced are one copy, others one each;
// what a mask hides is not copied.
//
//   warps   of the block that a multiprocessor has
//   stages  of a warp, a slice of sixteen columns each
//   split   parts of the columns of a batch for warps of their own, whose values a second kernel folds
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/attention_parts.h"
#include "dsl/cuda/product_fold.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kTensorCoreText;  // dsl/cuda/tensor_core.cuh
}

namespace hone::dsl::cuda_way_matmul_reduce_ring {
namespace {

constexpr std::int64_t kMostSlice = 128;       // of K
constexpr std::int64_t kMostInRegisters = 16;  // pieces of 16 bytes of the rows that stay

// Elements of K that a stage has: all, or as many as divide it.
std::int64_t SliceOf(const Kernel& kernel) {
  const std::int64_t depth = FoldExtent(kernel, kFoldK);
  if (depth <= kMostSlice) return depth;
  std::int64_t slice = kMostSlice;
  while (depth % slice != 0) slice -= kFoldBlock;
  return slice;
}
std::int64_t StageBytes(const Kernel& kernel) { return kFoldColumns * SliceOf(kernel) * 2; }
// What a ring may have, beside the rows that stay and the barriers.
std::int64_t RingBytes(const Kernel& kernel) {
  constexpr std::int64_t kBarriers = 2 << 10;
  return kernel.device->limits.block_shared_bytes - KeptBytes(kernel, kFoldBlock) - kBarriers;
}

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto lacks = Lacks(*kernel.device, {.tensor_maps = true})) return lacks;
  if (auto why = WhyNoProductFold(kernel)) return why;
  const std::int64_t depth = FoldExtent(kernel, kFoldK);
  if (depth % kFoldBlock != 0)
    return fmt::format("K is {}, and it multiplies {} elements at a time", depth, kFoldBlock);
  if (2 * 4 * StageBytes(kernel) > RingBytes(kernel))
    return fmt::format("beside rows of {} elements two stages of four warps do not fit into shared memory", depth);
  return std::nullopt;
}

// On an H200, 100000 x 128 columns: 766 us, by registers 800; half of 50000 x 128 hidden: 283 us at best, and 258.
std::optional<double> Cost(const Kernel& kernel) { return ColumnMaskOf(kernel) ? 1.1 : 0.95; }

// --- Settings.

std::int64_t MostStages(const Kernel& kernel, std::int64_t warps) {
  return std::min<std::int64_t>(RingBytes(kernel) / (warps * StageBytes(kernel)), 16);
}

std::vector<Setting> WarpsValues(const Kernel& kernel) {
  std::vector<Setting> values;
  for (const std::int64_t warps : {8, 12, 4}) {
    if (MostStages(kernel, warps) >= 2) values.push_back(Whole(warps));
  }
  return values;
}
std::optional<std::string> CheckWarps(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 16)) return why;
  if (MostStages(kernel, std::get<std::int64_t>(value.value)) < 1)
    return "a stage for each does not fit into shared memory; try 4";
  return std::nullopt;
}

std::vector<Setting> SplitValues(const Kernel& kernel) { return FoldSplits(kernel, IntSetting(kernel, "warps")); }
std::optional<std::string> CheckSplit(const Kernel&, const Setting& value) { return CheckRange(value, 1, 1 << 20); }

std::vector<Setting> StagesValues(const Kernel& kernel) {
  const std::int64_t most = std::min<std::int64_t>(MostStages(kernel, IntSetting(kernel, "warps")), 6);
  std::vector<Setting> values = {Whole(most)};
  for (const std::int64_t fewer : {most - 1, most - 2}) {
    if (fewer >= 2) values.push_back(Whole(fewer));
  }
  return values;
}
std::optional<std::string> CheckStages(const Kernel& kernel, const Setting& value) {
  return CheckRange(value, 1, MostStages(kernel, IntSetting(kernel, "warps")));
}

constexpr Knob kKnobs[] = {
    {"warps", "of the block that a multiprocessor has", WarpsValues, CheckWarps},
    {"split", kFoldSplitDoc, SplitValues, CheckSplit},
    {"stages", "of a warp in shared memory, a slice of sixteen columns each", StagesValues, CheckStages},
};

// --- Text.

class RingEmitter : ProductFold {
 public:
  RingEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : ProductFold(program, kernel, out, SliceOf(kernel)), stages_(IntSetting(kernel, "stages")) {}

  void Emit() {
    Begin();
    out_.Define(std::string(kTensorCoreText));
    out_.BeginKernel("ring", 32 * warps_, 1);
    out_.Line("extern __shared__ __align__(128) uint4 kept[];");
    out_.Line(fmt::format("__shared__ __align__(8) unsigned long full[{}];", warps_ * stages_));
    out_.Line(fmt::format("for (int i = threadIdx.x; i < {}; i += {})", warps_ * stages_, 32 * warps_));
    out_.Line("  InitBarrier(SharedAddress(&full[i]), 1);");
    out_.Line("PublishBarriers();");
    if (mask_) out_.Line(fmt::format("__shared__ unsigned counted[{}];", warps_ * stages_));
    KeepRows();
    const std::int64_t pieces = tiles_ * (depth_ / kFoldBlock);
    in_registers_ = slices_ == 1 && pieces <= kMostInRegisters;
    if (in_registers_) {
      out_.Line(fmt::format("uint4 own[{}];", pieces));
      out_.Unroll();
      out_.Line(fmt::format("for (int i = 0; i < {}; ++i) own[i] = kept[i * 32 + lane];", pieces));
    }
    const std::int64_t stage = StageBytes(kernel_) / 16;  // in pieces of 16 bytes
    out_.Line(fmt::format("const int warp = threadIdx.x / 32, first_stage = warp * {};", stages_));
    out_.Line(fmt::format("uint4* const ring = kept + {} + first_stage * {};", pieces * 32, stage));
    After();
    Copy(stage);
    Fold();
    out_.Line(fmt::format("StreamStep step = {{blockIdx.x * {}l + warp, 0, 0}};", warps_));
    out_.Line(fmt::format("step.sixteen = {};", BeginOf("step.task")));
    out_.Line("StreamStep ahead = step;");
    out_.Open(fmt::format("for (int stage = 0; stage < {}; ++stage)", stages_));
    out_.Line("copy(ahead, stage);");
    out_.Line("ahead = after(ahead);");
    out_.Close();
    out_.Line("int stage = 0;");
    out_.Line("unsigned phase = 0;");
    out_.Open(fmt::format("while (step.task < {})", tasks_));
    out_.Line("WaitFor(SharedAddress(&full[first_stage + stage]), phase);");
    if (mask_) {
      out_.Line("const unsigned which = counted[first_stage + stage];");
      out_.Line("const WhichRows rows = {{(which >> g & 1) != 0, (which >> (g + 8) & 1) != 0}, which != 0};");
      out_.Open("if (rows.wanted)");
    } else {
      out_.Line("const WhichRows rows = {{true, true}, true};");
    }
    if (slices_ > 1) out_.Open("if (step.slice == 0)");
    Clear("sums", "0");
    if (slices_ > 1) out_.Close();
    Multiply(stage);
    if (mask_) out_.Close();
    out_.Line("__syncwarp();");
    out_.Line("copy(ahead, stage);");
    out_.Line("ahead = after(ahead);");
    out_.Line("fold(step, rows);");
    out_.Line("step = after(step);");
    out_.Open(fmt::format("if (++stage == {})", stages_));
    out_.Line("stage = 0;");
    out_.Line("phase ^= 1;");
    out_.Close();
    out_.Close();
    Launch(KeptBytes(kernel_, kFoldBlock) + warps_ * stages_ * StageBytes(kernel_));
  }

 private:
  // The function `copy` that begins to fill a stage with a step's columns.
  void Copy(std::int64_t stage) {
    const std::int64_t stride = InputOperand(kernel_, 1).strides[kernel_.space.size() - kFoldN];
    const bool at_once = slices_ == 1 && stride == depth_ && !mask_;
    const std::string inside = columns_ % kFoldColumns == 0 ? "" : fmt::format("n < {}", columns_);
    out_.Open("const auto copy = [&](const StreamStep& step, int stage)");
    out_.Line(fmt::format("if (step.task >= {}{}) return;", tasks_, at_once ? " || lane != 0" : ""));
    std::vector<std::string> places = Batch();
    places.resize(kernel_.space.size(), "0");
    out_.Line("const unsigned barrier = SharedAddress(&full[first_stage + stage]);");
    if (at_once) {
      out_.Line("const int n = step.sixteen * 16;");
      out_.Line(fmt::format("const unsigned bytes = {} * {};",
                            inside.empty() ? "16" : fmt::format("min(16, {} - n)", columns_), 2 * depth_));
      out_.Line("ExpectBytes(barrier, bytes);");
    } else {
      out_.Line("const int n = step.sixteen * 16 + lane;");
      out_.Line(fmt::format("bool counts = lane < 16{}{};", inside.empty() ? "" : " && ", inside));
      places[places.size() - kFoldN] = "n";
      if (mask_) {
        out_.Open("if (counts)");
        const std::string text = AttentionText(out_, kernel_, mask_->condition, places, "long");
        out_.Line(fmt::format("counts = {}({});", mask_->counts ? "" : "!", text));
        out_.Close();
      }
      out_.Line("const unsigned which = __ballot_sync(~0u, counts);");
      out_.Open("if (lane == 0)");
      out_.Line(fmt::format("ExpectBytes(barrier, __popc(which) * {});", 2 * slice_));
      if (mask_) out_.Line("counted[first_stage + stage] = which;");
      out_.Close();
      out_.Line("__syncwarp();");
      places[places.size() - kFoldK] = slices_ == 1 ? "0" : fmt::format("(step.slice * {})", slice_);
    }
    places[places.size() - kFoldN] = "n";
    out_.Line(fmt::format("{}CopyBytes(SharedAddress(ring + stage * {}{}), {}, {}, barrier);",
                          at_once ? "" : "if (counts) ", stage, at_once ? "" : fmt::format(" + lane * {}", slice_ / 8),
                          AttentionPointer(out_, kernel_, 1, places),
                          at_once ? "bytes" : fmt::format("{}", 2 * slice_)));
    out_.CloseWith(";");
  }

  // sums += what is in the stage times the rows that stay.
  void Multiply(std::int64_t stage) {
    const std::int64_t blocks = slice_ / kFoldBlock, row = slice_ / 8;  // in pieces of 16 bytes
    out_.Line(fmt::format("StreamedRows<{}> columns;", blocks));
    out_.Line(fmt::format("const uint4* const from = ring + stage * {} + g * {} + t;", stage, row));
    out_.Line(fmt::format("TakeRows(columns, from, from + {});", 8 * row));
    out_.Line(in_registers_ ? fmt::format("MultiplyRows<{}, 1>(sums, columns, own);", type_)
                            : fmt::format("MultiplyRows<{}, 32>(sums, columns, kept + step.slice * {} + lane);", type_,
                                          blocks * tiles_ * 32));
  }

  // The function `fold` that folds the products of a step, and ends a task.
  void Fold() {
    out_.Open("const auto fold = [&](const StreamStep& step, const WhichRows& rows)");
    if (slices_ > 1) out_.Line(fmt::format("if (step.slice + 1 < {}) return;", slices_));
    const std::vector<std::string> batches = Batch();
    FoldScores(batches);
    EndTask(batches);
    out_.CloseWith(";");
  }

  std::int64_t stages_;
  bool in_registers_ = false;
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  if (ElementCount(kernel.result) != 0) RingEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul_reduce",
    .name = "ring",
    .doc = "the same, columns by the bulk copy engine",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_matmul_reduce_ring
