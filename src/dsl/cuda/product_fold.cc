#include "dsl/cuda/product_fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/rounding.h"
#include "dsl/cuda/attention_parts.h"
#include "dsl/cuda/expr.h"
#include "dsl/knobs.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/shape/loops.h"
#include "dsl/shape/matmul_shape.h"
#include "dsl/shape/reduction.h"

namespace hone {
extern const std::string_view kMmaText;            // dsl/cuda/mma.cuh
extern const std::string_view kProductStreamText;  // dsl/cuda/product_stream.cuh
}  // namespace hone

namespace hone::dsl {
namespace {

constexpr std::int64_t kMostRows = 64;

std::int64_t Sixteens(const Kernel& kernel) { return CeilDiv(FoldExtent(kernel, kFoldN), kFoldColumns); }

}  // namespace

std::int64_t FoldBatches(const Kernel& kernel) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d + kFoldM < kernel.space.size(); ++d) count *= kernel.space[d].extent;
  return count;
}
std::int64_t FoldTiles(const Kernel& kernel) { return CeilDiv(FoldExtent(kernel, kFoldM), 8); }
std::int64_t KeptBytes(const Kernel& kernel, std::int64_t depth) {
  return FoldTiles(kernel) * 8 * CeilDiv(FoldExtent(kernel, kFoldK), depth) * depth * 2;
}

std::optional<std::string> WhyNoProductFold(const Kernel& kernel) {
  if (kernel.variant == "logsumexp" || FindsPlace(kernel)) return "it folds by sum, max and min alone";
  if (ColumnsOfGroup(kernel) > 0) return "it folds whole rows, and these are folded in groups";
  for (std::size_t input = 0; input < 2; ++input) {
    if (kernel.inputs[input]->kind != Expr::Kind::kLoad)
      return "it reads both operands where they lie, and one is an expression";
    const DType type = InputType(kernel, input);
    if (!IsHalf(type) || type != InputType(kernel, 0)) return "it is for operands that are both f16, or both bf16";
  }
  if (kernel.compute != DType::kF32) return "the product is computed in f64, which halves cannot make";
  if (FoldExtent(kernel, kFoldM) > kMostRows)
    return fmt::format("it holds all {} rows at once, {} are possible", FoldExtent(kernel, kFoldM), kMostRows);
  if (FoldExtent(kernel, kFoldK) % 8 != 0 || FoldExtent(kernel, kFoldK) == 0)
    return fmt::format("K is {}, and it reads 8 elements at a time", FoldExtent(kernel, kFoldK));
  const KernelOperand &rows = InputOperand(kernel, 0), &columns = InputOperand(kernel, 1);
  const std::size_t rank = kernel.space.size();
  bool aligned = true;
  for (const auto& [operand, along] : {std::pair{&rows, rank - kFoldM}, std::pair{&columns, rank - kFoldN}}) {
    aligned &=
        operand->offset % 8 == 0 && (kernel.space[rank - kFoldK].extent == 1 || operand->strides[rank - kFoldK] == 1);
    for (std::size_t d = 0; d + kFoldK < rank; ++d) {
      if (d + kFoldM < rank || d == along) aligned &= kernel.space[d].extent == 1 || operand->strides[d] % 8 == 0;
    }
  }
  if (!aligned) return "it reads 16 bytes at a time along K, and an operand does not lie so";
  for (std::size_t d = 0; d + kFoldM < rank; ++d) {
    if (kernel.space[d].extent > 1 && rows.strides[d] != 0) return "the rows that stay are others in each batch";
  }
  if (KeptBytes(kernel, kFoldBlock) > kernel.device->limits.block_shared_bytes)
    return fmt::format("{} rows of {} elements do not fit into shared memory", FoldExtent(kernel, kFoldM),
                       FoldExtent(kernel, kFoldK));
  return std::nullopt;
}

