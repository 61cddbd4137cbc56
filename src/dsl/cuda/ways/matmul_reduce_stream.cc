// Few rows times many columns of 16-bit numbers that lie along K, each row folded as its products are made: the scores
// of a query's tokens, or of some vectors, with a collection that is read once. How fast that goes is all that
// matters, so columns go from memory to registers, the next sixteen while these are multiplied; the rows stay in shared
// memory in the order in which mma.sync wants them. product_stream.cuh has the pieces.
//
// A warp takes a task, all columns of a batch or a part of them, sixteen at a time, and has the folded values in
// registers until its end. Columns of which the score says that they do not count, whatever the product is (a mask by
// -inf under `max`), are not read.
//
//   warps  of a block, one of which a multiprocessor has: the more, the more is on its way, the fewer registers each
//   has depth  elements of a column that are on their way at once split  parts of the columns of a batch for warps of
//   their own, whose values a second kernel folds
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/cuda/attention_parts.h"
#include "dsl/cuda/expr.h"
#include "dsl/knobs.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/shape/loops.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kMmaText;            // dsl/cuda/mma.cuh
extern const std::string_view kProductStreamText;  // dsl/cuda/product_stream.cuh
}  // namespace hone

namespace hone::dsl {
namespace {

constexpr std::int64_t kMostRows = 64, kColumns = 16, kBlock = 32;  // of K, that four threads read at a time

// Dimensions from the end of the space [batches.., M, N, K].
constexpr std::size_t kM = 3, kN = 2, kK = 1;
std::int64_t Extent(const Kernel& kernel, std::size_t from_end) {
  return kernel.space[kernel.space.size() - from_end].extent;
}
std::int64_t Batches(const Kernel& kernel) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d + kM < kernel.space.size(); ++d) count *= kernel.space[d].extent;
  return count;
}
std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t Tiles(const Kernel& kernel) { return CeilDiv(Extent(kernel, kM), 8); }
std::int64_t Sixteens(const Kernel& kernel) { return CeilDiv(Extent(kernel, kN), kColumns); }
// Bytes of the rows that stay, padded to whole slices.
std::int64_t KeptBytes(const Kernel& kernel, std::int64_t depth) {
  return Tiles(kernel) * 8 * CeilDiv(Extent(kernel, kK), depth) * depth * 2;
}

std::optional<std::string> WhyNot(const Kernel& kernel) {
  for (std::size_t input = 0; input < 2; ++input) {
    if (kernel.inputs[input]->kind != Expr::Kind::kLoad)
      return "it reads both operands where they lie, and one is an expression";
    const DType type = InputType(kernel, input);
    if (!IsHalf(type) || type != InputType(kernel, 0)) return "it is for operands that are both f16, or both bf16";
  }
  if (kernel.compute != DType::kF32) return "the product is computed in f64, which halves cannot make";
  if (Extent(kernel, kM) > kMostRows)
    return fmt::format("it holds all {} rows at once, {} are possible", Extent(kernel, kM), kMostRows);
  if (Extent(kernel, kK) % 8 != 0 || Extent(kernel, kK) == 0)
    return fmt::format("K is {}, and it reads 8 elements at a time", Extent(kernel, kK));
  const KernelOperand &rows = InputOperand(kernel, 0), &columns = InputOperand(kernel, 1);
  const std::size_t rank = kernel.space.size();
  bool aligned = true;
  for (const auto& [operand, along] : {std::pair{&rows, rank - kM}, std::pair{&columns, rank - kN}}) {
    aligned &= operand->offset % 8 == 0 && (kernel.space[rank - kK].extent == 1 || operand->strides[rank - kK] == 1);
    for (std::size_t d = 0; d + kK < rank; ++d) {
      if (d + kM < rank || d == along) aligned &= kernel.space[d].extent == 1 || operand->strides[d] % 8 == 0;
    }
  }
  if (!aligned) return "it reads 16 bytes at a time along K, and an operand does not lie so";
  for (std::size_t d = 0; d + kM < rank; ++d) {
    if (kernel.space[d].extent > 1 && rows.strides[d] != 0) return "the rows that stay are others in each batch";
  }
  if (KeptBytes(kernel, kBlock) > kernel.device->limits.block_shared_bytes)
    return fmt::format("{} rows of {} elements do not fit into shared memory", Extent(kernel, kM), Extent(kernel, kK));
  return std::nullopt;
}

// --- Settings.

