// As matmul_reduce_stream.cc, but columns come by the copy engine: each warp keeps a ring of stages in shared memory
// full, a slice of sixteen columns in each. So far more of them is on its way than registers hold, and those may have
// room for the rows that stay. A stage is one copy where it can be: columns that lie side by side and are not sliced as
// they lie, others as a box of a tensor map. Where a mask hides some, or their batches do not lie at one distance, each
// column is a copy of its own, and what is hidden is not copied.
//
//   slice   elements of each column that a stage has
//   warps   of the block that a multiprocessor has
//   stages  of a warp, a slice of sixteen columns each
//   split   parts of the columns of a batch for warps of their own, whose values a second kernel folds
//   tasks   how parts come to warps: dealt, every so manieth; drawn, the next one when one is done
#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.h"
#include "dsl/cuda/attention_parts.h"
#include "dsl/cuda/product_fold.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kTensorCoreText;  // dsl/cuda/tensor_core.cuh
}

namespace hone::dsl::cuda_way_matmul_reduce_ring {
namespace {

constexpr std::int64_t kMostSlice = 512;       // of K
constexpr std::int64_t kMostInRegisters = 16;  // pieces of 16 bytes of the rows that stay
constexpr std::int64_t kSwizzle = 1024;        // bytes after which the copy engine's swizzle repeats itself

// The most elements of K that are a part of it and no more than `most`.
std::int64_t SliceOf(const Kernel& kernel, std::int64_t most) {
  const std::int64_t depth = FoldExtent(kernel, kFoldK);
  if (depth <= most) return depth;
  std::int64_t slice = most;
  while (depth % slice != 0) slice -= kFoldBlock;
  return slice;
}
std::int64_t StageBytes(std::int64_t slice) { return kFoldColumns * slice * 2; }
// What a ring may have, beside the rows that stay, the barriers and what aligns it.
std::int64_t RingBytes(const Kernel& kernel) {
  constexpr std::int64_t kBeside = 4 << 10;
  return kernel.device->limits.block_shared_bytes - KeptBytes(kernel, kFoldBlock) - kBeside;
}
std::int64_t MostStages(const Kernel& kernel, std::int64_t warps, std::int64_t slice) {
  return std::min<std::int64_t>(RingBytes(kernel) / (warps * StageBytes(slice)), 16);
}

// How a stage's columns come.
enum class Copies : std::uint8_t { kAsTheyLie, kBox, kEach };

// Columns as a tensor [K / line, batches, N, line], of which a stage is a box. In shared memory lines of 128 bytes lie
// one below the other, swizzled, or else lines of 64 bytes.
struct BoxedColumns {
  std::int64_t batches = 1, batch_stride = 0, stride = 0;
};
std::optional<BoxedColumns> BoxedColumnsOf(const Kernel& kernel) {
  const KernelOperand& columns = InputOperand(kernel, 1);
  const std::size_t rank = kernel.space.size();
  const std::int64_t depth = FoldExtent(kernel, kFoldK);
  // Of what there is one the stride is of no account, but has to be one.
  BoxedColumns boxed{.batch_stride = depth, .stride = depth};
  if (FoldExtent(kernel, kFoldN) > 1) boxed.stride = columns.strides[rank - kFoldN];
  bool shared = true;  // all batches have the same columns
  for (std::size_t d = rank - kFoldM; d-- > 0;) {
    const std::int64_t extent = kernel.space[d].extent;
    if (extent == 1) continue;
    shared &= columns.strides[d] == 0;
    if (boxed.batches == 1) {
      boxed.batch_stride = columns.strides[d];
    } else if (columns.strides[d] != boxed.batch_stride * boxed.batches) {
      return std::nullopt;
    }
    boxed.batches *= extent;
  }
  if (shared) boxed = {.batches = 1, .batch_stride = depth, .stride = boxed.stride};
  if (boxed.stride <= 0 || boxed.batch_stride <= 0) return std::nullopt;
  return boxed;
}

Copies CopiesOf(const Kernel& kernel, std::int64_t slice) {
  if (ColumnMaskOf(kernel)) return Copies::kEach;
  const std::int64_t depth = FoldExtent(kernel, kFoldK), columns = FoldExtent(kernel, kFoldN);
  const std::int64_t stride = InputOperand(kernel, 1).strides[kernel.space.size() - kFoldN];
  if (slice == depth && (columns == 1 || stride == depth)) return Copies::kAsTheyLie;
  return BoxedColumnsOf(kernel) ? Copies::kBox : Copies::kEach;
}
std::int64_t LineOf(std::int64_t slice) { return slice % 64 == 0 ? 64 : 32; }  // elements

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto lacks = Lacks(*kernel.device, {.tensor_maps = true})) return lacks;
  if (auto why = WhyNoProductFold(kernel)) return why;
  const std::int64_t depth = FoldExtent(kernel, kFoldK);
  if (depth % kFoldBlock != 0)
    return fmt::format("K is {}, and it multiplies {} elements at a time", depth, kFoldBlock);
  if (MostStages(kernel, 4, SliceOf(kernel, 128)) < 2)
    return fmt::format("beside rows of {} elements two stages of four warps do not fit into shared memory", depth);
  return std::nullopt;
}

