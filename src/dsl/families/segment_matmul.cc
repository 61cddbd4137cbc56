// segment_matmul(A, B, ends): the product over each segment of K by itself: what a mixture of experts' weights get
// back.
#include <fmt/format.h>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl::family_segment_matmul {
namespace {

// The space is [G, M, N, K].
std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  const Shape &a = shapes[0], &b = shapes[1], &ends = shapes[2];
  const std::string all =
      fmt::format("segment_matmul of {}, {} and {}", hone::ToString(a), hone::ToString(b), hone::ToString(ends));
  if (a.size() != 2 || b.size() != 2 || ends.size() != 1)
    return all + ": wants A [M, K], B [K, N] and one end a segment, [G]";
  if (a[1] != b[0]) return fmt::format("{}: A's columns ({}) must be as many as B's rows ({})", all, a[1], b[0]);
  if (ends[0] < 1) return all + ": there must be a segment at least";
  for (const auto extent : {ends[0], a[0], b[1], a[1]}) kernel.space.push_back(NewIndex(extent));
  kernel.axes = {3};
  operand_dims = {{1, 3}, {3, 2}, {0}};
  return std::nullopt;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
  if (kernel.inputs[2]->type != ScalarType::kInt) return "where segments end are whole numbers";
  if (auto why = CheckOperandsOfProducts(kernel)) return why;
  return CheckTargetOfProducts(program, kernel);
}

// Each term is of one segment.
double Flops(const Kernel& kernel) {
  return 2 * AddedProducts(kernel) +
         static_cast<double>(ElementCount(kernel.result)) * OperationsPerElement(kernel.epilogue);
}

}  // namespace

HONE_ROW(Family){
    .name = "segment_matmul",
    .doc =
        "A [M, K] times B [K, N] over each segment of K by itself, [G, M, N]; segments follow one another and end at "
        "`ends` [G].",
    .grammar = "segment_matmul(EXPR, EXPR, EXPR) -> EXPR",
    .operands = 3,
    .cpu_choice = "path",
    .cuda_choice = "path",
    .shape = ShapeRule,
    .check = Check,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .multiplies = true,
    .flops = Flops,
};

}  // namespace hone::dsl::family_segment_matmul
