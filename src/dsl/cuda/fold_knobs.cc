// What can be set on kernels that fold (folds.h), and what to begin with.
#include "dsl/cuda/fold_knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/rounding.h"
#include "dsl/cuda/fold_turned.h"
#include "dsl/cuda/knobs.h"
#include "dsl/knobs.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/shape/updated_places.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kLargeRow = 32 << 10;  // bytes of a row, or of a block's part of it
constexpr std::int64_t kShortFold = 32;       // elements
constexpr std::int64_t kWarpsAProcessor = 32;
constexpr std::int64_t kLeastChunk = 4096;  // elements of a chunk
constexpr std::int64_t kChunk = 128 << 10;  // elements of a chunk of a single row (docs/measured/cuda_rows.md)
constexpr std::int64_t kMostChunks = 8192;  // which one block folds
// What a block of a team keeps of a row, and its threads: three small ones on a multiprocessor; of rows that take many,
// two that keep as much as there is room for, so that more rows are under way while blocks wait for each other.
constexpr std::int64_t kTeamBytes = 96 << 10, kTeamThreads = 256, kSmallTeam = 32;
constexpr std::int64_t kLargeTeamBytes = 160 << 10, kLargeTeamThreads = 512;
constexpr std::int64_t kSeveralTeamBytes = 144 << 10;  // of several operands: a thread keeps whole packs of each

struct Extents {
  bool rows = true;  // the innermost dimension is folded
  std::int64_t kept = 1, reduced = 1;
};

Extents ExtentsOf(const Kernel& kernel) {
  Extents extents;
  extents.rows = FoldsRows(kernel);
  for (std::size_t d = 0; d < kernel.space.size(); ++d) {
    const bool reduced = std::binary_search(kernel.axes.begin(), kernel.axes.end(), static_cast<int>(d));
    (reduced ? extents.reduced : extents.kept) *= kernel.space[d].extent;
  }
  return extents;
}

std::int64_t PowerUp(std::int64_t x) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(x, 1))));
}

std::vector<Setting> Distinct(const std::vector<std::int64_t>& values) {
  std::vector<Setting> settings;
  for (const auto value : values) {
    if (std::find(settings.begin(), settings.end(), Whole(value)) == settings.end()) settings.push_back(Whole(value));
  }
  return settings;
}

std::int64_t Processors(const Kernel& kernel) { return kernel.device->multiprocessors; }

bool FindsPlace(const Kernel& kernel) { return kernel.variant == "argmax" || kernel.variant == "argmin"; }

// What a statement says itself, or what has been decided before; 0: nothing.
std::int64_t Said(const Kernel& kernel, const std::string& knob) {
  const auto found = kernel.settings.find(knob);
  const auto* number = found == kernel.settings.end() ? nullptr : std::get_if<std::int64_t>(&found->second.value);
  return number ? *number : 0;
}

// Blocks of columns, of four a thread of a warp.
std::int64_t ColumnBlocks(const Kernel& kernel) {
  const std::int64_t last = std::max<std::int64_t>(kernel.space.back().extent, 1);
  return std::max<std::int64_t>(ExtentsOf(kernel).kept / last * CeilDiv(last, 128), 1);
}

std::int64_t DefaultSplit(const Kernel& kernel) {
  if (FindsPlace(kernel) || Said(kernel, "team") > 1) return 1;  // in one piece
  const Extents extents = ExtentsOf(kernel);
  const std::int64_t units = extents.rows ? extents.kept : (extents.kept + 31) / 32;
  if (units >= 2 * Processors(kernel)) return 1;
  // A block has as many columns as there are side by side, up to 128.
  const std::int64_t columns = extents.rows ? 1 : kernel.space.back().extent >= 128 ? 128 : 32;
  const std::int64_t room = std::max<std::int64_t>(1, extents.reduced * columns / kLeastChunk);
  // A single row is read best in many short chunks: what is read at a time then lies close together in memory.
  if (extents.rows && units == 1)
    return std::min(std::clamp(extents.reduced / kChunk, 8 * Processors(kernel), kMostChunks), room);
  const std::int64_t split = std::min(CeilDiv(4 * Processors(kernel), std::max<std::int64_t>(units, 1)), room);
  if (extents.rows) return split;
  // A few blocks more than there are multiprocessors take as long as twice as many: 160 took 49 us, 128 take 38.
  const std::int64_t blocks = ColumnBlocks(kernel), fit = Processors(kernel) / blocks;
  return fit > 0 && split > fit && 2 * blocks * split < 3 * Processors(kernel) ? fit : split;
}