// On an H200, 100000 x 128 columns: 766 us, by registers 800; half of 50000 x 128 hidden: 283 us at best, and 258.
std::optional<double> Cost(const Kernel& kernel) { return ColumnMaskOf(kernel) ? 1.1 : 0.95; }

// --- Settings.

std::int64_t MostStages(const Kernel& kernel, std::int64_t warps) {
  return MostStages(kernel, warps, IntSetting(kernel, "slice"));
}

// A copy of its own for each column is worth as much of it as there is; but where a mask decides how many there are, a
// warp that looks at it wants stages ahead.
std::vector<Setting> SliceValues(const Kernel& kernel) {
  std::vector<Setting> values;
  const std::int64_t best = ColumnMaskOf(kernel) ? 128 : 256;
  for (const std::int64_t warps : {8, 4}) {
    for (const std::int64_t most : {best, std::int64_t{128}, std::int64_t{256}, std::int64_t{384}}) {
      const Setting value = Whole(SliceOf(kernel, most));
      if (MostStages(kernel, warps, std::get<std::int64_t>(value.value)) < 2) continue;
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  }
  return values;
}
std::optional<std::string> CheckSlice(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, kFoldBlock, kMostSlice)) return why;
  const auto slice = std::get<std::int64_t>(value.value);
  if (slice % kFoldBlock != 0 || FoldExtent(kernel, kFoldK) % slice != 0)
    return fmt::format("it is a multiple of {} that divides K, which is {}; try {}", kFoldBlock,
                       FoldExtent(kernel, kFoldK), SliceOf(kernel, 128));
  return std::nullopt;
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

// Multiprocessors do not get at memory equally fast. A warp that copies ahead has to be in the task that it is at or in
// the next one.
std::optional<std::string> WhyNotDrawn(const Kernel& kernel) {
  const FoldTasks tasks = FoldTasksOf(kernel, IntSetting(kernel, "slice"));
  if (tasks.tasks <= tasks.warps) return fmt::format("there is no more than a task for each of {} warps", tasks.warps);
  if (tasks.least_steps <= IntSetting(kernel, "stages"))
    return fmt::format("of a task's {} steps not all may be ahead; try fewer stages", tasks.least_steps);
  return std::nullopt;
}
std::vector<Setting> TasksValues(const Kernel& kernel) {
  if (WhyNotDrawn(kernel)) return {Word("dealt")};
  return {Word("drawn"), Word("dealt")};
}
std::optional<std::string> CheckTasks(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {"dealt", "drawn"})) return why;
  return value == Word("drawn") ? WhyNotDrawn(kernel) : std::nullopt;
}

constexpr Knob kKnobs[] = {
    {"slice", "elements of each column that a stage has", SliceValues, CheckSlice},
    {"warps", "of the block that a multiprocessor has", WarpsValues, CheckWarps},
    {"split", kFoldSplitDoc, SplitValues, CheckSplit},
    {"stages", "of a warp in shared memory, a slice of sixteen columns each", StagesValues, CheckStages},
    {"tasks", "how parts come to warps: dealt, every so manieth; drawn, the next one when one is done", TasksValues,
     CheckTasks},
};

// --- Text.

class RingEmitter : ProductFold {
 public:
  RingEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : ProductFold(program, kernel, out, IntSetting(kernel, "slice")),
        stages_(IntSetting(kernel, "stages")),
        copies_(CopiesOf(kernel, slice_)) {}

