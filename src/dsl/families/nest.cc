// nest [i < 8, j < 16] (EXPR): whatever one element is, written out. For what no other family says: windows,
// concatenations, gathers, recurrences.
#include "dsl/cpu/nest.h"

#include <fmt/format.h>

#include "dsl/cuda/nest.h"
#include "dsl/element.h"
#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

constexpr Attribute kAttributes[] = {
    {"sequence", "the number of a sequence: nests next to each other that have it run in lockstep"},
    {"along", "in a sequence: which index is the step, 0 = the outermost"},
    {"reversed", "in a sequence: 1 = from the last step to the first"},
};

// The space is made of the indices; what is left out of the attributes is 0.
std::optional<std::string> Shape(Kernel& kernel, const std::vector<hone::Shape>&, std::vector<std::vector<int>>&) {
  auto& attributes = kernel.attributes;
  for (const auto& [name, value] : attributes) {
    if (value.size() != 1 || value[0] < 0) return fmt::format("'{}' is one whole number, 0 or more", name);
  }
  if (!attributes.contains("sequence"))
    return attributes.empty() ? std::nullopt
                              : std::optional(fmt::format("'{}' says how a sequence runs: add 'sequence: 1'",
                                                          attributes.begin()->first));
  attributes.try_emplace("along", std::vector<std::int64_t>{0});
  attributes.try_emplace("reversed", std::vector<std::int64_t>{0});
  const auto indices = static_cast<std::int64_t>(kernel.space.size());
  if (attributes["along"][0] >= indices)
    return fmt::format("'along' {} is no index of this nest, which has {}: they count from 0", attributes["along"][0],
                       indices);
  if (attributes["reversed"][0] > 1) return "'reversed' is 0 or 1";
  return std::nullopt;
}

double Flops(const Kernel& kernel) { return SpaceCount(kernel) * FoldedOperations(kernel.epilogue); }

bool HasFolds(const Kernel& kernel) { return !OuterFolds(kernel.epilogue, {}).empty(); }

std::vector<Setting> NestThreadsValues(const Kernel& kernel) {
  const bool small = SpaceCount(kernel) + Flops(kernel) / 8 < 20e3;  // as for other families: what threads are worth
  std::vector<Setting> values =
      small ? std::vector<Setting>{Whole(1), Whole(0)} : std::vector<Setting>{Whole(0), Whole(1)};
  if (kernel.device->threads >= 4) values.push_back(Whole(kernel.device->threads / 2));
  return values;
}

std::vector<Setting> BlockValues(const Kernel& kernel) {
  if (!HasFolds(kernel)) return {Whole(16384), Whole(4096)};
  return {Whole(64), Whole(32), Whole(128), Whole(256)};
}
std::optional<std::string> CheckBlock(const Kernel&, const Setting& value) {
  return CheckRange(value, 8, std::int64_t{1} << 20);
}

std::vector<Setting> InnerValues(const Kernel& kernel) {
  if (!HasFolds(kernel)) return {Word("auto")};
  return {Word("auto"), Word("result"), Word("fold")};
}
std::optional<std::string> CheckInner(const Kernel&, const Setting& value) {
  return CheckWord(value, {"auto", "result", "fold"});
}

constexpr Knob kKnobs[] = {
    {"threads", kThreadsKnob.doc, NestThreadsValues, CheckThreads},
    kVectorKnob,
    {"block", "elements of the innermost index that are taken at a time", BlockValues, CheckBlock},
    {"inner", "result: a block of results side by side grows with the folds; fold: one result after the other; auto",
     InnerValues, CheckInner},
};

}  // namespace

HONE_FAMILY(nest){
    .name = "nest",
    .doc = "Each element of the result from an expression over its indices, with elements and folds written out.",
    .grammar = "nest [INDEX < EXTENT, ...] (EXPR)",
    .variants = {},
    .operands = 1,
    .takes_indices = true,
    .knobs = kKnobs,
    .attributes = kAttributes,
    .shape = Shape,
    .flops = Flops,
    .emit_cpu = EmitNest,
    .emit_cuda = EmitNestCuda,
    .cuda_knobs = NestKnobsCuda,
};

}  // namespace hone::dsl