// A row of all that is folded and differs from row to row.
struct FoldedRow {
  std::int64_t bytes = 0, operands = 0;
};
FoldedRow RowOf(const Kernel& kernel) {
  const Extents extents = ExtentsOf(kernel);
  std::set<int> folded;
  const auto look = [&](const Expr& expr) {
    Visit(expr, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) folded.insert(node.buffer);
    });
  };
  for (const auto& input : kernel.inputs) look(input);
  for (const auto& let : kernel.lets) look(let.body);
  FoldedRow row;
  for (const int operand : folded) {
    const auto o = static_cast<std::size_t>(operand);
    bool along = false, across = extents.kept == 1;
    for (std::size_t d = 0; d < kernel.space.size(); ++d) {
      if (kernel.space[d].extent == 1 || kernel.operands[o].strides[d] == 0) continue;
      (std::binary_search(kernel.axes.begin(), kernel.axes.end(), static_cast<int>(d)) ? along : across) = true;
    }
    if (!along || !across) continue;
    row.bytes += static_cast<std::int64_t>(Bytes(kernel.operand_types[o])) * extents.reduced;
    ++row.operands;
  }
  return row;
}

// Blocks that share a row which one block cannot keep in its registers, and the threads of each; one block if the row
// is short, or longer than what blocks keep, or need not be kept because it is read once only. Several small blocks of
// different rows are on a multiprocessor where that is possible: some load while others store. Beyond what a cluster
// keeps in half of its registers, blocks that meet in memory are better: they are placed one by one, and shared memory
// keeps as much as registers (docs/measured/cuda_rows.md).
struct Sharing {
  std::int64_t cluster = 1, team = 1, threads = 0;
};
Sharing DefaultSharing(const Kernel& kernel) {
  const Extents extents = ExtentsOf(kernel);
  if (!extents.rows || !kernel.family->keeps_axes || DefaultSplit(kernel) > 1 ||
      extents.reduced <= 1024 * MostKept(kernel, 1024))
    return {};
  constexpr std::int64_t kFew = 64;  // floats of a thread
  const std::int64_t most_blocks = kernel.device->limits.cluster_blocks, most_team = Processors(kernel) / 2;
  const auto blocks_for = [&](std::int64_t threads, std::int64_t kept) {
    return PowerUp((extents.reduced + threads * kept - 1) / (threads * kept));
  };
  if (Said(kernel, "team") <= 1 && blocks_for(256, kFew) <= most_blocks)
    return {.cluster = blocks_for(256, kFew), .threads = 256};
  if (Said(kernel, "team") != 1 && Said(kernel, "cluster") <= 1) {
    const FoldedRow row = RowOf(kernel);
    const auto team_of = [&](std::int64_t bytes) { return (row.bytes + bytes - 1) / bytes; };
    if (const std::int64_t team = team_of(kTeamBytes); team > 1 && team <= kSmallTeam)
      return {.team = team, .threads = kTeamThreads};
    if (const std::int64_t team = team_of(row.operands == 1 ? kLargeTeamBytes : kSeveralTeamBytes);
        team > 1 && team <= most_team)
      return {.team = team, .threads = kLargeTeamThreads};
  }
  if (Said(kernel, "team") <= 1 && blocks_for(512, MostKept(kernel, 512)) <= most_blocks)
    return {.cluster = most_blocks, .threads = 512};
  return {};
}

// Long rows that maxima and the sums by them go along once are not kept, even where they could be. Small blocks,
// several of which are on a multiprocessor, and packs of 16 bytes: two rows of 32000 in bf16 take 151 us with 128
// threads, 155 with 256 and 198 with 512; one takes 77, 75 and 83, and 113 where it is kept
// (docs/measured/cuda_workloads.md).
bool IsReadAlong(const Kernel& kernel) {
  const FoldedRow row = RowOf(kernel);
  const bool is_kept =
      row.bytes <= kLargeRow && row.operands * ExtentsOf(kernel).reduced <= 1024 * MostKept(kernel, 1024);
  return GoesAlong(kernel) && DefaultSplit(kernel) == 1 && !is_kept;
}

}  // namespace

