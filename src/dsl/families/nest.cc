// nest [i < 8, j < 16] (EXPR): whatever one element is, written out. For what no other family says: windows,
// concatenations, gathers, recurrences.
#include <fmt/format.h>

#include "dsl/element.h"
#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::family_nest {
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

double Flops(const Kernel& kernel) { return LooksOf(kernel) * FoldedOperations(kernel.epilogue); }

}  // namespace

HONE_ROW(Family){
    .name = "nest",
    .doc = "Each element of the result from an expression over its indices, with elements and folds written out.",
    .grammar = "nest [INDEX < EXTENT, ...] (EXPR)",
    .variants = {},
    .operands = 1,
    .takes_indices = true,
    .cuda_choice = "way",
    .attributes = kAttributes,
    .shape = Shape,
    .flops = Flops,
};

}  // namespace hone::dsl::family_nest
