// Attention of many queries to the same keys, with rows too long for the registers that the other ways keep sums in:
// latent attention, whose heads share one row of 512 + 64 elements a key, of which the first 512 are its value too. A
// block has 64 queries that read the same keys (heads, and steps of one sequence) and goes through those, tile by tile,
// with wgmma: one warpgroup makes scores of them, weights of those, and the sums of the first half of the values; the
// weights go through shared memory to a second one, which has the sums of the other half. A third keeps a ring of
// stages full with the bulk copy engine. Where values are elements of the keys, what is read once is multiplied as
// both. Keys are split among blocks as for few queries, and the blocks of a cluster, whose queries read the same keys,
// copy a share of them each to all. attention_long.cuh has the kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/rounding.h"
#include "dsl/cuda/attention_splits.h"
#include "dsl/cuda/attention_wgmma.h"
#include "dsl/shape/attention_weights.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kTensorCoreText;         // dsl/cuda/tensor_core.cuh
extern const std::string_view kAttentionNumbersText;   // dsl/cuda/attention_numbers.cuh
extern const std::string_view kAttentionPairsText;     // dsl/cuda/attention_pairs.cuh
extern const std::string_view kAttentionProductsText;  // dsl/cuda/attention_products.cuh
extern const std::string_view kSettleText;             // dsl/cuda/settle.cuh
extern const std::string_view kAttentionKeysText;      // dsl/cuda/attention_keys.cuh
extern const std::string_view kAttentionLongText;      // dsl/cuda/attention_long.cuh
}  // namespace hone