std::vector<Setting> WarpsValues(const Kernel& kernel) {
  if (Tiles(kernel) > 4) return {Whole(8), Whole(12)};
  return {Whole(12), Whole(16), Whole(8)};
}
std::optional<std::string> CheckWarps(const Kernel&, const Setting& value) { return CheckRange(value, 1, 32); }

std::vector<Setting> DepthValues(const Kernel& kernel) {
  std::vector<Setting> values;
  for (const std::int64_t depth : {128, 64, 32}) {
    const bool fits = KeptBytes(kernel, depth) <= kernel.device->limits.block_shared_bytes;
    if (fits && (depth == kBlock || depth / 2 < Extent(kernel, kK))) values.push_back(Whole(depth));
  }
  return values;
}
std::optional<std::string> CheckDepth(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, kBlock, 256)) return why;
  const auto depth = std::get<std::int64_t>(value.value);
  if (depth % kBlock != 0) return fmt::format("it is a multiple of {}, not {}; try 128", kBlock, depth);
  if (KeptBytes(kernel, depth) > kernel.device->limits.block_shared_bytes)
    return "the rows that stay, padded to it, do not fit into shared memory; try 32";
  return std::nullopt;
}

// As few as give every warp of the device something to do.
std::vector<Setting> SplitValues(const Kernel& kernel) {
  const std::int64_t warps = 12 * kernel.device->multiprocessors, most = Sixteens(kernel);
  const std::int64_t best = std::clamp<std::int64_t>(warps / std::max<std::int64_t>(Batches(kernel), 1), 1, most);
  std::vector<Setting> values = {Whole(best)};
  for (const std::int64_t other : {best * 2, best / 2}) {
    if (other >= 1 && other <= most && other != best) values.push_back(Whole(other));
  }
  return values;
}
std::optional<std::string> CheckSplit(const Kernel&, const Setting& value) { return CheckRange(value, 1, 1 << 20); }

constexpr Knob kKnobs[] = {
    {"warps", "of the block that a multiprocessor has", WarpsValues, CheckWarps},
    {"depth", "elements of a column that are on their way at once", DepthValues, CheckDepth},
    {"split", "parts of a batch's columns, which warps of their own fold and a second kernel puts together",
     SplitValues, CheckSplit},
};

// --- Text.

// The condition under which a column counts, whatever the products with it are; `counts` says whether it is that or its
// opposite. Nothing if all count.
struct Mask {
  Expr condition;
  bool counts = true;
  Expr score;  // of those that do
};
std::optional<Mask> MaskOf(const Kernel& kernel, const Expr& score) {
  if (kernel.variant == "sum" || score->kind != Expr::Kind::kSelect) return std::nullopt;
  const double nothing = kernel.variant == "max" ? -INFINITY : INFINITY;
  const auto is_nothing = [&](const Expr& e) { return e->kind == Expr::Kind::kConst && NumberOf(*e) == nothing; };
  const bool counts = is_nothing(score->operands[2]);
  Mask mask{score->operands[0], counts, score->operands[counts ? 1 : 2]};
  if (!mask.counts && !is_nothing(score->operands[1])) return std::nullopt;
  bool of_column = true;
  const std::size_t row = kernel.space.size() - kM;
  Visit(mask.condition, [&](const ExprNode& node) {
    of_column &= node.kind != Expr::Kind::kValue && node.kind != Expr::Kind::kReduce;
    if (node.kind == Expr::Kind::kLoad)
      of_column &=
          kernel.space[row].extent == 1 || kernel.operands[static_cast<std::size_t>(node.buffer)].strides[row] == 0;
  });
  return of_column ? std::optional(mask) : std::nullopt;
}

class StreamEmitter {
 public:
  StreamEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : program_(program),
        kernel_(kernel),
        out_(out),
        rows_(Extent(kernel, kM)),
        columns_(Extent(kernel, kN)),
        depth_(Extent(kernel, kK)),
        tiles_(Tiles(kernel)),
        warps_(IntSetting(kernel, "warps")),
        slice_(IntSetting(kernel, "depth")),
        slices_(std::max<std::int64_t>(CeilDiv(depth_, slice_), 1)),
        op_(FoldOfVariant(kernel.variant)),
        score_(AttentionScoreOf(kernel)),
        mask_(MaskOf(kernel, score_)) {
    const std::int64_t sixteens = Sixteens(kernel);
    part_ = CeilDiv(sixteens, std::clamp<std::int64_t>(IntSetting(kernel, "split"), 1, sixteens));
    splits_ = CeilDiv(sixteens, part_);
    tasks_ = Batches(kernel) * splits_;
  }

