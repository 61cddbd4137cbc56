// Attention on the tensor cores of compute capability 9.0, for queries, keys and values of f16 or bf16. A block has the
// queries of a tile and goes through the keys and values, tile by tile: a warpgroup keeps a ring of shared-memory
// stages full with the bulk copy engine, one to three others have 64 queries each. What they multiply (wgmma) stays in
// registers: the scores become weights there, as powers of two over the largest so far, are rounded to the operands'
// type and multiply the values. While a warpgroup computes exponentials of one tile's scores, the tensor cores add the
// values of the tile before, and multiply for the others. Tiles that `causal` or a condition on places hides are not
// looked at, and only tiles at the edges of what is seen are masked; the longest items of the former come first, and
// blocks take the next as they are done. Sums are f32; what is written is what the statement says.
//
// One file because a way is one: the settings below are cuts of what is written here.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/rounding.h"
#include "dsl/cuda/alike_keys.h"
#include "dsl/cuda/attention_wgmma.h"
#include "dsl/cuda/expr.h"
#include "dsl/knobs.h"
#include "dsl/shape/attention_weights.h"
#include "dsl/shape/loops.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kTensorCoreText;         // dsl/cuda/tensor_core.cuh
extern const std::string_view kAttentionNumbersText;   // dsl/cuda/attention_numbers.cuh
extern const std::string_view kAttentionPairsText;     // dsl/cuda/attention_pairs.cuh
extern const std::string_view kAttentionProductsText;  // dsl/cuda/attention_products.cuh
extern const std::string_view kSettleText;             // dsl/cuda/settle.cuh
extern const std::string_view kAttentionKeysText;      // dsl/cuda/attention_keys.cuh
extern const std::string_view kAttentionText;          // dsl/cuda/attention.cuh
}  // namespace hone

