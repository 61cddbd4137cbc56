#include "dsl/cuda/matmul_rows_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "dsl/cuda/attention_parts.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/shape/reduction.h"

namespace hone {
extern const std::string_view kRowSumsText;  // dsl/cuda/row_sums.cuh
}

namespace hone::dsl {
namespace {

bool SumsExponentials(const Kernel& kernel) { return kernel.variant == "logsumexp"; }
std::int64_t TilesAcross(const MatmulText& text, std::int64_t tile_n) {
  return (text.shape.n.extent + tile_n - 1) / tile_n;
}
// What is folded first: of exponentials the largest, and that of which the place is wanted.
ReduceOp FoldedFirst(const Kernel& kernel) {
  if (FindsPlace(kernel)) return kernel.variant == "argmax" ? ReduceOp::kMax : ReduceOp::kMin;
  return SumsExponentials(kernel) ? ReduceOp::kMax : FoldOfVariant(kernel.variant);
}
// As a type of the head, and what changes nothing.
std::string How(const Kernel& kernel, DeviceWriter& out) { return out.How(FoldedFirst(kernel)); }
std::string Neutral(const Kernel& kernel, const DeviceWriter& out) {
  return out.Neutral(FoldedFirst(kernel), ScalarType::kReal);
}
void DefineRowSums(const Kernel& kernel, DeviceWriter& out) {
  out.Helper("Across");
  if (FindsPlace(kernel)) out.Helper("AcrossPlace");
  out.Define(std::string(kRowSumsText));
}
// What a row has in a tile: one value, or two.
std::string PartOfRow(const Kernel& kernel) {
  return SumsExponentials(kernel) ? "float2" : FindsPlace(kernel) ? "Place<float>" : "float";
}
std::int64_t ValuesOfPart(const Kernel& kernel) { return SumsExponentials(kernel) || FindsPlace(kernel) ? 2 : 1; }

// The first column of the tile whose score is `it`, the row's extreme; a NaN, which equals nothing, is one.
void EmitFirstOfTile(const TensorTile& tile) {
  DeviceWriter& out = tile.out;
  const std::int64_t columns = tile.settings.tile_n;
  out.Line(fmt::format("int first = {};", columns));
  for (const bool nan : {false, true}) {
    out.Open(nan ? "else" : "if (it == it)");
    out.Unroll();
    out.Open(fmt::format("for (int i = {}; i >= 0; --i)", columns / 4 - 1));
    out.Line(fmt::format("const float own = {}[i / 2 * 4 + half * 2 + i % 2];", tile.sums));
    out.Line(fmt::format("if (own {}) first = i / 2 * 8 + i % 2;", nan ? "!= own" : "== it"));
    out.Close();
    out.Close();
  }
  out.Line(
      fmt::format("const int at = AcrossRow<{}>(static_cast<int>(n0) + column + first);", out.How(ReduceOp::kMin)));
}

// The groups of the row's columns of the tile, of which each of the four threads stores every fourth.
void EmitGroupsEnd(const TensorTile& tile) {
  DeviceWriter& out = tile.out;
  const MatmulText& text = tile.text;
  const std::int64_t group = ColumnsOfGroup(tile.kernel), n = text.shape.n.extent, m = text.shape.m.extent;
  const std::string how = How(tile.kernel, out);
  out.Unroll();
  out.Open(fmt::format("for (int group = 0; group < {}; ++group)", tile.settings.tile_n / group));
  out.Line(fmt::format("float folded[2] = {{{0}, {0}}};", Neutral(tile.kernel, out)));
  out.Unroll();
  out.Line(fmt::format(
      "for (int i = group * {0}; i < (group + 1) * {0}; ++i) folded[i % 2] = {1}::Of(folded[i % 2], {2}[i / 2 * 4 + "
      "half * 2 + i % 2]);",
      group / 4, how, tile.sums));
  out.Line(fmt::format("const float it = AcrossRow<{0}>({0}::Of(folded[0], folded[1]));", how));
  std::string guard = fmt::format("column == group % 4 * 2 && row < {}", m);
  if (n % tile.settings.tile_n != 0) guard += fmt::format(" && n0 + group * {} < {}", group, n);
  out.Open(fmt::format("if ({})", guard));
  out.Line(fmt::format("{} = {};", text.Target(tile.batches, "row", fmt::format("(n0 / {} + group)", group)),
                       text.Result(tile.batches, "row", "0", {"it"})));
  out.Close();
  out.Close();
}

}  // namespace

bool FoldsColumns(const Kernel& kernel) {
  return std::find(kernel.axes.begin(), kernel.axes.end(), static_cast<int>(kernel.space.size()) - 2) !=
         kernel.axes.end();
}

std::optional<std::string> WhyNoGroupsOfColumns(const Kernel& kernel) {
  const std::int64_t group = ColumnsOfGroup(kernel);
  if (group == 0 || group == 8 || group == 16 || group == 32 || group == 64) return std::nullopt;
  return fmt::format("tiles fold groups of 8, 16, 32 or 64 columns, not of {}", group);
}

std::string RowParts(const Kernel& kernel, const MatmulText& text, DeviceWriter& out, std::int64_t tile_n) {
  return out.Scratch("row_parts", DType::kF32,
                     text.Batches() * text.shape.m.extent * TilesAcross(text, tile_n) * ValuesOfPart(kernel));
}

void ReadScores(const Kernel& kernel, const MatmulText& text, const std::string& parts,
                DeviceWriter::LaunchShape& launch) {
  launch = text.Reading(AttentionScoreOf(kernel));
  if (ColumnsOfGroup(kernel) == 0) {
    launch.scratch_writes = {parts};
    return;
  }
  for (const int buffer : BuffersOf(kernel, kernel.epilogue)) AddRead(launch, buffer);
  launch.writes = {kernel.target};
}

// A thread has pairs of neighbours of two rows, eight rows apart; four threads have a row's.
void EmitRowsEnd(const TensorTile& tile) {
  DeviceWriter& out = tile.out;
  const MatmulText& text = tile.text;
  const std::int64_t m = text.shape.m.extent, n = text.shape.n.extent, tile_n = tile.settings.tile_n;
  const std::string how = How(tile.kernel, out);
  const Expr score = AttentionScoreOf(tile.kernel);
  const bool reads = !OperandsOf({score}).empty(), beyond = n % tile_n != 0;
  // What is beyond the end is not written, but must not be read either.
  const auto within = [&](const std::string& place, bool goes_beyond, std::int64_t last) {
    return reads && goes_beyond ? fmt::format("min({}, {})", place, last) : place;
  };
  DefineRowSums(tile.kernel, out);
  out.Unroll();
  out.Open("for (int half = 0; half < 2; ++half)");
  out.Line(fmt::format("const {} row = row0 + thread % 32 / 4 + half * 8, m = {};", text.index,
                       within("row", m % (tile.settings.tile_m * tile.settings.cluster) != 0, m - 1)));
  const bool groups = ColumnsOfGroup(tile.kernel) > 0;
  if (!groups) out.Line(fmt::format("float folded[2] = {{{0}, {0}}};", Neutral(tile.kernel, out)));
  out.Unroll();
  out.Open(fmt::format("for (int i = 0; i < {}; ++i)", tile_n / 4));
  out.Line(fmt::format("float& own = {}[i / 2 * 4 + half * 2 + i % 2];", tile.sums));
  out.Line(fmt::format("const {} at_n = n0 + i / 2 * 8 + column + i % 2, n = {};", text.index,
                       within("at_n", beyond, n - 1)));
  out.Line("const float it = own;");
  const std::string made = text.Score(score, tile.batches, "m", "n");
  out.Line(beyond ? fmt::format("own = at_n < {} ? {} : {};", n, made, Neutral(tile.kernel, out))
                  : fmt::format("own = {};", made));
  if (!groups) out.Line(fmt::format("folded[i % 2] = {}::Of(folded[i % 2], own);", how));
  out.Close();
  if (groups) {
    EmitGroupsEnd(tile);
    out.Close();
    return;
  }
  out.Line(fmt::format("const float it = AcrossRow<{0}>({0}::Of(folded[0], folded[1]));", how));
  const std::string to =
      fmt::format("((static_cast<long>(batch) * {} + row) * {} + n0 / {})", m, TilesAcross(text, tile_n), tile_n);
  const std::string counts = fmt::format("if (column == 0 && row < {}) ", m);
  if (SumsExponentials(tile.kernel)) {
    out.Line("const float base = BaseOf(it);");
    out.Line("float sums[2] = {0, 0};");
    out.Unroll();
    out.Line(fmt::format("for (int i = 0; i < {}; ++i) sums[i % 2] += Power({}[i / 2 * 4 + half * 2 + i % 2], base);",
                         tile_n / 4, tile.sums));
    out.Line(fmt::format("const float sum = AcrossRow<{}>(sums[0] + sums[1]);", out.How(ReduceOp::kSum)));
    out.Line(fmt::format("{}reinterpret_cast<float2*>({})[{}] = make_float2(it, sum);", counts, tile.partial, to));
  } else if (FindsPlace(tile.kernel)) {
    EmitFirstOfTile(tile);
    out.Line(fmt::format("{}reinterpret_cast<float2*>({})[{}] = make_float2(it, __int_as_float(at));", counts,
                         tile.partial, to));
  } else {
    out.Line(fmt::format("{}{}[{}] = it;", counts, tile.partial, to));
  }
  out.Close();
}

// A warp a row.
void EmitRowsTogether(const Kernel& kernel, const MatmulText& text, DeviceWriter& out, const std::string& parts,
                      std::int64_t tile_n) {
  constexpr std::int64_t kThreads = 256;
  const std::int64_t m = text.shape.m.extent, rows = text.Batches() * m, across = TilesAcross(text, tile_n);
  const bool places = FindsPlace(kernel), exponentials = SumsExponentials(kernel);
  const std::string how =
      places ? out.How(kernel.variant == "argmax" ? ReduceOp::kArgMax : ReduceOp::kArgMin) : How(kernel, out);
  DefineRowSums(kernel, out);
  out.BeginKernel("together", kThreads);
  out.Line(fmt::format("const {} at = static_cast<{}>(blockIdx.x) * {} + threadIdx.x / 32;", text.index, text.index,
                       kThreads / 32));
  if (rows % (kThreads / 32) != 0) out.Line(fmt::format("if (at >= {}) return;", rows));
  out.Line(fmt::format("const {0} batch = at / {1}, m = at % {1};", text.index, m));
  out.Line("const int lane = threadIdx.x % 32;");
  const std::vector<std::string> batches = text.OpenBatches("batch", -1);
  const std::string loop = fmt::format("for (int i = lane; i < {}; i += 32) ", across);
  out.Line(fmt::format("const {0}* const own = reinterpret_cast<const {0}*>({1}) + static_cast<long>(at) * {2};",
                       PartOfRow(kernel), parts, across));
  out.Line(fmt::format("{} folded = {};", places ? "Place<float>" : "float",
                       places ? fmt::format("{{{}, kNowhere}}", Neutral(kernel, out)) : Neutral(kernel, out)));
  out.Line(fmt::format("{}folded = {}::Of(folded, own[i]{});", loop, how, exponentials ? ".x" : ""));
  out.Line(fmt::format("{} = AcrossWarp<{}>(folded);", places || exponentials ? "folded" : "const float it", how));
  if (exponentials) {
    out.Line("const float base = BaseOf(folded);");
    out.Line("float sum = 0;");
    out.Line(loop + "sum += own[i].y * Power(own[i].x, base);");
    out.Line(
        fmt::format("const float it = base + {}(AcrossWarp<{}>(sum));", out.Helper("Log"), out.How(ReduceOp::kSum)));
  }
  if (places) out.Line("const long it = folded.at;");
  out.Line("if (lane != 0) return;");
  out.Line(fmt::format("{} = {};", text.Target(batches, "m", "0"), text.Result(batches, "m", "0", {"it"})));
  DeviceWriter::LaunchShape launch = text.Reading(kernel.epilogue);
  for (const KernelAlso& also : kernel.also) {
    out.Line(text.Also(also, batches, "m", "0", "folded.value"));
    for (const int buffer : BuffersOf(kernel, also.value)) AddRead(launch, buffer);
  }
  launch.grid_x = (rows * 32 + kThreads - 1) / kThreads;
  launch.writes = TargetsOf(kernel);
  launch.scratch_reads = {parts};
  out.Launch(launch);
}

}  // namespace hone::dsl