namespace hone::dsl::cuda_way_attention_long {
namespace {

constexpr std::int64_t kRows = 64;                          // of a block
constexpr std::int64_t kShort = 256;                        // elements of rows that the other ways have room for
constexpr std::int64_t kLeastWidth = 72, kMostWidth = 512;  // of values: what two warpgroups have sums of
constexpr std::int64_t kStaticBytes = 1024;                 // barriers and what is known of rows
constexpr std::int64_t kWarps = 12;
constexpr int kTaken = 240, kKept = 24;  // registers of those that multiply, and of those that copy

std::int64_t BoxesOf(std::int64_t elements) { return (elements + 63) / 64; }

// Keys as the copy engine reads them, a tensor for each of their parts, and where the values are.
struct Tensors {
  std::vector<AttentionMatrices> keys;
  std::optional<AttentionMatrices> values;      // where they are no elements of the keys
  std::int64_t depth_boxes = 0, values_at = 0;  // of a key; the first of the values'
  std::int64_t boxes() const { return depth_boxes + (values ? BoxesOf(values->width) : 0); }
};

// At which element of the part of each key its value begins; nothing if that is elsewhere.
std::optional<std::int64_t> ValuesIn(const Kernel& kernel, const AttentionPart& part) {
  const KernelOperand &keys = kernel.operands[part.operand], &values = InputOperand(kernel, 2);
  const std::size_t rank = kernel.space.size(), n = rank - kAttentionN;
  bool same = keys.buffer == values.buffer && values.strides[rank - kAttentionE] == 1;
  for (std::size_t d = 0; d <= n; ++d) {
    const bool moves = d + kAttentionM < rank || d == n;
    same &= !moves || kernel.space[d].extent == 1 || keys.strides[d] == values.strides[d];
  }
  const std::int64_t at = values.offset - keys.offset - part.first;
  const bool inside = at >= 0 && at % 64 == 0 && at + AttentionExtent(kernel, kAttentionE) <= part.width;
  return same && inside ? std::optional(at) : std::nullopt;
}

// Nothing if the copy engine cannot read them; `why` says it then.
std::optional<Tensors> TensorsOf(const Kernel& kernel, std::string& why) {
  Tensors tensors;
  const auto matrices = [&](std::size_t input, const AttentionPart& part) {
    const auto rows = AttentionRowsOf(kernel, input, part, AttentionOf::kHalves, why);
    return rows ? AttentionMatricesOf(kernel, input, kernel.operands[part.operand], *rows, why) : std::nullopt;
  };
  bool inside = false;
  for (const AttentionPart& part : AttentionPartsOf(kernel, 1)) {
    auto made = matrices(1, part);
    if (!made) return std::nullopt;
    tensors.keys.push_back(std::move(*made));
    if (const auto at = ValuesIn(kernel, part); at && !inside) {
      inside = true;
      tensors.values_at = tensors.depth_boxes + *at / 64;
    }
    tensors.depth_boxes += BoxesOf(part.width);
  }
  if (inside) return tensors;
  tensors.values_at = tensors.depth_boxes;
  tensors.values = matrices(2, AttentionPartsOf(kernel, 2)[0]);
  return tensors.values ? std::optional(tensors) : std::nullopt;
}

// --- Settings.

struct Settings {
  std::int64_t keys = 64, stages = 2;
};
Settings SettingsOf(const Kernel& kernel) {
  Settings settings;
  if (kernel.settings.contains("keys")) settings.keys = IntSetting(kernel, "keys");
  if (kernel.settings.contains("stages")) settings.stages = IntSetting(kernel, "stages");
  return settings;
}

// Queries, weights and stages; where the first begins is rounded up.
std::int64_t SharedBytes(const Tensors& tensors, const Settings& settings) {
  return (tensors.depth_boxes + 1) * kRows * 128 + settings.stages * settings.keys * tensors.boxes() * 128 + 1024;
}
bool Fits(const Kernel& kernel, const Settings& settings) {
  std::string why;
  const auto tensors = TensorsOf(kernel, why);
  return tensors && SharedBytes(*tensors, settings) + kStaticBytes <= kernel.device->limits.block_shared_bytes;
}

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (const auto lacks = Lacks(*kernel.device, {.tensor_maps = true, .wgmma = true}))
    return *lacks + ", which long rows are multiplied with";
  if (auto other = CheckPages(kernel)) return other;
  if (auto other = CheckSoftmax(kernel)) return other;
  std::string why;
  for (std::size_t input = 0; input < 3; ++input) {
    const auto parts = AttentionPartsOf(kernel, input);
    if (parts.empty() && !AttentionRowsOf(kernel, input, AttentionOf::kHalves, why)) return why;
    for (const AttentionPart& part : parts) {
      if (!AttentionRowsOf(kernel, input, part, AttentionOf::kHalves, why)) return why;
    }
  }
  if (auto other = CheckAttentionTypes(kernel)) return other;
  const std::int64_t depth = AttentionExtent(kernel, kAttentionD), width = AttentionExtent(kernel, kAttentionE);
  if (depth <= kShort && width <= kShort && kernel.first_part == 0)
    return fmt::format("rows of {} and {} elements are not long", depth, width);
  if (width < kLeastWidth || width > kMostWidth)
    return fmt::format("values of {} to {} elements are possible, not of {}", kLeastWidth, kMostWidth, width);
  if (!TensorsOf(kernel, why)) return why;
  if (!Fits(kernel, {.keys = 16, .stages = 2}))
    return fmt::format("two stages of keys of {} elements are more than a block's shared memory", depth);
  return std::nullopt;
}

std::vector<Setting> KeysValues(const Kernel& kernel) {
  std::vector<Setting> values;
  for (const std::int64_t keys : {64, 32, 16}) {
    if (!CheckTileOfPages(kernel, keys) && Fits(kernel, {.keys = keys, .stages = 2})) values.push_back(Whole(keys));
  }
  return values;
}
std::optional<std::string> CheckKeys(const Kernel& kernel, const Setting& value) {
  const std::int64_t* keys = std::get_if<std::int64_t>(&value.value);
  if (!keys || (*keys != 16 && *keys != 32 && *keys != 64)) return "it is 16, 32 or 64; try 64";
  if (auto why = CheckTileOfPages(kernel, *keys)) return *why + "; try 16";
  if (Fits(kernel, {.keys = *keys, .stages = 2})) return std::nullopt;
  return fmt::format("two stages of them are more than a block's shared memory; try {}", *keys / 2);
}

std::vector<Setting> StagesValues(const Kernel& kernel) {
  Settings settings = SettingsOf(kernel);
  settings.stages = 3;
  return Fits(kernel, settings) ? std::vector{Whole(3), Whole(2)} : std::vector{Whole(2)};
}
std::optional<std::string> CheckStages(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 2, 8)) return why;
  Settings settings = SettingsOf(kernel);
  settings.stages = std::get<std::int64_t>(value.value);
  if (Fits(kernel, settings)) return std::nullopt;
  return "so many stages are more than a block's shared memory; try 2";
}