namespace hone::dsl::cuda_way_attention_tiles {
namespace {

constexpr std::int64_t kMostDepth = 256;  // of a query or a value: what registers have room for
// Keys and values of so many bytes stay in L2 while the blocks that share them run.
constexpr std::int64_t kSharedInL2 = 32 << 20;
// What a block may have of it, with what is static.
std::int64_t SharedOfBlock(const Kernel& kernel) { return kernel.device->limits.block_shared_bytes; }

using Matrices = AttentionMatrices;
// Nothing if the copy engine or the registers cannot take them; `why` says it then.
std::optional<Matrices> MatricesOf(const Kernel& kernel, std::size_t input, std::string& why) {
  const auto rows = AttentionRowsOf(kernel, input, AttentionOf::kHalves, why);
  if (rows && rows->width > kMostDepth) {
    why = fmt::format("a row of {} has {} elements: more than {} do not fit into registers", kAttentionNames[input],
                      rows->width, kMostDepth);
    return std::nullopt;
  }
  return rows ? AttentionMatricesOf(kernel, input, InputOperand(kernel, input), *rows, why) : std::nullopt;
}

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (const auto lacks = Lacks(*kernel.device, {.tensor_maps = true, .wgmma = true}))
    return *lacks + ", which this kernel multiplies with: write two products and a softmax";
  if (auto other = CheckPages(kernel)) return other;
  std::string why;
  for (std::size_t input = 0; input < 3; ++input) {
    if (!MatricesOf(kernel, input, why)) return why;
  }
  return CheckAttentionTypes(kernel);
}

// --- Settings.

struct Settings {
  std::int64_t queries = 128, keys = 128, stages = 2, ahead = 1;
  std::int64_t groups() const { return queries / 64; }
};

Settings SettingsOf(const Kernel& kernel) {
  Settings settings;
  if (const auto tile = TupleSetting(kernel, "tile"); tile.size() == 2) {
    settings.queries = tile[0];
    settings.keys = tile[1];
  }
  return settings;
}

// Whether scores hang on operands, and on such as differ from query to query.
bool HasOperands(const Kernel& kernel) { return !kernel.lets.empty() && !OperandsOf({kernel.lets[0].body}).empty(); }
bool HasOperandsOfQueries(const Kernel& kernel) {
  if (!HasOperands(kernel)) return false;
  const std::size_t m = kernel.space.size() - kAttentionM;
  const auto operands = OperandsOf({kernel.lets[0].body});
  return std::any_of(operands.begin(), operands.end(), [&](int operand) {
    return kernel.operands[static_cast<std::size_t>(operand)].strides[m] != 0 && kernel.space[m].extent > 1;
  });
}

// Whether they hang on more than on what has to be alike of a query and a key.
bool HasOperandsBesideAlike(const Kernel& kernel) {
  const SeenKeys seen = SeenKeysOf(kernel, kernel.space.size() - kAttentionM);
  if (seen.alike.empty()) return false;
  return OperandsOf({kernel.lets[0].body}).size() > OperandsOf({seen.alike[0].query, seen.alike[0].key}).size();
}

// What a consumer's thread holds: scores, the weights of the tile before, sums; and addresses, maxima, temporaries.
std::int64_t ConsumerRegisters(const Kernel& kernel, const Settings& settings) {
  constexpr std::int64_t kOthers = 32, kOfOperands = 40, kOfRowSum = 12,
                         kOfAlike = 24;  // the last two: beside operands
  std::int64_t of_scores = HasOperands(kernel) ? kOfOperands + (ReadsRowSum(kernel) ? kOfRowSum : 0) : 0;
  if (HasOperandsBesideAlike(kernel)) of_scores += kOfAlike;
  return settings.keys / 2 + settings.keys / 4 + RoundUp(AttentionExtent(kernel, kAttentionE), 8) / 2 + kOthers +
         of_scores;
}

std::int64_t SharedBytes(const Kernel& kernel, const Settings& settings) {
  const std::int64_t depth = RoundUp(AttentionExtent(kernel, kAttentionD), 64),
                     width = RoundUp(AttentionExtent(kernel, kAttentionE), 64);
  // Where the first tile begins is rounded up.
  return 2 * (settings.ahead * settings.queries * depth + settings.stages * settings.keys * (depth + width)) + 1024;
}
constexpr std::int64_t kStaticBytes = 256;  // the barriers

// 2 where two blocks of one consumer fit into a multiprocessor, else 1.
std::int64_t BlocksAProcessor(const Kernel& kernel, const Settings& settings) {
  const std::int64_t bytes = SharedBytes(kernel, settings) + kStaticBytes + 1024;
  return settings.groups() == 1 && 2 * bytes <= SharedOfBlock(kernel) ? 2 : 1;
}
// Registers of a consumer's thread, and of a producer's where that leaves it fewer for it; of 64 Ki for all threads. A
// block of 256 threads alone has enough.
struct Registers {
  int taken, kept = 0;
};
Registers RegistersFor(const Kernel& kernel, const Settings& settings) {
  if (settings.groups() == 3) return {160, 32};
  if (settings.groups() == 2) return {240, 24};
  return BlocksAProcessor(kernel, settings) == 2 ? Registers{200, 56} : Registers{255};
}

// The most keys of a usual tile that are whole pages or a part of one.
std::int64_t KeysOfPages(const Kernel& kernel) {
  std::int64_t keys = 128;
  while (CheckTileOfPages(kernel, keys)) keys -= 16;
  return keys;
}

std::optional<std::string> CheckTile(const Kernel& kernel, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2) return "it is queries x keys; try 128x128";
  Settings settings;
  settings.queries = (*tuple)[0];
  settings.keys = (*tuple)[1];
  if (settings.queries % 64 != 0 || settings.groups() < 1 || settings.groups() > 3)
    return "the queries are 64 a warpgroup, of one to three; try 128x128";
  if (settings.keys < 16 || settings.keys > 256 || settings.keys % 16 != 0) {
    return fmt::format("the keys are a multiple of 16 up to 256; try {}x{}", settings.queries,
                       std::clamp<std::int64_t>(RoundUp(settings.keys, 16), 16, 256));
  }
  if (auto why = CheckTileOfPages(kernel, settings.keys))
    return fmt::format("{}; try {}x{}", *why, settings.queries, KeysOfPages(kernel));
  const int taken = RegistersFor(kernel, settings).taken;
  if (const std::int64_t wanted = ConsumerRegisters(kernel, settings); wanted > taken) {
    const std::int64_t fewer = settings.keys - RoundUp((wanted - taken) * 4 / 3, 16);
    return fmt::format("a thread would want {} registers of {}; try {}", wanted, taken,
                       fewer >= 16 ? fmt::format("{}x{}", settings.queries, fewer) : std::string("128x64"));
  }
  if (SharedBytes(kernel, settings) + kStaticBytes > SharedOfBlock(kernel))
    return "two stages of it are more than a block's shared memory; try 128x64";
  return std::nullopt;
}

// Keys that are looked at, in whole tiles: for all tiles of queries, and the most for one.
struct LookedAt {
  std::int64_t all = 0, most = 0;
};
LookedAt LookedAtOf(const Kernel& kernel, std::int64_t queries, std::int64_t keys) {
  const SeenKeys seen = SeenKeysOf(kernel, kernel.space.size() - kAttentionM);
  const std::int64_t m = AttentionExtent(kernel, kAttentionM);
  LookedAt at;
  for (std::int64_t first = 0; first < m; first += queries) {
    const KeyRange range = KeysOfQueries(kernel, seen, first, std::min(first + queries, m) - 1);
    const std::int64_t count = std::max(RoundUp(range.end, keys) - range.from / keys * keys, keys);
    at.all += count;
    at.most = std::max(at.most, count);
  }
  return at;
}

