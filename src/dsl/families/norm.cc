// norm(EXPR) over [AXES] let ... -> EXPR: statistics over axes, then every element with them. Layer, RMS, group,
// instance and batch normalisation, L1 and L2 normalisation are all this.
#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl::family_norm {
namespace {

double Flops(const Kernel& kernel) {
  double operations = OperationsPerElement(kernel.epilogue);
  for (const auto& one : kernel.also) operations += OperationsPerElement(one.value);
  for (const auto& let : kernel.lets) operations += 1 + OperationsPerElement(let.body);
  return SpaceCount(kernel) * operations;
}

std::optional<std::string> Check(const KernelProgram&, const Kernel& kernel) {
  if (kernel.lets.empty()) return "a norm without lets is a map: add 'let NAME = sum(...)', or use map";
  return std::nullopt;
}

}  // namespace

HONE_ROW(Family){
    .name = "norm",
    .doc = "Statistics over axes (lets), then every element computed with them; 'it' is the operand.",
    .grammar =
        "norm(EXPR) over [AXES] let NAME = EXPR with one sum|prod|mean|max_over|min_over ... -> EXPR "
        "also NAME = EXPR",
    .variants = {},
    .operands = 1,
    .takes_axes = true,
    .takes_lets = true,
    .takes_also = true,
    .keeps_axes = true,
    .check = Check,
    .flops = Flops,
};

}  // namespace hone::dsl::family_norm