  void Emit() {
    out_.Define(std::string(kMmaText));
    out_.Define(std::string(kProductStreamText));
    how_ = out_.How(op_);
    neutral_ = out_.Neutral(op_, ScalarType::kReal);
    if (splits_ > 1) partial_ = out_.Scratch("parts", DType::kF32, tasks_ * rows_);
    Stream();
    if (splits_ > 1) PutTogether();
  }

 private:
  void Stream() {
    const std::string type = DeviceType(InputType(kernel_, 0));
    out_.BeginKernel("stream", 32 * warps_, 1);
    out_.Line("extern __shared__ __align__(16) uint4 kept[];");
    out_.Line("const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;");
    KeepRows();
    out_.Line(fmt::format("float sums[{0}][4], folded[{0}][4];", tiles_));
    Clear("folded", neutral_);

    out_.Open("const auto after = [&](StreamStep step)");
    out_.Line(fmt::format("if (++step.slice < {}) return step;", slices_));
    out_.Line("step.slice = 0;");
    out_.Line(fmt::format("if (++step.sixteen < {}) return step;", EndOf("step.task")));
    out_.Line(fmt::format("step.task += gridDim.x * {};", warps_));
    out_.Line(fmt::format("step.sixteen = {};", BeginOf("step.task")));
    out_.Line("return step;");
    out_.CloseWith(";");

    Read(type);
    Fold(type);
    out_.Line(fmt::format("StreamedRows<{}> these, others;", slice_ / kBlock));
    out_.Line(fmt::format("StreamStep step = {{blockIdx.x * {}l + threadIdx.x / 32, 0, 0}};", warps_));
    out_.Line(fmt::format("step.sixteen = {};", BeginOf("step.task")));
    out_.Line("read(step, these);");
    out_.Open(fmt::format("while (step.task < {})", tasks_));
    for (const auto& [now, next] : {std::pair{"these", "others"}, std::pair{"others", "these"}}) {
      const bool first = std::string_view(now) == "these";
      out_.Line(fmt::format("const StreamStep {} = after(step);", first ? "second" : "third"));
      out_.Line(fmt::format("read({}, {});", first ? "second" : "third", next));
      out_.Line(fmt::format("fold(step, {});", now));
      if (first) out_.Line(fmt::format("if (second.task >= {}) break;", tasks_));
      out_.Line(fmt::format("step = {};", first ? "second" : "third"));
    }
    out_.Close();

    DeviceWriter::LaunchShape launch;
    for (std::size_t input = 0; input < 2; ++input) Reads(launch, InputOperand(kernel_, input).buffer);
    for (const int buffer : BuffersOf(kernel_, score_)) Reads(launch, buffer);
    if (splits_ == 1) {
      for (const int buffer : BuffersOf(kernel_, kernel_.epilogue)) Reads(launch, buffer);
      launch.writes = {kernel_.target};
    } else {
      launch.scratch_writes = {partial_};
    }
    launch.grid_x = std::clamp<std::int64_t>(CeilDiv(tasks_, warps_), 1, kernel_.device->multiprocessors);
    launch.shared_bytes = KeptBytes(kernel_, slice_);
    out_.Launch(launch);
  }

  // The first of the sixteens of a task, and the one behind its last.
  std::string BeginOf(const std::string& task) const {
    return splits_ == 1 ? "0" : fmt::format("static_cast<int>({} % {}) * {}", task, splits_, part_);
  }
  std::string EndOf(const std::string& task) const {
    return splits_ == 1
               ? fmt::format("{}", part_)
               : fmt::format("min(static_cast<int>({} % {} + 1) * {}, {})", task, splits_, part_, Sixteens(kernel_));
  }
  void Clear(const std::string& name, const std::string& value) {
    out_.Unroll();
    out_.Line(fmt::format("for (int i = 0; i < {}; ++i) {}[i / 4][i % 4] = {};", tiles_ * 4, name, value));
  }

  void KeepRows() {
    const std::int64_t pieces = tiles_ * 32 * slices_ * (slice_ / kBlock);
    out_.Open(fmt::format("for (int i = threadIdx.x; i < {}; i += {})", pieces, 32 * warps_));
    out_.Line(
        fmt::format("const int row = i / 32 % {} * 8 + i % 32 / 4, k = i / {} * 32 + i % 4 * 8;", tiles_, 32 * tiles_));
    std::vector<std::string> places(kernel_.space.size(), "0");
    places[places.size() - kM] = "row";
    places[places.size() - kK] = "k";
    out_.Line(fmt::format(
        "kept[i] = row < {} && k < {} ? __ldg(reinterpret_cast<const uint4*>({})) : make_uint4(0, 0, 0, 0);", rows_,
        depth_, Pointer(0, places)));
    out_.Close();
    out_.Line("__syncthreads();");
  }

