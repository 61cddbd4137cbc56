#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/cuda/nest_groups.h"
#include "dsl/cuda/nest_ranks.h"
#include "dsl/cuda/turned_nest.h"
#include "dsl/element.h"
#include "dsl/knobs.h"
#include "dsl/shape/keyed_nest.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_nest_elements {
namespace {

using Kind = Expr::Kind;

constexpr double kAcross = 3;  // times as long where neighbours read across memory

// Whether windows of neighbouring results along `index` share elements: some address steps by it as by an index that is
// folded over.
bool SharesWindows(const Expr& value, int index) {
  bool shares = false;
  std::set<int> folded;
  Visit(value, [&](const ExprNode& node) {
    for (const auto& over : node.over) folded.insert(over.id);
  });
  Visit(value, [&](const ExprNode& node) {
    if (node.kind != Kind::kLoad || node.operands.size() != 1) return;
    const LinearForm form = LinearOf(node.operands[0]);
    const auto own = form.sum.coefficient.find(index);
    if (own == form.sum.coefficient.end()) return;
    for (const auto& [other, step] : form.sum.coefficient)
      shares |= other != index && folded.contains(other) && step == own->second;
  });
  return shares;
}

// Results of a thread, along the index before the innermost one, so that a warp's loads stay next to each other.
std::vector<Setting> ResultsValues(const Kernel& kernel) {
  if (kernel.attributes.contains("sequence")) return {Whole(1)};
  const FlatElement element = MakeFlat(kernel, {});
  if (element.indices.size() < 2) return {Whole(1)};
  const IndexVar& index = element.indices[element.indices.size() - 2];
  if (!SharesWindows(element.value, index.id)) return {Whole(1)};
  std::vector<Setting> values;
  for (const std::int64_t results : {6, 4, 5, 8, 2, 3}) {
    if (index.extent % results == 0 && values.size() < 3) values.push_back(Whole(results));
  }
  values.push_back(Whole(1));
  return values;
}
std::optional<std::string> CheckResults(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 64)) return why;
  const std::int64_t results = std::get<std::int64_t>(value.value);
  if (results == 1) return std::nullopt;
  if (kernel.attributes.contains("sequence")) return "a step of a sequence has one; try 1";
  const FlatElement element = MakeFlat(kernel, {});
  if (element.indices.size() < 2 || element.indices[element.indices.size() - 2].extent % results != 0)
    return "it divides the extent of the index before the innermost; try 1";
  return std::nullopt;
}

// Sequences of a batch from which on a block each is faster than all blocks for each step: measured with 256 hidden
// elements, 10 take half of the time spread, 64 nearly twice.
constexpr std::int64_t kManyLanes = 32;

std::vector<Setting> SpreadValues(const Kernel& kernel) {
  if (!kernel.attributes.contains("sequence") || !DeviceExpr::HasSumsToShare(kernel.epilogue)) return {Word("no")};
  const auto along = static_cast<std::size_t>(kernel.attributes.at("along")[0]);
  std::int64_t lanes = 1;
  for (std::size_t d = 0; d + 1 < kernel.space.size(); ++d) {
    if (d != along) lanes *= kernel.space[d].extent;
  }
  return lanes < kManyLanes ? std::vector{Word("yes"), Word("no")} : std::vector{Word("no"), Word("yes")};
}
std::optional<std::string> CheckSpread(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {"no", "yes"})) return why;
  if (std::get<std::string>(value.value) == "yes" && !kernel.attributes.contains("sequence"))
    return "only a sequence has steps; try no";
  return std::nullopt;
}

