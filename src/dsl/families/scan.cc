// scan sum|prod|max|min(EXPR) over [AXIS]: what a fold has made of all elements up to each.
#include <fmt/format.h>

#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl::family_scan {
namespace {

constexpr std::string_view kVariants[] = {"sum", "prod", "max", "min"};
constexpr Attribute kAttributes[] = {
    {"reverse", "1: from the last element to the first"},
    {"exclusive", "1: without the element itself; the first is 0, 1, -inf or inf"},
};

ScalarType Type(const Kernel& kernel) {
  const ScalarType type = kernel.inputs[0]->type;
  return type == ScalarType::kBool ? ScalarType::kInt : type;
}

std::optional<std::string> Check(const KernelProgram&, const Kernel& kernel) {
  if (kernel.axes.size() != 1) return fmt::format("a scan goes along one axis, not {}", kernel.axes.size());
  for (const auto& [name, value] : kernel.attributes) {
    if (value.size() != 1 || value[0] < 0 || value[0] > 1) return fmt::format("'{}' is 0 or 1", name);
  }
  return std::nullopt;
}

double Flops(const Kernel& kernel) {
  return SpaceCount(kernel) * (1 + OperationsPerElement(kernel.inputs[0]) + OperationsPerElement(kernel.epilogue));
}

}  // namespace

HONE_ROW(Family){
    .name = "scan",
    .doc = "The sum, product, maximum or minimum of all elements along an axis up to each; a NaN stays from there on.",
    .grammar = "scan sum|prod|max|min(EXPR) over [AXIS]",
    .variants = kVariants,
    .operands = 1,
    .takes_axes = true,
    .keeps_axes = true,
    .attributes = kAttributes,
    .check = Check,
    .type = Type,
    .flops = Flops,
};

}  // namespace hone::dsl::family_scan
