// map(EXPR): every element on its own.
#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl::family_map {
namespace {

double Flops(const Kernel& kernel) { return SpaceCount(kernel) * OperationsPerElement(kernel.epilogue); }

}  // namespace

HONE_ROW(Family){
    .name = "map",
    .doc = "Each element of the result from the same element of the operands, broadcast as numpy does.",
    .grammar = "map(EXPR)",
    .variants = {},
    .operands = 1,
    .flops = Flops,
};

}  // namespace hone::dsl::family_map