std::int64_t TilesOf(const Kernel& kernel) { return (SharedRowsOf(kernel).count + kRows - 1) / kRows; }
bool IsCausal(const Kernel& kernel) { return kernel.attributes.at("causal")[0] != 0; }
// Whether two blocks go through the same keys: those that one's queries see are as many as the other's.
bool MayShare(const Kernel& kernel) { return TilesOf(kernel) % 2 == 0 && !IsCausal(kernel) && !ReadsPages(kernel); }
std::vector<Setting> ClusterValues(const Kernel& kernel) {
  // Sharing takes 2 to 3 % longer (docs/measured/cuda_attention.md): the other block's keys are in L2 anyway.
  return MayShare(kernel) ? std::vector{Whole(1), Whole(2)} : std::vector{Whole(1)};
}
std::optional<std::string> CheckCluster(const Kernel& kernel, const Setting& value) {
  if (value == Whole(1)) return std::nullopt;
  if (value != Whole(2)) return "it is 1 or 2; try 1";
  if (MayShare(kernel)) return std::nullopt;
  if (ReadsPages(kernel)) return "keys in pages are each block's own; try 1";
  if (IsCausal(kernel)) return "queries that see keys up to their own see not as many as others; try 1";
  return fmt::format("{} tiles of queries read the same keys, no even number; try 1", TilesOf(kernel));
}

// A tile takes as long as its products do, or as its keys need at their share of the memory's rate.
std::vector<Setting> SplitValues(const Kernel& kernel) {
  constexpr double kUsualFlops = 6e14;
  const AttentionSharedRows rows = SharedRowsOf(kernel);
  std::string why;
  const Tensors tensors = *TensorsOf(kernel, why);
  const std::int64_t items = rows.pairs * TilesOf(kernel), resident = kernel.device->multiprocessors,
                     keys = AttentionExtent(kernel, kAttentionN),
                     most = std::clamp<std::int64_t>(keys / SettingsOf(kernel).keys, 1, 256);
  const double flops =
      2.0 * static_cast<double>(kRows * keys * (tensors.depth_boxes * 64 + AttentionExtent(kernel, kAttentionE)));
  const double read = static_cast<double>(keys * tensors.boxes() * 128 * std::min(items * most, resident)) /
                      static_cast<double>(TilesOf(kernel));
  const double item_us =
      1e6 * std::max(flops * static_cast<double>(resident) / kUsualFlops, read / AttentionBandwidth(*kernel.device));
  return AttentionSplitValues(kernel, items, resident, most, item_us);
}

constexpr Knob kKnobs[] = {
    {"keys", "of a tile in shared memory", KeysValues, CheckKeys},
    {"stages", "tiles of keys, and of values, that are in flight in shared memory", StagesValues, CheckStages},
    {"cluster", "blocks whose queries read the same keys, and which copy them for each other", ClusterValues,
     CheckCluster},
    {"split", kAttentionSplitDoc, SplitValues, CheckAttentionSplit},
};

// Rows that are short, in two parts, the other ways would multiply faster, were they in one.
std::optional<double> Cost(const Kernel& kernel) {
  const bool is_long = std::max(AttentionExtent(kernel, kAttentionD), AttentionExtent(kernel, kAttentionE)) > kShort;
  return is_long ? 1 : 2;
}

// --- Text.

class LongEmitter : AttentionSplits {
 public:
  LongEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : AttentionSplits(program, kernel, out, kRows, kWarps, SettingsOf(kernel).keys),
        settings_(SettingsOf(kernel)),
        cluster_(IntSetting(kernel, "cluster")) {
    std::string why;
    tensors_ = *TensorsOf(kernel, why);
  }

  void Emit() {
    const std::int64_t left = RoundUp((width_ + 1) / 2, 64), right = RoundUp(width_ - left, 8);
    const DType type = kernel_.operand_types[AttentionPartsOf(kernel_, 0)[0].operand];
    out_.Define(std::string(kTensorCoreText));
    out_.Define(std::string(kAttentionNumbersText));
    out_.Define(std::string(kAttentionPairsText));
    out_.Define(std::string(kSettleText));
    out_.Define(std::string(kAttentionProductsText));
    out_.Define(std::string(kAttentionKeysText));
    out_.Define(std::string(kAttentionLongText));
    for (const std::int64_t n : {settings_.keys, left, right}) out_.Define(AttentionProductsText(n, type));
    Begin(1);
    out_.Line(fmt::format("using Block = LongRows<{}, {}, {}, {}, {}, {}, {}, {}, {}>;", DeviceType(type),
                          tensors_.depth_boxes, tensors_.values_at, tensors_.boxes(), left, right, settings_.keys,
                          settings_.stages, cluster_));
    out_.Line("__shared__ Block::Shared shared;");
    out_.Line("Block block(shared, memory);");
    std::string last = fmt::format("{}", AttentionExtent(kernel_, kAttentionN));
    if (IsCausal(kernel_)) {
      const std::int64_t m = AttentionExtent(kernel_, kAttentionM);
      out_.Line("// Keys that the last of the tile's queries sees.");
      out_.Line(fmt::format("const int seen = min({}, min(first_row % {} + {}, {}));", last, m, kRows, m));
      last = "seen";
    }
    OpenKeys("0", last);
    out_.Open("if (threadIdx.x >= 256)");
    Produce();
    out_.Close();
    out_.Open("else");
    Consume();
    out_.Close();
    out_.Line("block.End();");
    End(SharedBytes(tensors_, settings_), std::move(maps_), cluster_);
  }