std::int64_t MostNeighbours(const Kernel& kernel) {
  if (kernel.attributes.contains("sequence")) return 1;
  const FlatElement element = MakeFlat(kernel, {});
  return NeighboursOf(kernel, element, element.value);
}
// The innermost index's extent, where places of what is read are divisions by it, as those of rows of windows side by
// side are: a thread that makes all of a short row knows them when it is compiled. 0: it is better not.
std::int64_t WholeRow(const Kernel& kernel) {
  constexpr std::int64_t kMostInRow = 32, kPackBytes = 16;
  if (kernel.attributes.contains("sequence")) return 0;
  const FlatElement element = MakeFlat(kernel, {});
  if (element.indices.empty()) return 0;
  const IndexVar& along = element.indices.back();
  std::size_t innermost = kernel.space.size() - 1;
  while (innermost > 0 && kernel.space[innermost].extent == 1) --innermost;
  const std::int64_t extent = along.extent, bytes = extent * static_cast<std::int64_t>(Bytes(kernel.target_type));
  if (kernel.space[innermost].id != along.id || extent < 2 || extent > kMostInRow || bytes % kPackBytes != 0) return 0;
  bool divides = false, plain = !LooksUp(element.value);
  Visit(element.value, [&](const ExprNode& node) {
    plain &= node.kind != Kind::kReduce;
    divides |= node.kind == Kind::kBinary &&
               (node.binary == BinaryOp::kFloorDiv || node.binary == BinaryOp::kFloorMod) &&
               UsesIndex(node.operands[0], along.id) && node.operands[1]->kind == Kind::kConst;
  });
  return divides && plain ? extent : 0;
}
std::int64_t WholeGroup(const Kernel& kernel) {
  return kernel.attributes.contains("sequence") ? 1 : GroupOf(kernel, MakeFlat(kernel, {}));
}
std::vector<Setting> NeighboursValues(const Kernel& kernel) {
  const bool one_result = IntSetting(kernel, "results") == 1;
  const std::int64_t most = one_result ? MostNeighbours(kernel) : 1, row = one_result ? WholeRow(kernel) : 0;
  constexpr std::int64_t kManyThreads = 1 << 17;
  if (most == 1 && row > 0) {
    const bool many = PointsOf(kernel.space) >= kManyThreads * row;
    return many ? std::vector{Whole(row), Whole(1)} : std::vector{Whole(1), Whole(row)};
  }
  if (const std::int64_t group = one_result ? WholeGroup(kernel) : 1; group > 1) return {Whole(group), Whole(1)};
  if (most == 1) return {Whole(1)};
  // Where data say which row is read, finding that out takes longer than an element. Where nothing is folded, memory is
  // all that there is to wait for: a rotary embedding of halves is 2.8 times as fast (docs/measured/cuda_16bit.md).
  bool looks_up = false, folds = false;
  Visit(kernel.epilogue, [&](const ExprNode& node) {
    for (const auto& index : node.operands) looks_up |= node.kind == Kind::kLoad && HasLoad(index);
    folds |= node.kind == Kind::kReduce;
  });
  return looks_up || !folds ? std::vector{Whole(most), Whole(1)} : std::vector{Whole(1), Whole(most)};
}
std::optional<std::string> CheckNeighbours(const Kernel& kernel, const Setting& value) {
  const auto* whole = std::get_if<std::int64_t>(&value.value);
  if (whole && *whole > 1 && IntSetting(kernel, "results") == 1 && *whole == WholeRow(kernel)) return std::nullopt;
  if (auto why = CheckRange(value, 1, 16)) return why;
  if (*whole > 1 && IntSetting(kernel, "results") == 1 && *whole == WholeGroup(kernel)) return std::nullopt;
  const std::int64_t pack = std::get<std::int64_t>(value.value);
  if (pack == 1) return std::nullopt;
  if (IntSetting(kernel, "results") != 1) return "a thread takes neighbours along one index; try 1";
  const std::int64_t most = MostNeighbours(kernel);
  return most % pack == 0 ? std::nullopt
                          : std::optional(fmt::format("elements lie in packs of {} here; try {}", most, most));
}

constexpr Knob kKnobs[] = {
    kBlockThreadsKnob,
    {"results", "neighbours along the index before the innermost that a thread computes: their windows overlap",
     ResultsValues, CheckResults},
    {"pack",
     "neighbours along the innermost index that a thread reads and writes as one, or a short row of them; where "
     "that index is shorter, several of its rows",
     NeighboursValues, CheckNeighbours},
    {"spread", "yes: all blocks share each step of a sequence and meet after it; no: a block has its part of the batch",
     SpreadValues, CheckSpread},
};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "elements",
    .doc = "a thread an element, as it is written",
    .cost = [](const Kernel& kernel) -> std::optional<double> {
      if (ListsPay(kernel) || RanksPay(kernel)) return std::nullopt;
      return AcrossIn(kernel) ? kAcross : 1;
    },
    .knobs = kKnobs,
    .emit_cuda = EmitNestCuda,
};

}  // namespace hone::dsl::cuda_way_nest_elements