std::vector<Setting> FoldLanesValues(const Kernel& kernel) {
  const Extents extents = ExtentsOf(kernel);
  // A short fold is a thread's own. Of rows each has two packs, so that neighbours read what lies together: sums of 16
  // over 64 MB take 21 us, and 38 where a thread has them all (2026-11-29, H200).
  if (extents.reduced <= kShortFold && extents.kept >= 32 * Processors(kernel) && !kernel.family->keeps_axes &&
      !FindsPlace(kernel)) {
    const std::int64_t lanes = extents.rows ? PowerUp(std::max<std::int64_t>((extents.reduced + 4) / 8, 1)) : 1;
    return Distinct({lanes, 1, extents.rows ? 4 : 2, 8});
  }
  // What is written into the rows that are read lies as close together where each thread has one pack.
  if (extents.reduced <= kShortFold && extents.kept >= 32 * Processors(kernel) && extents.rows &&
      ReplacesOperand(kernel)) {
    const std::int64_t lanes = PowerUp(std::max<std::int64_t>((extents.reduced + 3) / 4, 1));
    return Distinct({lanes, std::max<std::int64_t>(lanes / 2, 1), 1});
  }
  if (!extents.rows) {
    // Few blocks need many warps to have enough on its way.
    const std::int64_t wanted = kWarpsAProcessor * Processors(kernel) / (ColumnBlocks(kernel) * DefaultSplit(kernel));
    std::int64_t warps = 8;
    while (warps < 32 && warps < wanted && 2 * warps * kShortFold <= extents.reduced) warps *= 2;
    return Distinct({warps, 8, 16, 4, 32});
  }
  if (const Sharing sharing = DefaultSharing(kernel); sharing.threads > 0)
    return Distinct({sharing.threads, sharing.threads == 256 ? 512 : 256, 1024});
  if (IsReadAlong(kernel)) return Distinct({RowOf(kernel).operands > 1 ? 128 : 256, 128, 256, 512});
  const std::int64_t split = DefaultSplit(kernel);
  if (const std::int64_t lanes = split == 1 ? TurnedLanes(kernel) : 0; lanes > 0) return Distinct({lanes, 16, 8, 4});
  const std::int64_t most = split > 1 && extents.kept == 1 ? 512 : 1024;
  const std::int64_t best = std::clamp<std::int64_t>(PowerUp((extents.reduced / split + 15) / 16), 1, most);
  return Distinct({best, std::clamp<std::int64_t>(best / 2, 1, 1024), std::clamp<std::int64_t>(best * 2, 1, 1024),
                   std::clamp<std::int64_t>(best / 4, 1, 1024)});
}
std::optional<std::string> CheckFoldLanes(const Kernel& kernel, const Setting& value) {
  const auto* lanes = std::get_if<std::int64_t>(&value.value);
  const bool rows = FoldsRows(kernel);
  const std::int64_t most = rows ? 1024 : 32;
  if (lanes && *lanes >= 1 && *lanes <= most && std::has_single_bit(static_cast<std::uint64_t>(*lanes)))
    return std::nullopt;
  return fmt::format("it is a power of two from 1 to {} here", most);
}

// What is read again is worth keeping; a fold that reads its elements once has nothing of it.
std::vector<Setting> FoldKeepValues(const Kernel& kernel) {
  const Extents extents = ExtentsOf(kernel);
  if (DefaultSplit(kernel) > 1) return {Word("no")};
  if (!extents.rows) {
    // A warp of each lane: 8 lanes of four columns.
    if (!kernel.family->keeps_axes || extents.reduced > 8 * MostKept(kernel, 256) / 4) return {Word("no")};
    return {Word("yes"), Word("no")};
  }
  if (IsReadAlong(kernel)) return {Word("no"), Word("yes")};
  if (extents.reduced > 1024 * MostKept(kernel, 1024) && DefaultSharing(kernel).threads == 0 &&
      Said(kernel, "team") <= 1)
    return {Word("no")};
  return {Word("yes"), Word("no")};
}
std::optional<std::string> CheckFoldKeep(const Kernel&, const Setting& value) {
  return CheckWord(value, {"no", "yes"});
}

std::vector<Setting> FoldPackValues(const Kernel& kernel) {
  if (!IsReadAlong(kernel)) return PackValues(kernel);
  const FoldedRow row = RowOf(kernel);
  const bool of_halves = row.bytes <= 2 * row.operands * ExtentsOf(kernel).reduced;
  return of_halves ? Distinct({8, 4, 2, 1}) : PackValues(kernel);
}