std::vector<Setting> TileValues(const Kernel& kernel) {
  const std::int64_t width = std::max(AttentionExtent(kernel, kAttentionD), AttentionExtent(kernel, kAttentionE)),
                     n = AttentionExtent(kernel, kAttentionN);
  // Speeds beside one another on an H200, of long sequences (docs/measured/cuda_attention.md).
  struct Tile {
    std::int64_t queries, keys;
    double speed;
  };
  const bool of_queries = HasOperandsOfQueries(kernel);
  std::vector<Tile> tiles = {{64, 64, 0.5}, {64, 128, width > 64 ? 0.6 : of_queries ? 0.9 : 1.06}, {128, 64, 0.9}};
  if (width <= 64) tiles.insert(tiles.end(), {{192, 128, 1.15}, {192, 96, 1.1}, {128, 192, 1.06}, {128, 128, 1}});
  if (width > 64 && width <= 128) tiles.insert(tiles.end(), {{128, 128, 1}, {128, 160, 0.99}, {128, 96, 0.95}});
  if (width > 128) tiles.insert(tiles.end(), {{128, 80, 0.9}});
  // All keys at once, if they are few.
  if (n <= 256) tiles.insert(tiles.end(), {{64, RoundUp(n, 16), 0.6}, {128, RoundUp(n, 16), 1}});
  if (const std::int64_t keys = KeysOfPages(kernel); keys < 128)
    tiles.insert(tiles.end(), {{64, keys, 0.5}, {128, keys, 0.9}});
  std::erase_if(tiles,
                [&](const Tile& tile) { return CheckTile(kernel, Tuple({tile.queries, tile.keys})).has_value(); });
  // What the busiest multiprocessor multiplies: tiles go beyond the last query and key, and are handed out whole.
  const auto cost = [&](const Tile& tile) {
    const std::int64_t rows = (AttentionExtent(kernel, kAttentionM) + tile.queries - 1) / tile.queries,
                       items = rows * AttentionBatches(kernel), processors = kernel.device->multiprocessors;
    const LookedAt at = LookedAtOf(kernel, tile.queries, tile.keys);
    if (at.all == rows * RoundUp(n, tile.keys)) {
      const std::int64_t rounds = (items + processors - 1) / processors;
      return static_cast<double>(rounds * tile.queries * RoundUp(n, tile.keys)) / tile.speed;
    }
    const std::int64_t products = tile.queries * at.all * AttentionBatches(kernel);
    return static_cast<double>(std::max(products, products / std::max<std::int64_t>(items, 1) * processors)) /
           tile.speed;
  };
  std::stable_sort(tiles.begin(), tiles.end(), [&](const Tile& a, const Tile& b) { return cost(a) < cost(b); });
  std::vector<Setting> values;
  for (const Tile& tile : tiles) {
    const Setting value = Tuple({tile.queries, tile.keys});
    if (values.size() < 4 && std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  if (values.empty()) values.push_back(Tuple({128, std::min<std::int64_t>(KeysOfPages(kernel), 64)}));
  return values;
}

std::vector<Setting> StagesValues(const Kernel&) { return {Whole(2)}; }
std::optional<std::string> CheckStages(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 2, 8)) return why;
  Settings settings = SettingsOf(kernel);
  settings.stages = std::get<std::int64_t>(value.value);
  if (SharedBytes(kernel, settings) + kStaticBytes <= SharedOfBlock(kernel)) return std::nullopt;
  Settings none = settings;
  none.stages = 0;
  const std::int64_t fixed = SharedBytes(kernel, none);
  const std::int64_t fit =
      (SharedOfBlock(kernel) - kStaticBytes - fixed) / ((SharedBytes(kernel, settings) - fixed) / settings.stages);
  return fmt::format("{} bytes are more than a block's {} of shared memory; try {}", SharedBytes(kernel, settings),
                     SharedOfBlock(kernel), fit >= 2 ? fmt::format("{}", fit) : std::string("a tile of fewer keys"));
}

// The next item's queries arrive while this one ends, which short items gain by (3 % of 512 and 1024 keys); long ones
// and such of one tile lost as much, since they are handed out earlier (docs/measured/cuda_attention.md).
std::vector<Setting> AheadValues(const Kernel& kernel) {
  Settings settings = SettingsOf(kernel);
  settings.stages = IntSetting(kernel, "stages");
  const std::int64_t blocks = BlocksAProcessor(kernel, settings),
                     tiles = LookedAtOf(kernel, settings.queries, settings.keys).most / settings.keys;
  settings.ahead = 2;
  if (SharedBytes(kernel, settings) + kStaticBytes > SharedOfBlock(kernel)) return {Whole(1)};
  const bool gains = tiles >= 2 && tiles <= 8 && BlocksAProcessor(kernel, settings) == blocks;
  return gains ? std::vector{Whole(2), Whole(1)} : std::vector{Whole(1), Whole(2)};
}
std::optional<std::string> CheckAhead(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 2)) return why;
  Settings settings = SettingsOf(kernel);
  settings.stages = IntSetting(kernel, "stages");
  settings.ahead = std::get<std::int64_t>(value.value);
  if (SharedBytes(kernel, settings) + kStaticBytes <= SharedOfBlock(kernel)) return std::nullopt;
  return "the queries of two items do not fit beside the stages of keys and values; try 1";
}