  // The function `read` that begins to read what a step multiplies.
  void Read(const std::string& type) {
    out_.Open(fmt::format("const auto read = [&](const StreamStep& step, StreamedRows<{}>& rows)", slice_ / kBlock));
    out_.Line(fmt::format("if (step.task >= {}) return;", tasks_));
    const std::vector<std::string> batches = Batch();
    out_.Line("const int n = step.sixteen * 16 + g;");
    std::vector<std::string> places = batches;
    places.resize(kernel_.space.size(), "0");
    for (const auto& [name, at] : {std::pair{"first", "n"}, std::pair{"second", "n + 8"}}) {
      out_.Line(fmt::format("bool {} = {};", name, Inside(at)));
      if (!mask_) continue;
      out_.Open(fmt::format("if ({})", name));
      out_.Line(fmt::format("const int column = {};", at));
      places[places.size() - kN] = "column";
      const std::string text = AttentionText(out_, kernel_, mask_->condition, places, "long");
      out_.Line(fmt::format("{} = {}({});", name, mask_->counts ? "" : "!", text));
      out_.Close();
    }
    if (mask_) {
      out_.Line("rows.counts[0] = first;");
      out_.Line("rows.counts[1] = second;");
    }
    out_.Line(mask_ ? "rows.wanted = __any_sync(~0u, first || second);" : "rows.wanted = true;");
    places[places.size() - kN] = "n";
    places[places.size() - kK] = fmt::format("(step.slice * {} + t * 8)", slice_);
    out_.Line(fmt::format("const {}* const from = {};", type, Pointer(1, places)));
    const std::int64_t stride = InputOperand(kernel_, 1).strides[kernel_.space.size() - kN];
    out_.Line(fmt::format("ReadRows(rows, first ? from : nullptr, second ? from + {} : nullptr, {});", 8 * stride,
                          depth_ % slice_ == 0 ? fmt::format("{}", slice_)
                                               : fmt::format("{} - step.slice * {} - t * 8", depth_, slice_)));
    out_.CloseWith(";");
  }
  // Whether there is such a column.
  std::string Inside(const std::string& n) const {
    return columns_ % kColumns == 0 ? "true" : fmt::format("{} < {}", n, columns_);
  }

  // The function `fold` that multiplies what a step has read, folds the products of its last slice, and ends a task.
  void Fold(const std::string& type) {
    out_.Open(
        fmt::format("const auto fold = [&](const StreamStep& step, const StreamedRows<{}>& rows)", slice_ / kBlock));
    out_.Open("if (rows.wanted)");
    if (slices_ > 1) out_.Open("if (step.slice == 0)");
    Clear("sums", "0");
    if (slices_ > 1) out_.Close();
    out_.Line(fmt::format("MultiplyRows<{}>(sums, rows, kept + step.slice * {} + lane);", type,
                          slice_ / kBlock * tiles_ * 32));
    out_.Close();
    if (slices_ > 1) out_.Line(fmt::format("if (step.slice + 1 < {}) return;", slices_));
    const std::vector<std::string> batches = Batch();
    out_.Open("if (rows.wanted)");
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", tiles_ * 4));
    out_.Line(fmt::format(
        "const int n = step.sixteen * 16 + g + i / 2 % 2 * 8, m = {};",
        rows_ % 8 == 0 ? "i / 4 * 8 + t * 2 + i % 2" : fmt::format("min(i / 4 * 8 + t * 2 + i % 2, {})", rows_ - 1)));
    if (mask_) {
      out_.Line("if (!rows.counts[i / 2 % 2]) continue;");
    } else if (columns_ % kColumns != 0) {
      out_.Line(fmt::format("if (n >= {}) continue;", columns_));
    }
    out_.Line("const float it = sums[i / 4][i % 4];");
    std::vector<std::string> places = batches;
    places.insert(places.end(), {"m", "n", "0"});
    const std::string score = AttentionText(out_, kernel_, mask_ ? mask_->score : score_, places, "long");
    out_.Line(fmt::format("folded[i / 4][i % 4] = {}::Of(folded[i / 4][i % 4], {});", how_, score));
    out_.Close();
    out_.Close();

    out_.Line(fmt::format("if (step.sixteen + 1 < {}) return;", EndOf("step.task")));
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", tiles_ * 2));
    out_.Line(fmt::format("float it = {}::Of(folded[i / 2][i % 2], folded[i / 2][i % 2 + 2]);", how_));
    out_.Unroll();
    out_.Line(fmt::format(
        "for (int other = 4; other < 32; other *= 2) it = {}::Of(it, __shfl_xor_sync(~0u, it, other));", how_));
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
    out_.CloseWith(";");
  }

