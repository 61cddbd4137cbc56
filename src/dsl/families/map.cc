// map(EXPR): every element on its own, and others made of the same (also).
#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl::family_map {
namespace {

double Flops(const Kernel& kernel) {
  double operations = 0;
  for (const auto& element : ElementsOf(kernel)) operations += OperationsPerElement(element);
  return SpaceCount(kernel) * operations;
}

}  // namespace

HONE_ROW(Family){
    .name = "map",
    .doc = "Each element of the result from the same element of the operands, broadcast as numpy does.",
    .grammar = "map(EXPR) -> EXPR also NAME = EXPR",
    .variants = {},
    .operands = 1,
    .takes_also = true,
    .flops = Flops,
};

}  // namespace hone::dsl::family_map