std::optional<ColumnMask> ColumnMaskOf(const Kernel& kernel) {
  const Expr score = AttentionScoreOf(kernel);
  if (kernel.variant == "sum" || score->kind != Expr::Kind::kSelect) return std::nullopt;
  const double nothing = kernel.variant == "max" ? -INFINITY : INFINITY;
  const auto is_nothing = [&](const Expr& e) { return ConstantNumber(e) == nothing; };
  const bool counts = is_nothing(score->operands[2]);
  ColumnMask mask{score->operands[0], counts, score->operands[counts ? 1 : 2]};
  if (!mask.counts && !is_nothing(score->operands[1])) return std::nullopt;
  bool of_column = true;
  const std::size_t row = kernel.space.size() - kFoldM;
  Visit(mask.condition, [&](const ExprNode& node) {
    of_column &= node.kind != Expr::Kind::kValue && node.kind != Expr::Kind::kReduce;
    if (node.kind == Expr::Kind::kLoad)
      of_column &=
          kernel.space[row].extent == 1 || kernel.operands[static_cast<std::size_t>(node.buffer)].strides[row] == 0;
  });
  return of_column ? std::optional(mask) : std::nullopt;
}

std::vector<Setting> FoldSplits(const Kernel& kernel, std::int64_t warps) {
  const std::int64_t all = warps * kernel.device->multiprocessors, most = Sixteens(kernel);
  const std::int64_t best = std::clamp<std::int64_t>(all / std::max<std::int64_t>(FoldBatches(kernel), 1), 1, most);
  std::vector<Setting> values = {Whole(best)};
  for (const std::int64_t other : {best * 2, best / 2}) {
    if (other >= 1 && other <= most && other != best) values.push_back(Whole(other));
  }
  return values;
}

namespace {

// Sixteens of a part of a batch's columns, but for the last, and how many parts there are.
struct Parts {
  std::int64_t sixteens, count;
};
Parts PartsOf(const Kernel& kernel) {
  const std::int64_t all = Sixteens(kernel);
  const std::int64_t part = CeilDiv(all, std::clamp<std::int64_t>(IntSetting(kernel, "split"), 1, all));
  return {part, CeilDiv(all, part)};
}

}  // namespace

FoldTasks FoldTasksOf(const Kernel& kernel, std::int64_t slice) {
  const Parts parts = PartsOf(kernel);
  const std::int64_t last = Sixteens(kernel) - (parts.count - 1) * parts.sixteens;
  return {.tasks = FoldBatches(kernel) * parts.count,
          .warps = IntSetting(kernel, "warps") * kernel.device->multiprocessors,
          .least_steps = last * CeilDiv(FoldExtent(kernel, kFoldK), slice)};
}

ProductFold::ProductFold(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, std::int64_t slice)
    : program_(program),
      kernel_(kernel),
      out_(out),
      rows_(FoldExtent(kernel, kFoldM)),
      columns_(FoldExtent(kernel, kFoldN)),
      depth_(FoldExtent(kernel, kFoldK)),
      tiles_(FoldTiles(kernel)),
      warps_(IntSetting(kernel, "warps")),
      slice_(slice),
      slices_(CeilDiv(depth_, slice_)),
      score_(AttentionScoreOf(kernel)),
      mask_(ColumnMaskOf(kernel)),
      type_(DeviceType(InputType(kernel, 0))) {
  const Parts parts = PartsOf(kernel);
  part_ = parts.sixteens;
  splits_ = parts.count;
  tasks_ = FoldBatches(kernel) * splits_;
}

void ProductFold::Begin() {
  out_.Define(std::string(kMmaText));
  out_.Define(std::string(kProductStreamText));
  const ReduceOp op = FoldOfVariant(kernel_.variant);
  how_ = out_.How(op);
  neutral_ = out_.Neutral(op, ScalarType::kReal);
  if (splits_ > 1) partial_ = out_.Scratch("parts", DType::kF32, tasks_ * rows_);
}

void ProductFold::Launch(std::int64_t shared_bytes, const std::optional<TensorMapArgument>& columns) {
  DeviceWriter::LaunchShape launch;
  AddRead(launch, InputOperand(kernel_, 0).buffer);
  if (columns) {
    launch.maps = {{"columns_map", *columns}};
  } else {
    AddRead(launch, InputOperand(kernel_, 1).buffer);
  }
  for (const int buffer : BuffersOf(kernel_, score_)) AddRead(launch, buffer);
  if (splits_ == 1) {
    for (const int buffer : BuffersOf(kernel_, kernel_.epilogue)) AddRead(launch, buffer);
    launch.writes = {kernel_.target};
  } else {
    launch.scratch_writes = {partial_};
  }
  if (!counter_.empty()) launch.scratch_writes.push_back(counter_);
  launch.grid_x = std::clamp<std::int64_t>(CeilDiv(tasks_, warps_), 1, kernel_.device->multiprocessors);
  launch.shared_bytes = shared_bytes;
  out_.Launch(launch);
  if (splits_ > 1) PutTogether();
}