  void Emit() {
    const bool drawn = WordSetting(kernel_, "tasks") == "drawn";
    const std::string_view further = drawn ? "ahead = after(ahead, true);" : "ahead = after(ahead);";
    Begin();
    out_.Define(std::string(kTensorCoreText));
    out_.BeginKernel("ring", 32 * warps_, 1);
    const std::int64_t kept = RoundUp(KeptBytes(kernel_, kFoldBlock), copies_ == Copies::kBox ? kSwizzle : 16);
    if (copies_ == Copies::kBox) {
      out_.Line("extern __shared__ __align__(128) unsigned char shared[];");
      out_.Line(fmt::format("uint4* const kept = reinterpret_cast<uint4*>(shared + (-SharedAddress(shared) & {}));",
                            kSwizzle - 1));
    } else {
      out_.Line("extern __shared__ __align__(128) uint4 kept[];");
    }
    out_.Line(fmt::format("__shared__ __align__(8) unsigned long full[{}];", warps_ * stages_));
    if (mask_) out_.Line(fmt::format("__shared__ unsigned counted[{}];", warps_ * stages_));
    // With lines of 128 bytes the eight threads that read shared memory at a time have two columns, whose pieces are in
    // other banks where the columns' numbers differ in their third bit.
    OpenLane(copies_ == Copies::kBox && LineOf(slice_) == 64 ? "lane / 16 | lane / 8 % 2 * 2 | lane / 4 % 2 * 4"
                                                             : "lane / 4");
    // The first columns are on their way while the rows are brought, where registers do for both.
    if (mask_) {
      out_.Line(fmt::format("for (int i = threadIdx.x; i < {}; i += {})", warps_ * stages_, 32 * warps_));
      out_.Line("  InitBarrier(SharedAddress(&full[i]), 1);");
      out_.Line("PublishBarriers();");
      KeepRows();
      KeepInRegisters();
    }
    const std::int64_t stage = StageBytes(slice_) / 16;  // in pieces of 16 bytes
    out_.Line(fmt::format("const int warp = threadIdx.x / 32, first_stage = warp * {};", stages_));
    out_.Line(fmt::format("uint4* const ring = kept + {} + first_stage * {};", kept / 16, stage));
    After(drawn);
    Copy(stage);
    if (mask_) {
      Fold();
    } else {
      out_.Open("if (lane == 0)");
      out_.Line(
          fmt::format("for (int i = 0; i < {}; ++i) InitBarrier(SharedAddress(&full[first_stage + i]), 1);", stages_));
      out_.Line("PublishBarriers();");
      out_.Close();
      out_.Line("__syncwarp();");
    }
    out_.Line(fmt::format("StreamStep step = {{blockIdx.x * {}l + warp, 0, 0}};", warps_));
    out_.Line(fmt::format("step.sixteen = {};", BeginOf("step.task")));
    out_.Line("StreamStep ahead = step;");
    out_.Open(fmt::format("for (int stage = 0; stage < {}; ++stage)", stages_));
    out_.Line("copy(ahead, stage);");
    out_.Line(further);
    out_.Close();
    if (!mask_) {
      KeepRows();
      KeepInRegisters();
      Fold();
    }
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
    out_.Line(further);
    out_.Line("fold(step, rows);");
    out_.Line(drawn ? "step = after(step, false);" : "step = after(step);");
    out_.Open(fmt::format("if (++stage == {})", stages_));
    out_.Line("stage = 0;");
    out_.Line("phase ^= 1;");
    out_.Close();
    out_.Close();
    const std::int64_t ring = kept + warps_ * stages_ * StageBytes(slice_);
    if (copies_ == Copies::kBox) {
      Launch(ring + kSwizzle, Map());
    } else {
      Launch(ring);
    }
  }

 private:
  // Of a single slice, the rows that stay, where registers have room for them.
  void KeepInRegisters() {
    const std::int64_t pieces = tiles_ * (depth_ / kFoldBlock);
    in_registers_ = slices_ == 1 && pieces <= kMostInRegisters;
    if (!in_registers_) return;
    out_.Line(fmt::format("uint4 own[{}];", pieces));
    out_.Unroll();
    out_.Line(fmt::format("for (int i = 0; i < {}; ++i) own[i] = kept[i * 32 + lane];", pieces));
  }