 private:
  void Produce() {
    out_.Line(fmt::format("GiveRegisters<{}>();", kKept));
    out_.Open("if (threadIdx.x == 256)");
    std::string sources;
    const auto add = [&](const std::string& name, const AttentionMatrices& matrices) {
      std::vector<std::string> batches = batches_;
      batches.resize(kernel_.space.size() - kAttentionM, "0");
      maps_.emplace_back(name, AttentionMap(program_, matrices, KeysOfCopy(kernel_, settings_.keys) / cluster_));
      out_.Line(fmt::format("FetchMap(&{});", name));
      sources += fmt::format("{}{{&{}, {}, {}, {}, {}}}", sources.empty() ? "" : ", ", name,
                             Address(batches, matrices.factors[0], 0), Address(batches, matrices.factors[1], 0),
                             BoxesOf(matrices.width), PagesApart(kernel_, matrices));
    };
    for (std::size_t part = 0; part < tensors_.keys.size(); ++part)
      add(fmt::format("k_map{}", part == 0 ? "" : "1"), tensors_.keys[part]);
    if (tensors_.values) add("v_map", *tensors_.values);
    out_.Line(fmt::format("const LongBoxes sources[] = {{{}}};", sources));
    const std::string keys = OpenAttentionKeys(out_, kernel_, batches_);
    out_.Line(fmt::format("block.Fetch(sources, {}, begin, (end - begin + {}) / {});", keys, step_ - 1, step_));
    out_.Close();
  }

  void Consume() {
    std::int64_t box = 0;
    const auto parts = AttentionPartsOf(kernel_, 0);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const std::string query = part == 0 ? "query" : "query1";
      out_.Line(fmt::format("block.ReadQueries([&](int at) {{ return {}(first_row + at); }}, {}, {});", query, box,
                            parts[part].width));
      box += BoxesOf(parts[part].width);
    }
    out_.Line("block.QueriesAreThere();");
    out_.Line(fmt::format("TakeRegisters<{}>();", kTaken));
    Score();
    out_.Line(fmt::format("constexpr float scale = {};", out_.Number(kLog2E * score_.factor)));
    out_.Line(fmt::format("const int rows = min({}, {} - first_row);", tile_, rows_.count));
    OpenMade("const auto made = ");
    out_.CloseWith(";");
    out_.Open("if (threadIdx.x < 128)");
    out_.Line(fmt::format("block.Lead(begin, end, scale, rows, {}, score, made);", width_));
    out_.Close();
    out_.Open("else");
    out_.Line(fmt::format("block.Follow(begin, end, rows, {}, made);", width_));
    out_.Close();
  }

  // The function `score` that makes scores of a tile's products.
  void Score() {
    out_.Open(fmt::format("const auto score = [&](float (&scores)[{}], int first)", settings_.keys / 2));
    if (!score_.IsProduct() || IsCausal(kernel_)) {
      out_.Unroll();
      out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", settings_.keys / 2));
      out_.Line(fmt::format("const int row = min(first_row + block.row + i / 2 % 2 * 8, {});", rows_.count - 1));
      out_.Line(fmt::format("const int n = min(first + i / 4 * 8 + block.pair + i % 2, {});",
                            AttentionExtent(kernel_, kAttentionN) - 1));
      out_.Line("const float it = scores[i];");
      if (!score_.IsProduct()) out_.Line(fmt::format("scores[i] = {};", ScoreAt("row", "n")));
      if (IsCausal(kernel_))
        out_.Line(fmt::format("if (n > row % {}) scores[i] = {};", AttentionExtent(kernel_, kAttentionM),
                              out_.Number(-INFINITY)));
      out_.Close();
    }
    out_.CloseWith(";");
  }

  Settings settings_;
  std::int64_t cluster_;
  Tensors tensors_;
  std::vector<std::pair<std::string, TensorMapArgument>> maps_;
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  LongEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "attention",
    .name = "long",
    .doc = "rows of more than 256 elements, of many queries that read the same keys: latent attention",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_attention_long