std::vector<Setting> FoldChunksValues(const Kernel& kernel) {
  const std::int64_t best = DefaultSplit(kernel);
  if (best == 1) return {Whole(1)};
  return Distinct({best, std::max<std::int64_t>(best / 2, 1), best * 2});
}
std::optional<std::string> CheckFoldChunks(const Kernel& kernel, const Setting& value) {
  if (FindsPlace(kernel) && value != Whole(1)) return "the place of an extreme is found in one piece; try 1";
  return CheckRange(value, 1, 1 << 20);
}

std::vector<Setting> FoldClusterValues(const Kernel& kernel) {
  const std::int64_t best = DefaultSharing(kernel).cluster;
  if (best == 1) return {Whole(1)};
  return Distinct({best, std::min<std::int64_t>(best * 2, kernel.device->limits.cluster_blocks), 1});
}
std::optional<std::string> CheckFoldCluster(const Kernel& kernel, const Setting& value) {
  const auto* blocks = std::get_if<std::int64_t>(&value.value);
  if (!blocks || (*blocks != 1 && *blocks != 2 && *blocks != 4 && *blocks != 8)) return "it is 1, 2, 4 or 8; try 1";
  if (*blocks == 1) return std::nullopt;
  if (*blocks > kernel.device->limits.cluster_blocks)
    return fmt::format("{} has no clusters of {} blocks; try 1", kernel.device->processor, *blocks);
  if (!FoldsRows(kernel)) return "blocks share rows, and here the innermost dimension is not folded; try 1";
  if (IntSetting(kernel, "lanes") < kRowThreads)
    return fmt::format("blocks that share a row have {} lanes or more; try 1", kRowThreads);
  if (IntSetting(kernel, "split") > 1) return "a row that is split has no clusters; try 1";
  return std::nullopt;
}

std::vector<Setting> FoldTeamValues(const Kernel& kernel) {
  const std::int64_t best = DefaultSharing(kernel).team;
  if (best == 1) return {Whole(1)};
  return Distinct({best, best + (best + 2) / 3, best * 2, 1});
}
std::optional<std::string> CheckFoldTeam(const Kernel& kernel, const Setting& value) {
  if (value == Whole(1)) return std::nullopt;
  if (auto why = CheckRange(value, 1, Processors(kernel))) return why;
  const std::int64_t blocks = std::get<std::int64_t>(value.value);
  if (!FoldsRows(kernel)) return "blocks share rows, and here the innermost dimension is not folded; try 1";
  const std::int64_t lanes = IntSetting(kernel, "lanes");
  if (lanes < kRowThreads || lanes < blocks)
    return fmt::format("each thread of a block hears one of its team: {} lanes or more; try 1",
                       std::max(kRowThreads, blocks));
  if (IntSetting(kernel, "split") > 1) return "the chunks of a row that is split have no teams; try 1";
  if (IntSetting(kernel, "cluster") > 1) return "the blocks of a row are a cluster or a team; try 1";
  if (IntSetting(kernel, "ahead") > 1) return "a block of a team has one row, and fetches none ahead; try 1";
  return std::nullopt;
}

// Copies on their way beside the work cost more than they hide on most rows; for trying, not a default.
std::vector<Setting> FoldAheadValues(const Kernel& kernel) {
  const Extents extents = ExtentsOf(kernel);
  const Sharing sharing = DefaultSharing(kernel);
  const bool large = 4 * extents.reduced / sharing.cluster >= kLargeRow && sharing.team == 1;
  if (!extents.rows || !kernel.family->keeps_axes || DefaultSplit(kernel) > 1 || !large) return {Whole(1)};
  return {Whole(1), Whole(4), Whole(16)};
}
std::optional<std::string> CheckFoldAhead(const Kernel&, const Setting& value) { return CheckRange(value, 1, 1024); }

std::int64_t MostKept(const Kernel& kernel, std::int64_t threads) {
  const std::int64_t registers = kernel.device->limits.registers;
  const std::int64_t each = std::min<std::int64_t>(registers / std::max<std::int64_t>(threads, kRowThreads), 255);
  return std::min<std::int64_t>(each - 32, 96);
}

}  // namespace hone::dsl
