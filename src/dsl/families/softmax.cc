// softmax(EXPR) over [AXES], softmax log(EXPR) over [AXES].
#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl::family_softmax {
namespace {

constexpr std::string_view kVariants[] = {"", "log"};

double Flops(const Kernel& kernel) { return SpaceCount(kernel) * (24 + OperationsPerElement(kernel.inputs[0])); }

}  // namespace

HONE_ROW(Family){
    .name = "softmax",
    .doc = "exp(x) over its sum along axes, or the logarithm of that; the largest element is taken out first.",
    .grammar = "softmax [log](EXPR) over [AXES]",
    .variants = kVariants,
    .operands = 1,
    .takes_axes = true,
    .keeps_axes = true,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .flops = Flops,
};

}  // namespace hone::dsl::family_softmax