  // The function `copy` that begins to fill a stage with a step's columns.
  void Copy(std::int64_t stage) {
    const bool each = copies_ == Copies::kEach;
    out_.Open("const auto copy = [&](const StreamStep& step, int stage)");
    out_.Line(fmt::format("if (step.task >= {}{}) return;", tasks_, each ? "" : " || lane != 0"));
    out_.Line("const unsigned barrier = SharedAddress(&full[first_stage + stage]);");
    out_.Line(fmt::format("const unsigned to = SharedAddress(ring + stage * {});", stage));
    if (copies_ == Copies::kBox) {
      CopyBoxed();
    } else if (each) {
      CopyEach();
    } else {
      CopyAsTheyLie();
    }
    out_.CloseWith(";");
  }

  // What lies beyond the last column is zeros, and counts as bytes that came.
  void CopyBoxed() {
    const std::string batch = BoxedColumnsOf(kernel_)->batches == 1 ? "0"
                              : splits_ == 1                        ? "static_cast<int>(step.task)"
                                             : fmt::format("static_cast<int>(step.task / {})", splits_);
    out_.Line(fmt::format("ExpectBytes(barrier, {});", StageBytes(slice_)));
    out_.Line(fmt::format("CopyBox(to, &columns_map, 0, step.sixteen * 16, {}, step.slice * {}, barrier);", batch,
                          slice_ / LineOf(slice_)));
  }
  TensorMapArgument Map() const {
    const KernelOperand& columns = InputOperand(kernel_, 1);
    const BoxedColumns boxed = *BoxedColumnsOf(kernel_);
    const std::int64_t line = LineOf(slice_);
    return {.buffer = program_.buffers[static_cast<std::size_t>(columns.buffer)].name,
            .offset = columns.offset,
            .shape = {depth_ / line, boxed.batches, columns_, line},
            .strides = {line, boxed.batch_stride, boxed.stride, 1},
            .box = {slice_ / line, 1, kFoldColumns, line},
            .swizzle = line == 64 ? 128 : 0,
            .promote = 128};
  }

  void CopyAsTheyLie() {
    std::vector<std::string> places = Places("n", "0");
    out_.Line("const int n = step.sixteen * 16;");
    out_.Line(fmt::format("const unsigned bytes = {} * {};",
                          columns_ % kFoldColumns == 0 ? "16" : fmt::format("min(16, {} - n)", columns_), 2 * depth_));
    out_.Line("ExpectBytes(barrier, bytes);");
    out_.Line(fmt::format("CopyBytes(to, {}, bytes, barrier);", AttentionPointer(out_, kernel_, 1, places)));
  }

  void CopyEach() {
    const std::vector<std::string> places = Places("n", slices_ == 1 ? "0" : fmt::format("(step.slice * {})", slice_));
    out_.Line("const int n = step.sixteen * 16 + lane;");
    out_.Line(fmt::format("bool counts = lane < 16{};",
                          columns_ % kFoldColumns == 0 ? "" : fmt::format(" && n < {}", columns_)));
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
    out_.Line(fmt::format("if (counts) CopyBytes(to + lane * {0}, {1}, {0}, barrier);", 2 * slice_,
                          AttentionPointer(out_, kernel_, 1, places)));
  }

  // Where column `n` of a step's batch begins, or its `k`-th element.
  std::vector<std::string> Places(const std::string& n, const std::string& k) {
    std::vector<std::string> places = Batch();
    places.resize(kernel_.space.size(), "0");
    places[places.size() - kFoldN] = n;
    places[places.size() - kFoldK] = k;
    return places;
  }

  // sums += what is in the stage times the rows that stay.
  void Multiply(std::int64_t stage) {
    const std::int64_t blocks = slice_ / kFoldBlock, row = slice_ / 8;  // in pieces of 16 bytes
    out_.Line(fmt::format("StreamedRows<{}> columns;", blocks));
    if (copies_ == Copies::kBox) {
      out_.Line(fmt::format("TakeBox<{}>(columns, ring + stage * {}, g, t);", LineOf(slice_) / 8, stage));
    } else {
      out_.Line(fmt::format("const uint4* const from = ring + stage * {} + g * {} + t;", stage, row));
      out_.Line(fmt::format("TakeRows(columns, from, from + {});", 8 * row));
    }
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
  Copies copies_;
  bool in_registers_ = false;
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  RingEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul_reduce",
    .name = "ring",
    .doc = "few rows of 16-bit numbers, columns by the bulk copy engine",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_matmul_reduce_ring
