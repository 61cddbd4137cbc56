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

#include "dsl/cuda/attention_parts.h"
#include "dsl/cuda/product_fold.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_reduce_stream {
namespace {

std::vector<Setting> WarpsValues(const Kernel& kernel) {
  if (FoldTiles(kernel) > 4) return {Whole(8), Whole(12)};
  // Half of the columns hidden: 16 warps 258 us, 12 271. None hidden: 788 and 794.
  return {Whole(16), Whole(12), Whole(8)};
}
std::optional<std::string> CheckWarps(const Kernel&, const Setting& value) { return CheckRange(value, 1, 32); }

std::vector<Setting> DepthValues(const Kernel& kernel) {
  std::vector<Setting> values;
  for (const std::int64_t depth : {128, 64, 32}) {
    const bool fits = KeptBytes(kernel, depth) <= kernel.device->limits.block_shared_bytes;
    if (fits && (depth == kFoldBlock || depth / 2 < FoldExtent(kernel, kFoldK))) values.push_back(Whole(depth));
  }
  return values;
}
std::optional<std::string> CheckDepth(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, kFoldBlock, 256)) return why;
  const auto depth = std::get<std::int64_t>(value.value);
  if (depth % kFoldBlock != 0) return fmt::format("it is a multiple of {}, not {}; try 128", kFoldBlock, depth);
  if (KeptBytes(kernel, depth) > kernel.device->limits.block_shared_bytes)
    return "the rows that stay, padded to it, do not fit into shared memory; try 32";
  return std::nullopt;
}

std::vector<Setting> SplitValues(const Kernel& kernel) { return FoldSplits(kernel, 12); }
std::optional<std::string> CheckSplit(const Kernel&, const Setting& value) { return CheckRange(value, 1, 1 << 20); }

constexpr Knob kKnobs[] = {
    {"warps", "of the block that a multiprocessor has", WarpsValues, CheckWarps},
    {"split", kFoldSplitDoc, SplitValues, CheckSplit},
    {"depth", "elements of a column that are on their way at once", DepthValues, CheckDepth},
};

class StreamEmitter : ProductFold {
 public:
  StreamEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : ProductFold(program, kernel, out, IntSetting(kernel, "depth")) {}

  void Emit() {
    Begin();
    out_.BeginKernel("stream", 32 * warps_, 1);
    out_.Line("extern __shared__ __align__(16) uint4 kept[];");
    OpenLane();
    KeepRows();
    After();
    Read();
    Fold();
    out_.Line(fmt::format("StreamedRows<{}> these, others;", slice_ / kFoldBlock));
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
    Launch(KeptBytes(kernel_, slice_));
  }

 private:
  // The function `read` that begins to read what a step multiplies.
  void Read() {
    out_.Open(
        fmt::format("const auto read = [&](const StreamStep& step, StreamedRows<{}>& rows)", slice_ / kFoldBlock));
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
      places[places.size() - kFoldN] = "column";
      const std::string text = AttentionText(out_, kernel_, mask_->condition, places, "long");
      out_.Line(fmt::format("{} = {}({});", name, mask_->counts ? "" : "!", text));
      out_.Close();
    }
    if (mask_) {
      out_.Line("rows.counts[0] = first;");
      out_.Line("rows.counts[1] = second;");
      out_.Line("rows.wanted = __any_sync(~0u, first || second);");
    }
    places[places.size() - kFoldN] = "n";
    places[places.size() - kFoldK] = fmt::format("(step.slice * {} + t * 8)", slice_);
    out_.Line(fmt::format("const {}* const from = {};", type_, AttentionPointer(out_, kernel_, 1, places)));
    const std::int64_t stride = InputOperand(kernel_, 1).strides[kernel_.space.size() - kFoldN];
    out_.Line(fmt::format("ReadRows(rows, first ? from : nullptr, second ? from + {} : nullptr, {});", 8 * stride,
                          depth_ % slice_ == 0 ? fmt::format("{}", slice_)
                                               : fmt::format("{} - step.slice * {} - t * 8", depth_, slice_)));
    out_.CloseWith(";");
  }
  // Whether there is such a column.
  std::string Inside(const std::string& n) const {
    return columns_ % kFoldColumns == 0 ? "true" : fmt::format("{} < {}", n, columns_);
  }

  // The function `fold` that multiplies what a step has read, folds the products of its last slice, and ends a task.
  void Fold() {
    out_.Open(fmt::format("const auto fold = [&](const StreamStep& step, const StreamedRows<{}>& rows)",
                          slice_ / kFoldBlock));
    if (mask_) out_.Open("if (rows.wanted)");
    if (slices_ > 1) out_.Open("if (step.slice == 0)");
    Clear("sums", "0");
    if (slices_ > 1) out_.Close();
    out_.Line(fmt::format("MultiplyRows<{}, 32>(sums, rows, kept + step.slice * {} + lane);", type_,
                          slice_ / kFoldBlock * tiles_ * 32));
    if (mask_) out_.Close();
    if (slices_ > 1) out_.Line(fmt::format("if (step.slice + 1 < {}) return;", slices_));
    const std::vector<std::string> batches = Batch();
    FoldScores(batches);
    EndTask(batches);
    out_.CloseWith(";");
  }
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  StreamEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul_reduce",
    .name = "stream",
    .doc = "few rows of 16-bit numbers, as fast as the columns can be read",
    .why_not = WhyNoProductFold,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_matmul_reduce_stream
