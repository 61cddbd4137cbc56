// Attention where one query reads keys and values, or two: one step of decoding whose heads share none. The rows of a
// product of the tensor cores would be empty but for one, and what they are summed in would take the registers that
// loads on their way want (path few). Here a warp's lanes have eight elements of a key each, and multiply them in f32:
// 537 million of them are a quarter of what an H200 computes while it reads them. Keys are split among blocks as for
// few queries. Of 8 bits a thread reads 8 bytes at once. attention_one.cuh has the kernel.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dsl/cuda/attention_held.h"
#include "dsl/cuda/attention_splits.h"
#include "dsl/shape/loops.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kMmaText;               // dsl/cuda/mma.cuh
extern const std::string_view kAttentionNumbersText;  // dsl/cuda/attention_numbers.cuh
extern const std::string_view kAttentionPairsText;    // dsl/cuda/attention_pairs.cuh
extern const std::string_view kAttentionOneText;      // dsl/cuda/attention_one.cuh
}  // namespace hone

namespace hone::dsl::cuda_way_attention_one {
namespace {

constexpr std::int64_t kMostRows = 2, kWarps = 8;

std::optional<std::string> WhyNot(const Kernel& kernel) {
  std::string why;
  for (std::size_t input = 0; input < 3; ++input) {
    if (!AttentionRowsOf(kernel, input, AttentionOf::kHeld, why)) return why;
  }
  if (auto other = CheckHeldTypes(kernel)) return other;
  const std::int64_t depth = AttentionExtent(kernel, kAttentionD), width = AttentionExtent(kernel, kAttentionE),
                     rows = SharedRowsOf(kernel).count;
  if (rows > kMostRows) return fmt::format("{} queries read the same keys, {} are possible", rows, kMostRows);
  if (kernel.attributes.at("causal")[0] != 0) return "few queries look at all keys, and some are hidden";
  if (depth != width || !std::has_single_bit(static_cast<std::uint64_t>(width)) || width < 32 || width > 256)
    return fmt::format("it is for keys and values of 32, 64, 128 or 256, and theirs are {} and {}", depth, width);
  return std::nullopt;
}

// Of a thread: keys and values on their way, queries and sums, scores; and addresses and what is at work.
std::int64_t BlocksFor(const Kernel& kernel, std::int64_t loads) {
  const std::int64_t load = (IsHeldInEightBits(HeldType(kernel)) ? 4 : 8) + (HaveScalesEach(kernel) ? 2 : 0);
  const std::int64_t rows = SharedRowsOf(kernel).count, registers = loads * load + rows * (16 + loads + 2) + 36;
  return std::clamp<std::int64_t>(kernel.device->limits.registers / (kWarps * 32 * registers), 1, 4);
}

// --- Settings.

// Two queries take more registers: with 8 loads they leave room for one block, where 4 leave it for two.
std::int64_t UsualLoads(const Kernel& kernel) { return SharedRowsOf(kernel).count > 1 ? 4 : 8; }
std::vector<Setting> LoadsValues(const Kernel& kernel) {
  const std::int64_t usual = UsualLoads(kernel);
  return {Whole(usual), Whole(12 - usual), Whole(16)};
}
std::optional<std::string> CheckLoads(const Kernel&, const Setting& value) { return CheckRange(value, 1, 16); }

std::vector<Setting> SplitValues(const Kernel& kernel) {
  const std::int64_t resident = BlocksFor(kernel, UsualLoads(kernel)) * kernel.device->multiprocessors;
  return AttentionSplitValues(kernel, SharedRowsOf(kernel).pairs, resident, kWarps);
}

constexpr Knob kKnobs[] = {
    {"split", kAttentionSplitDoc, SplitValues, CheckAttentionSplit},
    {"loads", "of keys, and of values, that a thread has on their way at once, 8 elements each", LoadsValues,
     CheckLoads},
};

// Of 8 bits it makes twice as many operations a byte as few, which multiplies on the tensor cores.
std::optional<double> Cost(const Kernel& kernel) { return IsHeldInEightBits(HeldType(kernel)) ? 0.55 : 0.45; }

class OneEmitter : AttentionSplits {
 public:
  OneEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : AttentionSplits(program, kernel, out, SharedRowsOf(kernel).count, kWarps,
                        IntSetting(kernel, "loads") * 256 / AttentionExtent(kernel, kAttentionE)) {}

  void Emit() {
    const std::int64_t loads = IntSetting(kernel_, "loads"), sides = 256 / width_;
    out_.Define(std::string(kMmaText));
    out_.Define(std::string(kAttentionNumbersText));
    out_.Define(std::string(kAttentionPairsText));
    const std::string held = DefineHeld(out_, kernel_);
    out_.Define(std::string(kAttentionOneText));
    Begin(static_cast<int>(BlocksFor(kernel_, loads)));
    out_.Line(fmt::format("OneQuery<{}, {}, {}, {}, {}, {}, {}> warp;", DeviceType(InputType(kernel_, 0)), held, width_,
                          tile_, loads, HaveScalesEach(kernel_), AttentionWeights(kernel_)));
    for (std::int64_t row = 0; row < tile_; ++row) out_.Line(fmt::format("warp.ReadQuery({0}, query({0}));", row));
    const std::string scaled = Scaled();
    out_.Open("const auto score = [&](float it, int row, int n)");
    if (!scaled.empty()) out_.Line(fmt::format("it = it{};", scaled));
    out_.Line(fmt::format("return {};", score_.IsProduct() ? "it" : ScoreAt("row", "n")));
    out_.CloseWith(";");
    Attend();
    End(warps_ * sides * tile_ * (width_ + 2) * 4);
  }
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  OneEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "attention",
    .name = "one",
    .doc = "one query to keys of its own, or two: decoding without shared heads",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_attention_one