std::string ProductFold::BeginOf(const std::string& task) const {
  return splits_ == 1 ? "0" : fmt::format("static_cast<int>({} % {}) * {}", task, splits_, part_);
}
std::string ProductFold::EndOf(const std::string& task) const {
  return splits_ == 1
             ? fmt::format("{}", part_)
             : fmt::format("min(static_cast<int>({} % {} + 1) * {}, {})", task, splits_, part_, Sixteens(kernel_));
}

void ProductFold::Clear(const std::string& name, const std::string& value) {
  out_.Unroll();
  out_.Line(fmt::format("for (int i = 0; i < {}; ++i) {}[i / 4][i % 4] = {};", tiles_ * 4, name, value));
}

void ProductFold::OpenLane(const std::string& column) {
  out_.Line(fmt::format("const int lane = threadIdx.x % 32, g = {}, t = lane % 4;", column));
}

void ProductFold::KeepRows() {
  const std::int64_t pieces = tiles_ * 32 * slices_ * (slice_ / kFoldBlock);
  out_.Open(fmt::format("for (int i = threadIdx.x; i < {}; i += {})", pieces, 32 * warps_));
  out_.Line(
      fmt::format("const int row = i / 32 % {} * 8 + i % 32 / 4, k = i / {} * 32 + i % 4 * 8;", tiles_, 32 * tiles_));
  std::vector<std::string> places(kernel_.space.size(), "0");
  places[places.size() - kFoldM] = "row";
  places[places.size() - kFoldK] = "k";
  out_.Line(
      fmt::format("kept[i] = row < {} && k < {} ? __ldg(reinterpret_cast<const uint4*>({})) : make_uint4(0, 0, 0, 0);",
                  rows_, depth_, AttentionPointer(out_, kernel_, 0, places)));
  out_.Close();
  out_.Line("__syncthreads();");
  out_.Line(fmt::format("float sums[{0}][4], folded[{0}][4];", tiles_));
  Clear("folded", neutral_);
}

// Each task is the reason for one draw, so that the counter is where it began when all are done.
void ProductFold::After(bool drawn) {
  if (drawn) {
    counter_ = out_.Scratch("drawn", DType::kI32, 1);
    out_.Call(MemsetStep{.buffer = counter_, .byte = 0}, true);
    out_.Line("long next = 0;");
  }
  out_.Open(fmt::format("const auto after = [&](StreamStep step{})", drawn ? ", bool draws" : ""));
  out_.Line(fmt::format("if (++step.slice < {}) return step;", slices_));
  out_.Line("step.slice = 0;");
  out_.Line(fmt::format("if (++step.sixteen < {}) return step;", EndOf("step.task")));
  if (drawn) {
    out_.Open(fmt::format("if (draws && step.task < {})", tasks_));
    out_.Line("unsigned before = 0;");
    out_.Line(
        fmt::format("if (lane == 0) before = atomicInc(reinterpret_cast<unsigned*>({}), {});", counter_, tasks_ - 1));
    out_.Line(fmt::format("next = gridDim.x * {}l + __shfl_sync(~0u, before, 0);", warps_));
    out_.Close();
    out_.Line("step.task = next;");
  } else {
    out_.Line(fmt::format("step.task += gridDim.x * {};", warps_));
  }
  out_.Line(fmt::format("step.sixteen = {};", BeginOf("step.task")));
  out_.Line("return step;");
  out_.CloseWith(";");
}

