// Attention of f32, as accurate as FP32: each product is three of TF32 on the tensor cores (mma.sync, which compute
// capability 8.0 has), of what both operands are rounded to and of what that leaves: low * high, high * low, high *
// high. A number is so 22 bits of itself. The tensor cores truncate what they add up, so they add up little, sums of 64
// elements or of a tile's keys, and what goes on is added to sums in registers.
//
// A block's warps have 16 or 32 queries each, of which two sixteens split what they read once, and share tiles of keys
// and values in shared memory, one of which is on its way while the other is multiplied. Scores become weights in
// registers, over the largest so far. Tiles that `causal` hides are not looked at. An infinity among queries, keys or
// values makes NaNs where FP32 may have infinities. attention_f32.cuh has the kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/cuda/attention_parts.h"
#include "dsl/cuda/expr.h"
#include "dsl/knobs.h"
#include "dsl/shape/attention_weights.h"
#include "dsl/shape/loops.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kAttentionNumbersText;  // dsl/cuda/attention_numbers.cuh
extern const std::string_view kAttentionF32Text;      // dsl/cuda/attention_f32.cuh
}  // namespace hone

namespace hone::dsl::cuda_way_attention_f32 {
namespace {

constexpr std::int64_t kRows = 16;        // queries of a product
constexpr std::int64_t kNarrow = 64;      // up to which registers have room for 32 queries
constexpr std::int64_t kMostWidth = 128;  // of a query or a value: what registers have room for

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto other = CheckNoPages(kernel)) return other;
  std::string why;
  for (std::size_t input = 0; input < 3; ++input) {
    const auto rows = AttentionRowsOf(kernel, input, AttentionOf::kF32, why);
    if (!rows) return why;
    if (rows->width % 8 != 0 || rows->width > kMostWidth) {
      return fmt::format("a row of {} has {} elements: multiples of 8 up to {} are possible", kAttentionNames[input],
                         rows->width, kMostWidth);
    }
  }
  return CheckAttentionTypes(kernel);
}

std::int64_t Widest(const Kernel& kernel) {
  return std::max(AttentionExtent(kernel, kAttentionD), AttentionExtent(kernel, kAttentionE));
}
// Of rows that are padded to lie in different banks: two tiles.
std::int64_t SharedBytes(const Kernel& kernel, std::int64_t keys) {
  const std::int64_t depth = AttentionExtent(kernel, kAttentionD), width = AttentionExtent(kernel, kAttentionE);
  return 2 * keys * 4 * (depth + (40 - depth % 32) % 32 + width + (36 - width % 32) % 32);
}

// Scores that read operands want registers, too.
std::vector<Setting> QueriesValues(const Kernel& kernel) {
  if (Widest(kernel) > kNarrow) return {Whole(kRows)};
  const bool fits = 2 * Widest(kernel) <= kNarrow || OperandsOf({AttentionScoreOf(kernel)}).empty();
  return fits ? std::vector{Whole(2 * kRows), Whole(kRows)} : std::vector{Whole(kRows), Whole(2 * kRows)};
}
std::optional<std::string> CheckQueries(const Kernel& kernel, const Setting& value) {
  if (value == Whole(kRows)) return std::nullopt;
  if (value != Whole(2 * kRows)) return "it is 16 or 32; try 16";
  if (Widest(kernel) > kNarrow)
    return fmt::format("rows of more than {} elements leave no registers for them; try 16", kNarrow);
  return std::nullopt;
}

std::vector<Setting> WarpsValues(const Kernel&) { return {Whole(4), Whole(8)}; }
std::optional<std::string> CheckWarps(const Kernel&, const Setting& value) { return CheckRange(value, 1, 8); }

// 16384 keys of 32 elements take 4.7 ms with 32 queries a warp and 64 keys, 4.9 with 32 and 5.6 with 16 queries (H200).
std::vector<Setting> KeysValues(const Kernel& kernel) {
  if (Widest(kernel) > kNarrow) return {Whole(32)};
  if (2 * Widest(kernel) > kNarrow) return {Whole(32), Whole(64)};
  return {Whole(64), Whole(32)};
}
std::optional<std::string> CheckKeys(const Kernel& kernel, const Setting& value) {
  const auto* keys = std::get_if<std::int64_t>(&value.value);
  if (!keys || (*keys != 32 && *keys != 64)) return "it is 32 or 64; try 32";
  if (SharedBytes(kernel, *keys) > kernel.device->limits.block_shared_bytes)
    return "two tiles are more than a block's shared memory; try 32";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    {"queries", "of a warp: 16 or 32", QueriesValues, CheckQueries},
    {"warps", "of a block", WarpsValues, CheckWarps},
    {"keys", "of a tile in shared memory", KeysValues, CheckKeys},
};

// --- Text.

class F32Emitter {
 public:
  F32Emitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : program_(program),
        kernel_(kernel),
        out_(out),
        own_(IntSetting(kernel, "queries")),
        rows_(own_ * IntSetting(kernel, "warps")),
        keys_(IntSetting(kernel, "keys")),
        m_(AttentionExtent(kernel, kAttentionM)),
        e_(AttentionExtent(kernel, kAttentionE)),
        n_(AttentionExtent(kernel, kAttentionN)),
        causal_(kernel.attributes.at("causal")[0] != 0),
        score_(ScoreOf(kernel)) {}

  void Emit() {
    out_.Define(std::string(kAttentionNumbersText));
    out_.Define(std::string(kAttentionF32Text));
    const std::int64_t tiles = (m_ + rows_ - 1) / rows_, warps = rows_ / own_;
    out_.BeginKernel("attention", 32 * warps);
    out_.Line("extern __shared__ __align__(16) float memory[];");
    // With `causal` the longest come first.
    out_.Line(fmt::format("const int matrix = blockIdx.x / {0}, m0 = {1} * {2};", tiles,
                          causal_ ? fmt::format("({} - static_cast<int>(blockIdx.x) % {})", tiles - 1, tiles)
                                  : fmt::format("static_cast<int>(blockIdx.x) % {}", tiles),
                          rows_));
    const std::vector<std::string> batches = OpenAttentionBatches(out_, kernel_);
    out_.Line(fmt::format("AttentionF32<{}, {}, {}, {}, {}, {}> block;", AttentionExtent(kernel_, kAttentionD), e_,
                          keys_, warps, own_ / kRows, AttentionWeights(kernel_)));
    out_.Line(fmt::format("const int row0 = m0 + threadIdx.x / 32 * {}, row = row0 + block.g;", own_));
    // Beyond the last query that one is read again; what comes of it is not written.
    out_.Open("const auto query = [&](int wanted)");
    out_.Line(m_ % rows_ == 0 ? std::string("const int m = wanted;")
                              : fmt::format("const int m = min(wanted, {});", m_ - 1));
    out_.Line(fmt::format("return {};", AttentionPointer(out_, kernel_, 0, Places(batches, "m", "0", "0"))));
    out_.CloseWith(";");
    out_.Unroll();
    out_.Line(
        fmt::format("for (int r = 0; r < {}; ++r) block.ReadQueries(r, query(row + r * 16), query(row + r * 16 + 8));",
                    own_ / kRows));
    Score(batches);
    std::string why;
    const std::int64_t k_row = AttentionRowsOf(kernel_, 1, AttentionOf::kF32, why)->row,
                       v_row = AttentionRowsOf(kernel_, 2, AttentionOf::kF32, why)->row;
    std::string begin = "0", seen = causal_ ? fmt::format("min(m0 + {}, {})", rows_, n_) : fmt::format("{}", n_);
    if (const SeenKeys limits = SeenKeysOf(kernel_, kernel_.space.size() - kAttentionM); limits.limited()) {
      WriteSeenKeys(out_, kernel_, limits, Places(batches, "m0", "0", "0"), "m0",
                    fmt::format("min(m0 + {}, {})", rows_ - 1, m_ - 1));
      begin = fmt::format("seen_from / {0} * {0}", keys_);
      seen = fmt::format("min({}, seen_end)", seen);
    }
    const std::string own = causal_ ? fmt::format("row0 + {}", own_) : fmt::format("{}", n_);
    const std::vector<std::string> first = Places(batches, "0", "0", "0");
    out_.Line(fmt::format("block.Attend(memory, {}, {}, {}, {}, {}, {}, {}, {}, {}, score);",
                          AttentionPointer(out_, kernel_, 1, first), k_row, AttentionPointer(out_, kernel_, 2, first),
                          v_row, begin, seen, own, n_, out_.Number(kLog2E * score_.factor)));
    End(batches);

    DeviceWriter::LaunchShape launch;
    for (std::size_t input = 0; input < 3; ++input) AddRead(launch, InputOperand(kernel_, input).buffer);
    for (const int buffer : BuffersOf(kernel_, score_.score)) AddRead(launch, buffer);
    for (const int buffer : BuffersOf(kernel_, kernel_.epilogue)) AddRead(launch, buffer);
    launch.writes = {kernel_.target};
    launch.grid_x = tiles * AttentionBatches(kernel_);
    launch.shared_bytes = SharedBytes(kernel_, keys_);
    out_.Launch(launch);
  }

 private:
  // The function `score` that makes scores of a tile's products.
  void Score(const std::vector<std::string>& batches) {
    const bool ragged = n_ % keys_ != 0, rows_end = m_ % rows_ != 0;
    out_.Open(fmt::format("const auto score = [&](float (&scores)[{}][4], int below, int first)", keys_ / 8));
    if (!score_.IsProduct() || ragged || causal_) {
      // What is hidden is at a tile's edge; no other tile asks.
      std::string edge;
      if (causal_) edge = fmt::format("first + {} > row0 + below", keys_ - 1);
      if (ragged) edge += fmt::format("{}first + {} > {}", edge.empty() ? "" : " || ", keys_, n_);
      if (!edge.empty()) out_.Line(fmt::format("const bool edge = {};", edge));
      if (score_.IsProduct()) out_.Line("if (!edge) return;");
      out_.Unroll();
      out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", keys_ / 2));
      out_.Line("const int m = row + below + i % 4 / 2 * 8, n = first + i / 4 * 8 + block.t * 2 + i % 2;");
      if (!score_.IsProduct()) {
        if (rows_end) out_.Line(fmt::format("const int at_m = min(m, {});", m_ - 1));
        if (ragged) out_.Line(fmt::format("const int at_n = min(n, {});", n_ - 1));
        out_.Line("const float it = scores[i / 4][i % 4];");
        out_.Line(fmt::format(
            "scores[i / 4][i % 4] = {};",
            AttentionScoreText(out_, kernel_, score_.score,
                               Places(batches, rows_end ? "at_m" : "m", "0", ragged ? "at_n" : "n"), "long")));
      }
      std::string hidden;
      if (causal_) hidden = "n > m";
      if (ragged) hidden += fmt::format("{}n >= {}", hidden.empty() ? "" : " || ", n_);
      if (!hidden.empty())
        out_.Line(
            fmt::format("if (edge && ({})) scores[i / 4][i % 4] = {};", hidden, out_.Number(HiddenScore(kernel_))));
      out_.Close();
    }
    out_.CloseWith(";");
  }

  // What is written of a thread's sums: two neighbours of every eight columns, of two rows.
  void End(const std::vector<std::string>& batches) {
    const DType dtype = program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype;
    const std::string pack = PackType(out_, DeviceType(dtype), 2);
    out_.Unroll();
    out_.Open(fmt::format("for (int r = 0; r < {}; ++r)", own_ / kRows));
    out_.Unroll();
    out_.Open("for (int half = 0; half < 2; ++half)");
    out_.Line("const int m = row + r * 16 + half * 8;");
    if (m_ % rows_ != 0) out_.Line(fmt::format("if (m >= {}) continue;", m_));
    out_.Line(fmt::format("const float by = {};", AttentionResult(kernel_, "1.0f", "block.total[r][half]")));
    WriteRowSum(out_, kernel_, fmt::format("InLog2(block.most[r][half], {})", out_.Number(kLog2E * score_.factor)),
                "block.total[r][half]");
    out_.Line(fmt::format("auto* const to = {} + {};", out_.TargetName(),
                          AttentionPlace(kernel_, Places(batches, "m", "0", "0"))));
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", e_ / 8));
    out_.Line(fmt::format("{} made;", pack));
    out_.Unroll();
    out_.Open("for (int j = 0; j < 2; ++j)");
    out_.Line("const int e = i * 8 + block.t * 2 + j;");
    out_.Line("const float it = block.sums[r][i][half * 2 + j] * by;");
    out_.Line(fmt::format("made.at[j] = {};", DeviceExpr::Stored(AttentionText(out_, kernel_, kernel_.epilogue,
                                                                               Places(batches, "m", "e", "0"), "long"),
                                                                 kernel_.epilogue->type, dtype)));
    out_.Close();
    out_.Line(fmt::format("*reinterpret_cast<{}*>(to + i * 8 + block.t * 2) = made;", pack));
    out_.Close();
    out_.Close();
    out_.Close();
  }

  static std::vector<std::string> Places(const std::vector<std::string>& batches, const std::string& m,
                                         const std::string& e, const std::string& n) {
    std::vector<std::string> places = batches;
    places.insert(places.end(), {m, e, n, "0"});
    return places;
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  // A factor of scores with operands stays among them: taken out, a kernel with two masks spilled registers.
  static ScaledScore ScoreOf(const Kernel& kernel) {
    ScaledScore scaled = ScaledAttentionScoreOf(kernel);
    return scaled.IsProduct() ? scaled : ScaledScore{AttentionScoreOf(kernel)};
  }

  const std::int64_t own_, rows_;  // queries of a warp, of a block
  const std::int64_t keys_, m_, e_, n_;
  const bool causal_;
  const ScaledScore score_;
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  F32Emitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "attention",
    .name = "f32",
    .doc = "of f32, as accurate as that: each product is three of TF32 on the tensor cores",
    .why_not = WhyNot,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_attention_f32
