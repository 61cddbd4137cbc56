// reduce sum|prod|mean|max|min|argmax|argmin(EXPR) over [AXES]: one value a row, a column or the whole.
#include <fmt/format.h>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/reduction.h"

namespace hone::dsl::family_reduce {
namespace {

constexpr std::string_view kVariants[] = {"sum", "prod", "mean", "max", "min", "argmax", "argmin"};

double Flops(const Kernel& kernel) {
  double operations = 1 + OperationsPerElement(kernel.inputs[0]);
  for (const auto& let : kernel.lets) operations += 1 + OperationsPerElement(let.body);
  return SpaceCount(kernel) * operations;
}

std::optional<std::string> Check(const KernelProgram&, const Kernel& kernel) {
  if (FindsPlace(kernel) && !kernel.lets.empty()) return fmt::format("'{}' takes no lets", kernel.variant);
  for (const auto& index : kernel.space) {
    if (index.extent == 0 && (kernel.variant == "max" || kernel.variant == "min" || FindsPlace(kernel)))
      return "there is no largest of nothing: an extent is 0";
  }
  return std::nullopt;
}

// Bools are counted.
ScalarType Type(const Kernel& kernel) {
  if (kernel.variant == "mean") return ScalarType::kReal;
  if (FindsPlace(kernel)) return ScalarType::kInt;
  const ScalarType type = kernel.inputs[0]->type;
  return type == ScalarType::kBool ? ScalarType::kInt : type;
}

}  // namespace

HONE_ROW(Family){
    .name = "reduce",
    .doc =
        "The sum, product, mean, maximum or minimum over axes, or its place; a NaN is both the largest and the "
        "smallest.",
    .grammar = "reduce sum|prod|mean|max|min|argmax|argmin(EXPR) over [AXES] let NAME = EXPR as in norm ... -> EXPR",
    .variants = kVariants,
    .operands = 1,
    .takes_axes = true,
    .takes_lets = true,
    .check = Check,
    .type = Type,
    .flops = Flops,
};

}  // namespace hone::dsl::family_reduce
