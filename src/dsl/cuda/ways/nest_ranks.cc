// Two kernels: see dsl/cuda/ranks.h.
#include "dsl/cuda/nest_ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/cuda/ranks.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_nest_ranks {
namespace {

void Emit(const KernelProgram&, const Kernel& kernel, DeviceWriter& out) {
  const RankedNest nest = *RankedFoldIn(kernel);
  const Expr& element = nest.fold.element;
  WriteRanks(out, kernel,
             {.along = nest.fold.along,
              .elements = nest.element.indices,
              .descending = nest.fold.descending,
              .value =
                  [&](const auto& names) {
                    const std::string value = ValueText(out, kernel, element, names);
                    return fmt::format("{}({})", out.Type(element->type), value);
                  },
              .value_reads = BuffersOf(kernel, element),
              .end = [&](const auto& names,
                         const std::string& place) { WriteElement(out, kernel, nest.element, names, {.made = place}); },
              .end_reads = OperandBuffers({&kernel, 1})},
             IntSetting(kernel, "block"));
}

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const auto nest = RankedFoldIn(kernel);
  if (!nest) return "it has no fold, or more than one, that counts what comes before an element of its row";
  if (PointsOf(nest->element.indices) >= kMostRanked) return "there are too many elements to be sorted";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {kBlockThreadsKnob};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "ranks",
    .doc = "for places in order (sorting): rows are sorted in chunks, in which each element looks for its place",
    .why_not = WhyNot,
    .cost = [](const Kernel& kernel) { return RanksPay(kernel) ? std::optional<double>(1) : std::nullopt; },
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_nest_ranks