constexpr Knob kKnobs[] = {
    {"tile", "queries x keys that a block has in registers, 64 queries a warpgroup", TileValues, CheckTile},
    {"stages", "tiles of keys, and of values, that are in flight in shared memory", StagesValues, CheckStages},
    {"ahead", "items whose queries are in flight there", AheadValues, CheckAhead},
};

// --- Text.

class AttentionEmitter {
 public:
  AttentionEmitter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : program_(program),
        kernel_(kernel),
        out_(out),
        settings_(SettingsOf(kernel)),
        seen_(SeenKeysOf(kernel, kernel.space.size() - kAttentionM)),
        alike_(kernel, seen_, settings_.queries) {
    settings_.stages = IntSetting(kernel, "stages");
    settings_.ahead = IntSetting(kernel, "ahead");
    m_ = AttentionExtent(kernel, kAttentionM);
    e_ = AttentionExtent(kernel, kAttentionE);
    n_ = AttentionExtent(kernel, kAttentionN);
    d_ = AttentionExtent(kernel, kAttentionD);
    batches_ = AttentionBatches(kernel);
    causal_ = kernel.attributes.at("causal")[0] != 0;
    std::string why;
    for (std::size_t input = 0; input < 3; ++input) matrices_[input] = *MatricesOf(kernel, input, why);
    type_ = program.buffers[static_cast<std::size_t>(matrices_[0].buffer)].dtype;
    score_ = ScaledAttentionScoreOf(kernel);
    between_ = ScoreWithin(seen_, score_.score, Expr::Bool(true));
    limits_ = between_.get() != score_.score.get();
    constexpr std::int64_t kMostInt = std::int64_t{1} << 31;
    const auto look = [&](int buffer) {
      if (ElementCount(program.buffers[static_cast<std::size_t>(buffer)].shape) >= kMostInt) index_ = "long";
    };
    for (const auto& operand : kernel.operands) look(operand.buffer);
    look(kernel.target);
  }

  void Emit() {
    const std::int64_t groups = settings_.groups(), width = RoundUp(e_, 8);
    out_.Define(std::string(kTensorCoreText));
    out_.Define(std::string(kAttentionNumbersText));
    out_.Define(std::string(kAttentionPairsText));
    out_.Define(std::string(kSettleText));
    out_.Define(std::string(kAttentionProductsText));
    out_.Define(std::string(kAttentionKeysText));
    out_.Define(std::string(kAttentionText));
    for (const std::int64_t n : {settings_.keys, width}) out_.Define(AttentionProductsText(n, type_));
    tiles_ = (m_ + settings_.queries - 1) / settings_.queries;
    items_ = tiles_ * batches_;
    const std::int64_t resident = BlocksAProcessor(kernel_, settings_);
    const std::int64_t blocks = std::min(items_, kernel_.device->multiprocessors * resident);
    alike_.Emit(out_);
    if ((causal_ || seen_.limited() || alike_.any()) && items_ > blocks) {
      counter_ = out_.Scratch("items", DType::kI32, 1);
      out_.Call(MemsetStep{.buffer = counter_, .byte = 0}, true);
    }

    out_.BeginKernel("attention", 128 * (groups + 1), static_cast<int>(resident));
    out_.Line(fmt::format("using Block = Attention<{}, {}, {}, {}, {}, {}, {}, {}>;", DeviceType(type_), d_, e_,
                          settings_.keys, settings_.stages, groups, settings_.ahead, AttentionWeights(kernel_)));
    out_.Line("extern __shared__ unsigned char tiles[];");
    out_.Line("__shared__ Block::Shared shared;");
    out_.Line("Block block(shared, tiles);");
    out_.Line("const int warpgroup = threadIdx.x / 128;");
    out_.Open(fmt::format("if (warpgroup == {})", groups));
    Produce();
    out_.Close();
    out_.Open("else");
    Consume();
    out_.Close();

    DeviceWriter::LaunchShape launch;
    launch.reads = BuffersOf(kernel_, score_.score);
    for (const int buffer : BuffersOf(kernel_, kernel_.epilogue)) AddRead(launch, buffer);
    if (ReadsPages(kernel_)) {
      for (const int buffer : BuffersOf(kernel_, kernel_.inputs[3])) AddRead(launch, buffer);
    }
    launch.writes = {kernel_.target};
    launch.maps = {{"q_map", Map(0)}, {"k_map", Map(1)}, {"v_map", Map(2)}};
    if (!counter_.empty()) launch.scratch_writes = {counter_};
    if (alike_.any()) launch.scratch_reads = {alike_.found()};
    launch.grid_x = blocks;
    launch.shared_bytes = SharedBytes(kernel_, settings_);
    out_.Launch(launch);
  }