  // A thread a row: the parts of a batch folded in their order.
  void PutTogether() {
    out_.BeginKernel("together", 128);
    const std::string at = out_.OpenThreads("at", Batches(kernel_) * rows_);
    out_.Line(fmt::format("const long whole = {0} / {1}, m = {0} % {1};", at, rows_));
    const std::vector<std::string> batches = Decomposed("whole");
    out_.Line(fmt::format("float it = {};", neutral_));
    out_.Line("#pragma unroll 8");
    out_.Line(fmt::format("for (int part = 0; part < {}; ++part) it = {}::Of(it, {}[(whole * {} + part) * {} + m]);",
                          splits_, how_, partial_, splits_, rows_));
    Write(batches, "whole");
    DeviceWriter::LaunchShape launch;
    for (const int buffer : BuffersOf(kernel_, kernel_.epilogue)) Reads(launch, buffer);
    launch.writes = {kernel_.target};
    launch.scratch_reads = {partial_};
    launch.grid_x = CeilDiv(Batches(kernel_) * rows_, 128);
    out_.Launch(launch);
  }

  // Writes row `m` of a batch, of its folded value `it`.
  void Write(const std::vector<std::string>& batches, const std::string& batch) {
    std::vector<std::string> places = batches;
    places.insert(places.end(), {"m", "0", "0"});
    const DType stored = program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype;
    out_.Line(fmt::format("{}[{} * {} + m] = {};", out_.TargetName(), batch, rows_,
                          DeviceExpr::Stored(AttentionText(out_, kernel_, kernel_.epilogue, places, "long"),
                                             kernel_.epilogue->type, stored)));
  }

  // Lines that say the place of a step's task in each batch dimension: their names, "0" for an extent of 1.
  std::vector<std::string> Batch() {
    return Decomposed(splits_ == 1 ? "step.task" : fmt::format("(step.task / {})", splits_));
  }
  std::vector<std::string> Decomposed(const std::string& of) {
    std::vector<std::string> names(kernel_.space.size() - kM, "0");
    std::int64_t step = 1;
    for (std::size_t d = names.size(); d-- > 0;) {
      const std::int64_t extent = kernel_.space[d].extent;
      if (extent == 1) continue;
      std::string text = step == 1 ? of : fmt::format("{} / {}", of, step);
      step *= extent;
      if (step < Batches(kernel_)) text += fmt::format(" % {}", extent);
      names[d] = out_.Fresh("batch");
      out_.Line(fmt::format("const long {} = {};", names[d], text));
    }
    return names;
  }

  std::string Pointer(std::size_t input, const std::vector<std::string>& places) const {
    const KernelOperand& operand = InputOperand(kernel_, input);
    std::vector<std::string> wide = places;
    for (auto& place : wide) {
      if (place != "0") place = fmt::format("static_cast<long>({})", place);
    }
    return fmt::format("{} + {}", out_.BufferName(operand.buffer), Address(wide, operand.strides, operand.offset));
  }
  static void Reads(DeviceWriter::LaunchShape& launch, int buffer) {
    if (std::find(launch.reads.begin(), launch.reads.end(), buffer) == launch.reads.end())
      launch.reads.push_back(buffer);
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  std::int64_t rows_, columns_, depth_, tiles_, warps_, slice_, slices_;
  std::int64_t part_ = 1, splits_ = 1, tasks_ = 1;  // sixteens of a part; parts of a batch; of all batches
  ReduceOp op_;
  Expr score_;
  std::optional<Mask> mask_;
  std::string how_, neutral_, partial_;
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  if (ElementCount(kernel.result) != 0) StreamEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_CUDA_WAY(matmul_reduce_stream){
    .family = "matmul_reduce",
    .name = "stream",
    .doc = "few rows of 16-bit numbers, as fast as the columns can be read",
    .why_not = WhyNot,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl
