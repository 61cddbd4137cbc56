// Attention of few queries to many keys, as one step of decoding is: what takes the time is reading keys and values
// once. So all queries that read the same keys (heads that share them, a few steps of one sequence) are rows of one
// product of the tensor cores, mma.sync, which compute capability 8.0 has; and the keys are split among blocks, whose
// sums a second kernel puts together. A warp goes through its keys sixteen at a time, straight from memory to
// registers: while it multiplies by one sixteen's keys and values those of the next are on their way. Of 8 bits a warp
// takes two sixteens at a time, so that as many bytes are on their way, and converts them as it multiplies.
// attention_few.cuh has the kernel.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/attention_held.h"
#include "dsl/cuda/attention_splits.h"
#include "dsl/shape/loops.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kMmaText;               // dsl/cuda/mma.cuh
extern const std::string_view kAttentionNumbersText;  // dsl/cuda/attention_numbers.cuh
extern const std::string_view kAttentionPairsText;    // dsl/cuda/attention_pairs.cuh
extern const std::string_view kAttentionFewText;      // dsl/cuda/attention_few.cuh
}  // namespace hone

namespace hone::dsl::cuda_way_attention_few {
namespace {

constexpr std::int64_t kRows = 16;         // of a product's tile
constexpr std::int64_t kMostQueries = 16;  // of a head: more are for tiles in shared memory

bool OfEightBits(const Kernel& kernel) { return IsHeldInEightBits(HeldType(kernel)); }
// Of a thread: queries and keys, values, sums; and addresses, scores, maxima; of 8 bits what is made of them, and
// scales.
std::int64_t RegistersOf(const Kernel& kernel) {
  const std::int64_t depth = AttentionExtent(kernel, kAttentionD), width = AttentionExtent(kernel, kAttentionE);
  const std::int64_t all = depth / 32 * 16 + width / 64 * 48 + 36;
  return OfEightBits(kernel) ? all + 12 + (HaveScalesEach(kernel) ? 16 : 0) : all;
}
std::int64_t WarpsOf(const Kernel& kernel) { return RegistersOf(kernel) <= 128 ? 8 : 4; }
// That a multiprocessor holds at a time: of short rows of 8 bits more, so that as many bytes are on their way.
std::int64_t BlocksOf(const Kernel& kernel) {
  constexpr std::int64_t kUsual = 2;
  if (!OfEightBits(kernel)) return kUsual;
  return std::max(kUsual,
                  kernel.device->limits.registers / (32 * WarpsOf(kernel) * ((RegistersOf(kernel) + 7) / 8 * 8)));
}
std::int64_t SixteensOf(const Kernel& kernel) { return OfEightBits(kernel) ? 2 : 1; }

std::optional<std::string> WhyNot(const Kernel& kernel) {
  std::string why;
  for (std::size_t input = 0; input < 3; ++input) {
    if (!AttentionRowsOf(kernel, input, AttentionOf::kHeld, why)) return why;
  }
  if (auto other = CheckHeldTypes(kernel)) return other;
  const std::int64_t queries = AttentionExtent(kernel, kAttentionM), depth = AttentionExtent(kernel, kAttentionD),
                     width = AttentionExtent(kernel, kAttentionE);
  if (queries > kMostQueries) return fmt::format("{} queries a head are not few", queries);
  if (kernel.attributes.at("causal")[0] != 0) return "few queries look at all keys, and some are hidden";
  if (depth % 32 != 0 || width % 64 != 0) {
    return fmt::format("few queries read keys by 32 elements and values by 64, and rows have {} and {}", depth, width);
  }
  if (RegistersOf(kernel) > 255) return "the rows of few queries do not fit into registers";
  return std::nullopt;
}

std::vector<Setting> SplitValues(const Kernel& kernel) {
  const AttentionSharedRows rows = SharedRowsOf(kernel);
  return AttentionSplitValues(kernel, rows.pairs * ((rows.count + kRows - 1) / kRows),
                              BlocksOf(kernel) * kernel.device->multiprocessors, WarpsOf(kernel));
}

constexpr Knob kKnobs[] = {
    {"split", kAttentionSplitDoc, SplitValues, CheckAttentionSplit},
};

std::optional<double> Cost(const Kernel&) { return 0.5; }

class FewEmitter : AttentionSplits {
 public:
  FewEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : AttentionSplits(program, kernel, out, kRows, WarpsOf(kernel), 16 * SixteensOf(kernel)) {}

  void Emit() {
    out_.Define(std::string(kMmaText));
    out_.Define(std::string(kAttentionNumbersText));
    out_.Define(std::string(kAttentionPairsText));
    const std::string held = DefineHeld(out_, kernel_);
    out_.Define(std::string(kAttentionFewText));
    Begin(static_cast<int>(BlocksOf(kernel_)));
    out_.Line(fmt::format("FewQueries<{}, {}, {}, {}, {}, {}, {}> warp;", DeviceType(MultipliedAs(kernel_)), held,
                          AttentionExtent(kernel_, kAttentionD), width_, SixteensOf(kernel_), HaveScalesEach(kernel_),
                          AttentionWeights(kernel_)));
    out_.Line("warp.ReadQueries(query(first_row + warp.g), query(first_row + warp.g + 8));");
    Score();
    Attend();
    End(warps_ * kRows * (width_ + 2) * 4);
  }

 private:
  // The function `score` that makes scores of a step's products.
  void Score() {
    const std::string scaled = Scaled();
    out_.Open(fmt::format("const auto score = [&](float (&scores)[{}][4], int first)", 2 * SixteensOf(kernel_)));
    if (!score_.IsProduct() || !scaled.empty()) {
      const std::int64_t keys = AttentionExtent(kernel_, kAttentionN);
      out_.Unroll();
      out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", 8 * SixteensOf(kernel_)));
      out_.Line(fmt::format("const int row = min(first_row + warp.g + i / 2 % 2 * 8, {});", rows_.count - 1));
      out_.Line(fmt::format("const int n = min(first + i / 4 * 8 + warp.t * 2 + i % 2, {});", keys - 1));
      out_.Line(fmt::format("const float it = scores[i / 4][i % 4]{};", scaled));
      out_.Line(fmt::format("scores[i / 4][i % 4] = {};", ScoreAt("row", "n")));
      out_.Close();
    }
    out_.CloseWith(";");
  }
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  FewEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "attention",
    .name = "few",
    .doc = "few queries to many keys: one step of decoding",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_attention_few