 private:
  TensorMapArgument Map(std::size_t input) const {
    return AttentionMap(program_, matrices_[input],
                        input == 0 ? settings_.queries : KeysOfCopy(kernel_, settings_.keys));
  }

  // A loop over what the block makes: every so manieth of what is equally long, else what is next when it is done. The
  // counter is where it began when all is done. What it is: `m0`, the first query; `matrix`, the number of its batch;
  // which tiles of keys it goes through, from `first_tile` to `key_tiles`. With `causal` the longest come first, of so
  // many batches that their keys and values stay in L2; else a batch's tiles are neighbours.
  std::vector<std::string> OpenItems(bool produces) {
    const std::int64_t bytes = n_ * (d_ + e_) * 2;
    const std::int64_t together = std::clamp<std::int64_t>(kSharedInL2 / bytes, 1, batches_);
    const std::string_view next = counter_.empty() ? "item += gridDim.x"
                                  : produces       ? "item = next"
                                                   : "item = block.Item()";
    out_.Open(fmt::format("for (int item = blockIdx.x{}; item < {}; {})", produces && !counter_.empty() ? ", next" : "",
                          items_, next));
    if (causal_) {
      out_.Line(fmt::format("const int first = item / {0} * {1}, rest = item % {0};", together * tiles_, together));
      out_.Line(fmt::format("const int height = min({}, {} - first);", together, batches_));
      out_.Line("const int matrix = first + rest % height;");
      out_.Line(fmt::format("const int m0 = ({} - rest / height) * {};", tiles_ - 1, settings_.queries));
    } else {
      out_.Line(fmt::format("const int matrix = item / {0}, m0 = item % {0} * {1};", tiles_, settings_.queries));
    }
    std::vector<std::string> batches = OpenAttentionBatches(out_, kernel_);
    const std::string end = causal_ ? fmt::format("min({}, m0 + {})", n_, settings_.queries) : fmt::format("{}", n_);
    if (!seen_.limited() && !alike_.any()) {
      out_.Line("constexpr int first_tile = 0;");
      out_.Line(fmt::format("const int key_tiles = ({} + {}) / {};", end, settings_.keys - 1, settings_.keys));
      return batches;
    }
    // Of a query that sees nothing one tile is looked at, and nothing of it counts.
    WriteSeenKeys(out_, kernel_, seen_, Places(batches, "m0", "0", "0"), "m0",
                  fmt::format("min(m0 + {}, {})", settings_.queries - 1, m_ - 1));
    std::string last = fmt::format("min({}, seen_end)", end), front = "seen_from";
    if (alike_.any()) {
      alike_.Write(out_, batches, fmt::format("m0 / {}", settings_.queries));
      last = fmt::format("min({}, alike_end)", last);
      front = "max(seen_from, alike_from)";
    }
    out_.Line(fmt::format("const int key_tiles = max(({} + {}) / {}, 1);", last, settings_.keys - 1, settings_.keys));
    out_.Line(fmt::format("const int first_tile = min({} / {}, key_tiles - 1);", front, settings_.keys));
    return batches;
  }

  void Produce() {
    if (const int kept = RegistersFor(kernel_, settings_).kept) out_.Line(fmt::format("GiveRegisters<{}>();", kept));
    out_.Open("if (threadIdx.x % 128 == 0)");
    for (const char* map : {"q_map", "k_map", "v_map"}) out_.Line(fmt::format("FetchMap(&{});", map));
    const std::vector<std::string> batches = OpenItems(true);
    if (!counter_.empty()) {
      out_.Line(
          fmt::format("next = gridDim.x + atomicInc(reinterpret_cast<unsigned*>({}), {});", counter_, items_ - 1));
    }
    const auto place = [&](std::size_t input, std::string_view map) {
      const auto& factors = matrices_[input].factors;
      return fmt::format("{{&{}, {}, {}, {}}}", map, Address(batches, factors[0], 0), Address(batches, factors[1], 0),
                         input == 0 ? 0 : PagesApart(kernel_, matrices_[input]));
    };
    const std::string keys = OpenAttentionKeys(out_, kernel_, batches);
    out_.Line(fmt::format("block.Fetch(item, {}, m0, {}, {}, {}, first_tile, key_tiles);", place(0, "q_map"),
                          place(1, "k_map"), place(2, "v_map"), keys));
    out_.Close();
    if (!counter_.empty()) out_.Line(fmt::format("block.End({});", items_));
    out_.Close();
  }

  void Consume() {
    const bool ragged = n_ % settings_.keys != 0;
    const Registers registers = RegistersFor(kernel_, settings_);
    if (registers.kept > 0) out_.Line(fmt::format("TakeRegisters<{}>();", registers.taken));
    const std::vector<std::string> batches = OpenItems(false);
    out_.Line("const int row = m0 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;");
    Edges(ragged, batches);
    Look(ragged, batches);
    const Expr shown = ScoreWithin(seen_, score_.score, Value(kShown, ScalarType::kBool));
    Score("edge", shown, Value(kShown, ScalarType::kBool), causal_, ragged, batches);
    Score("inside", between_, Expr::Bool(true), false, false, batches);
    out_.Line(fmt::format("block.Attend(warpgroup, {}, first_tile, inner, key_tiles, edges, look, edge, inside);",
                          out_.Number(kLog2E * score_.factor)));
    End(batches);
    out_.Close();
  }

  // Lines that name the tiles of which some keys are hidden: so many `edges` at the end of a block's, and those before
  // `inner`. Where limits hide them, also the keys that a thread's two queries see.
  void Edges(bool ragged, const std::vector<std::string>& batches) {
    const std::string first = "m0 + warpgroup * 64";
    std::string inner = "first_tile", end = fmt::format("{}", n_);
    if (limits_) {
      const KeyTexts all = KeysOfAllQueries(out_, kernel_, seen_, Places(batches, "m0", "0", "0"), first,
                                            fmt::format("min({} + 63, {})", first, m_ - 1));
      if (!seen_.from.empty())
        inner = fmt::format("max(({} + {}) / {}, first_tile)", all.from, settings_.keys - 1, settings_.keys);
      if (!seen_.end.empty()) end = all.end;
      const auto own = [&](const std::string& m) {
        return KeysOfAllQueries(out_, kernel_, seen_, Places(batches, "m0", "0", "0"), m, m);
      };
      const KeyTexts upper = own("row"), lower = own("row + 8");
      if (!seen_.from.empty()) out_.Line(fmt::format("const int own_from[] = {{{}, {}}};", upper.from, lower.from));
      if (!seen_.end.empty()) out_.Line(fmt::format("const int own_end[] = {{{}, {}}};", upper.end, lower.end));
    }
    if (alike_.any()) {
      inner =
          fmt::format("alike ? max((alike_from + {}) / {}, {}) : {}", settings_.keys - 1, settings_.keys, inner, inner);
    }
    out_.Line(fmt::format("const int inner = {};", inner));
    if (!limits_ && !causal_ && !alike_.any())
      return out_.Line(fmt::format("constexpr int edges = {};", ragged ? 1 : 0));
    out_.Line("// Keys that all queries of the warpgroup see.");
    if (causal_) end = fmt::format("min({}, {} + 1)", end, first);
    if (alike_.any()) end = fmt::format("alike ? min({0}, alike_end) : {0}", end);
    out_.Line(fmt::format("const int seen = {};", end));
    out_.Line(fmt::format("const int edges = key_tiles - seen / {};", settings_.keys));
  }

  // What the scores of a tile hang on, read while the products are made: of each operand pairs of neighbouring keys,
  // for all queries or for the thread's two; as one where they lie so.
  struct Held {
    std::size_t operand = 0;
    bool of_queries = false, in_pairs = false;
    std::string name, pair;  // the pairs; a pair's type
  };
  std::vector<Held> HeldOperands() {
    constexpr std::int64_t kMostHeld = 32 * 4;  // bytes of a thread's registers
    std::vector<Held> held;
    std::int64_t bytes = 0;
    Visit(score_.score, [&](const ExprNode& load) {
      if (load.kind != Expr::Kind::kLoad) return;
      const auto operand = static_cast<std::size_t>(load.buffer);
      if (std::any_of(held.begin(), held.end(), [&](const Held& one) { return one.operand == operand; })) return;
      const KernelOperand& of = kernel_.operands[operand];
      const std::size_t n = kernel_.space.size() - kAttentionN, m = kernel_.space.size() - kAttentionM;
      bool in_pairs = of.strides[n] == 1 && n_ % 2 == 0 && of.offset % 2 == 0;
      for (std::size_t d = 0; d < kernel_.space.size(); ++d)
        in_pairs = in_pairs && (d == n || kernel_.space[d].extent == 1 || of.strides[d] % 2 == 0);
      const bool of_queries = of.strides[m] != 0 && m_ > 1;
      const DType type = program_.buffers[static_cast<std::size_t>(of.buffer)].dtype;
      const std::int64_t more = settings_.keys / 4 * (of_queries ? 2 : 1) * static_cast<std::int64_t>(Bytes(type));
      if (of.strides[n] == 0 || n_ < 2 || bytes + more > kMostHeld) return;
      bytes += more;
      held.push_back({operand, of_queries, in_pairs, fmt::format("pairs{}", held.size()),
                      PackType(out_, std::string(DeviceType(type)), 2)});
    });
    return held;
  }

  // The function `look` that reads them.
  void Look(bool ragged, const std::vector<std::string>& batches) {
    held_ = HeldOperands();
    if (held_.empty()) return out_.Line("const auto look = [](int) { return 0; };");
    out_.Open("struct Looked");
    for (const Held& held : held_)
      out_.Line(fmt::format("{} {}[{}];", held.pair, held.name, settings_.keys / 8 * (held.of_queries ? 2 : 1)));
    out_.CloseWith(";");
    out_.Open("const auto look = [&](int tile)");
    out_.Line("Looked looked;");
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", settings_.keys / 8));
    out_.Line(fmt::format("const int n = tile * {} + i * 8 + column;", settings_.keys));
    // Keys behind the last are read again; what comes of them is not looked at.
    const auto key = [&](const std::string& place, std::int64_t last) {
      return ragged ? fmt::format("min({}, {})", place, last) : place;
    };
    const auto read = [&](const Held& held, const std::string& at, const std::string& m) {
      const auto element = [&](const std::string& place) {
        return AttentionElement(out_, kernel_, held.operand, Places(batches, m, "0", place), index_);
      };
      if (held.in_pairs) {
        out_.Line(fmt::format("looked.{}[{}] = reinterpret_cast<const {}&>({});", held.name, at, held.pair,
                              element(key("n", n_ - 2))));
      } else {
        out_.Line(fmt::format("looked.{0}[{1}] = {{{2}, {3}}};", held.name, at, element(key("n", n_ - 1)),
                              element(key("n + 1", n_ - 1))));
      }
    };
    for (const Held& held : held_) {
      if (!held.of_queries) read(held, "i", "0");
    }
    if (std::any_of(held_.begin(), held_.end(), [](const Held& held) { return held.of_queries; })) {
      out_.Unroll();
      out_.Open("for (int half = 0; half < 2; ++half)");
      const bool rows_end = m_ % settings_.queries != 0;
      out_.Line(rows_end ? fmt::format("const int m = min(row + half * 8, {});", m_ - 1)
                         : std::string("const int m = row + half * 8;"));
      for (const Held& held : held_) {
        if (held.of_queries) read(held, "i * 2 + half", "m");
      }
      out_.Close();
    }
    out_.Close();
    out_.Line("return looked;");
    out_.CloseWith(";");
  }

  // The function `name` that makes scores of a tile's products; `within` stands for what has to be alike, where all
  // that lies between is.
  void Score(const std::string& name, const Expr& score, const Expr& within, bool causal, bool ragged,
             const std::vector<std::string>& batches) {
    out_.Open(fmt::format("const auto {} = [&](float (&scores)[{}], int tile, const auto& looked)", name,
                          settings_.keys / 2));
    if (alike_.any()) {
      out_.Open("if (alike)");
      Scores(ScoreAlike(seen_, score, within), true, causal, ragged, batches);
      out_.Line("return;");
      out_.Close();
    }
    Scores(score, false, causal, ragged, batches);
    out_.CloseWith(";");
  }
  // Its body. `alike`: of keys that are alike between those two.
  void Scores(const Expr& score, bool alike, bool causal, bool ragged, const std::vector<std::string>& batches) {
    const bool plain = IsValue(score, kIt);
    if (!plain || causal || ragged) {
      out_.Unroll();
      out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", settings_.keys / 2));
      out_.Line("const int m = row + i / 2 % 2 * 8;");
      out_.Line(fmt::format("const int n = tile * {} + i / 4 * 8 + i % 2 + column;", settings_.keys));
      if (!plain) {
        // Behind the last query and key elements are read again; what comes of it is not looked at.
        const bool rows_end = m_ % settings_.queries != 0;
        if (rows_end) out_.Line(fmt::format("const int at_m = min(m, {});", m_ - 1));
        if (ragged) out_.Line(fmt::format("const int at_n = min(n, {});", n_ - 1));
        out_.Line("const float it = scores[i];");
        if (UsesValue(score, kShown)) {
          std::vector<std::string> between;
          if (limits_ && !seen_.from.empty()) between.emplace_back("n >= own_from[i / 2 % 2]");
          if (limits_ && !seen_.end.empty()) between.emplace_back("n < own_end[i / 2 % 2]");
          if (alike) between.emplace_back("n >= alike_from && n < alike_end");
          out_.Line(fmt::format("const bool shown = {};", fmt::join(between, " && ")));
        }
        const auto held = [&](std::size_t operand) -> std::string {
          for (const Held& one : held_) {
            if (one.operand == operand)
              return fmt::format("looked.{}[i / 4{}].at[i % 2]", one.name, one.of_queries ? " * 2 + i / 2 % 2" : "");
          }
          return "";
        };
        const auto places = Places(batches, rows_end ? "at_m" : "m", "0", ragged ? "at_n" : "n");
        out_.Line(fmt::format("scores[i] = {};", AttentionScoreText(out_, kernel_, score, places, index_, held)));
      }
      std::string hidden;
      if (causal) hidden = "n > m";
      if (ragged) hidden += fmt::format("{}n >= {}", hidden.empty() ? "" : " || ", n_);
      if (!hidden.empty()) out_.Line(fmt::format("if ({}) scores[i] = {};", hidden, out_.Number(HiddenScore(kernel_))));
      out_.Close();
    }
  }

  // What is written of a thread's sums: two neighbours of every eight columns, of two rows.
  void End(const std::vector<std::string>& batches) {
    const std::string type = DeviceType(program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype);
    const std::int64_t pack = e_ % 2 == 0 ? 2 : 1;
    out_.Unroll();
    out_.Open("for (int half = 0; half < 2; ++half)");
    out_.Line("const int m = row + half * 8;");
    if (m_ % settings_.queries != 0) out_.Line(fmt::format("if (m >= {}) continue;", m_));
    out_.Line(fmt::format("const float by = {};", AttentionResult(kernel_, "1.0f", "block.total[half]")));
    WriteRowSum(out_, kernel_, fmt::format("InLog2(block.most[half], {})", out_.Number(kLog2E * score_.factor)),
                "block.total[half]");
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", RoundUp(e_, 8) / 8));
    const auto guard = [&](const std::string& column) {
      return e_ % 8 == 0 ? std::string() : fmt::format("if ({} < {}) ", column, e_);
    };
    out_.Line(fmt::format("{} made;", PackType(out_, type, 2)));
    out_.Unroll();
    out_.Open("for (int j = 0; j < 2; ++j)");
    out_.Line("const int e = i * 8 + column + j;");
    if (e_ % 8 != 0) out_.Line(fmt::format("if (e >= {}) continue;", e_));
    out_.Line("const float it = block.sums[i * 4 + half * 2 + j] * by;");
    out_.Line(
        fmt::format("made.at[j] = {};",
                    DeviceExpr::Stored(Text(kernel_.epilogue, Places(batches, "m", "e", "0")), kernel_.epilogue->type,
                                       program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype)));
    if (pack == 1) out_.Line(fmt::format("{}[{} + e] = made.at[j];", out_.TargetName(), RowAddress(batches)));
    out_.Close();
    if (pack == 2) {
      out_.Line(fmt::format("{}*reinterpret_cast<{}*>({} + {} + i * 8 + column) = made;", guard("i * 8 + column"),
                            PackType(out_, type, 2), out_.TargetName(), RowAddress(batches)));
    }
    out_.Close();
    out_.Close();
  }
  // Of a query's row in the result.
  std::string RowAddress(const std::vector<std::string>& batches) const {
    if (kernel_.attributes.at("heads")[0] == 0)
      return fmt::format("(static_cast<{}>(matrix) * {} + m) * {}", index_, m_, e_);
    return AttentionPlace(kernel_, Places(batches, "m", "0", "0"));
  }

  std::vector<std::string> Places(const std::vector<std::string>& batches, const std::string& m, const std::string& e,
                                  const std::string& n) const {
    std::vector<std::string> places = batches;
    places.insert(places.end(), {m, e, n, "0"});
    return places;
  }
  std::string Text(const Expr& expr, const std::vector<std::string>& places) const {
    return AttentionText(out_, kernel_, expr, places, index_);
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  Settings settings_;
  std::int64_t m_ = 1, e_ = 1, n_ = 1, d_ = 1, batches_ = 1, tiles_ = 1, items_ = 1;
  bool causal_ = false, limits_ = false;  // limits: some conditions of the score say no more than those
  std::array<Matrices, 3> matrices_;
  DType type_ = DType::kF16;
  ScaledScore score_;
  Expr between_;  // of keys that are between all limits
  SeenKeys seen_;
  AlikeKeys alike_;
  std::vector<Held> held_;
  std::string index_ = "int", counter_;  // counter: of the items handed out; empty: they are known before
};

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  AttentionEmitter(program, kernel, out).Emit();
}

}  // namespace

HONE_ROW(Way){
    .family = "attention",
    .name = "tiles",
    .doc = "tiles of queries, keys and values in shared memory",
    .why_not = WhyNot,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_attention_tiles