void ProductFold::FoldScores(const std::vector<std::string>& batches) {
  if (mask_) out_.Open("if (rows.wanted)");
  out_.Unroll();
  out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", tiles_ * 4));
  out_.Line(fmt::format(
      "const int n = step.sixteen * 16 + g + i / 2 % 2 * 8, m = {};",
      rows_ % 8 == 0 ? "i / 4 * 8 + t * 2 + i % 2" : fmt::format("min(i / 4 * 8 + t * 2 + i % 2, {})", rows_ - 1)));
  if (mask_) {
    out_.Line("if (!rows.counts[i / 2 % 2]) continue;");
  } else if (columns_ % kFoldColumns != 0) {
    out_.Line(fmt::format("if (n >= {}) continue;", columns_));
  }
  out_.Line("const float it = sums[i / 4][i % 4];");
  std::vector<std::string> places = batches;
  places.insert(places.end(), {"m", "n", "0"});
  const std::string score = AttentionText(out_, kernel_, mask_ ? mask_->score : score_, places, "long");
  out_.Line(fmt::format("folded[i / 4][i % 4] = {}::Of(folded[i / 4][i % 4], {});", how_, score));
  out_.Close();
  if (mask_) out_.Close();
}

void ProductFold::EndTask(const std::vector<std::string>& batches) {
  out_.Line(fmt::format("if (step.sixteen + 1 < {}) return;", EndOf("step.task")));
  out_.Unroll();
  out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", tiles_ * 2));
  out_.Line(fmt::format("float it = {}::Of(folded[i / 2][i % 2], folded[i / 2][i % 2 + 2]);", how_));
  out_.Unroll();
  out_.Line(fmt::format("for (int other = 4; other < 32; other *= 2) it = {}::Of(it, __shfl_xor_sync(~0u, it, other));",
                        how_));
  out_.Line("const int m = i / 2 * 8 + t * 2 + i % 2;");
  out_.Open(fmt::format("if (g == i / 2{})", rows_ % 8 == 0 ? "" : fmt::format(" && m < {}", rows_)));
  if (splits_ > 1) {
    out_.Line(fmt::format("{}[step.task * {} + m] = it;", partial_, rows_));
  } else {
    Write(batches, "step.task");
  }
  out_.Close();
  out_.Close();
  Clear("folded", neutral_);
}

// A thread a row: the parts of a batch folded in their order.
void ProductFold::PutTogether() {
  out_.BeginKernel("together", 128);
  const std::string at = out_.OpenThreads("at", FoldBatches(kernel_) * rows_);
  out_.Line(fmt::format("const long whole = {0} / {1}, m = {0} % {1};", at, rows_));
  const std::vector<std::string> batches = Decomposed("whole");
  out_.Line(fmt::format("float it = {};", neutral_));
  out_.Line("#pragma unroll 8");
  out_.Line(fmt::format("for (int part = 0; part < {}; ++part) it = {}::Of(it, {}[(whole * {} + part) * {} + m]);",
                        splits_, how_, partial_, splits_, rows_));
  Write(batches, "whole");
  DeviceWriter::LaunchShape launch;
  for (const int buffer : BuffersOf(kernel_, kernel_.epilogue)) AddRead(launch, buffer);
  launch.writes = {kernel_.target};
  launch.scratch_reads = {partial_};
  launch.grid_x = CeilDiv(FoldBatches(kernel_) * rows_, 128);
  out_.Launch(launch);
}

// Writes row `m` of a batch, of its folded value `it`.
void ProductFold::Write(const std::vector<std::string>& batches, const std::string& batch) {
  std::vector<std::string> places = batches;
  places.insert(places.end(), {"m", "0", "0"});
  const DType stored = program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype;
  out_.Line(fmt::format("{}[{} * {} + m] = {};", out_.TargetName(), batch, rows_,
                        DeviceExpr::Stored(AttentionText(out_, kernel_, kernel_.epilogue, places, "long"),
                                           kernel_.epilogue->type, stored)));
}

std::vector<std::string> ProductFold::Batch() {
  return Decomposed(splits_ == 1 ? "step.task" : fmt::format("(step.task / {})", splits_));
}
std::vector<std::string> ProductFold::Decomposed(const std::string& of) {
  std::vector<std::string> names(kernel_.space.size() - kFoldM, "0");
  std::int64_t step = 1;
  for (std::size_t d = names.size(); d-- > 0;) {
    const std::int64_t extent = kernel_.space[d].extent;
    if (extent == 1) continue;
    std::string text = step == 1 ? of : fmt::format("{} / {}", of, step);
    step *= extent;
    if (step < FoldBatches(kernel_)) text += fmt::format(" % {}", extent);
    names[d] = out_.Fresh("batch");
    out_.Line(fmt::format("const long {} = {};", names[d], text));
  }
  return names;
}

}  // namespace hone::dsl
