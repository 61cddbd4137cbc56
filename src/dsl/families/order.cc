// order ascending|descending(EXPR) over [AXIS] by {count: N}: where along an axis the first elements in order are, and
// what they are (also).
#include <fmt/format.h>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/window.h"

namespace hone::dsl::family_order {
namespace {

constexpr std::string_view kVariants[] = {"ascending", "descending"};
constexpr Attribute kAttributes[] = {{"count", "how many of the first elements; if absent, all"}};

// The space is the result's dimensions, then the axis.
std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  const Shape& x = shapes[0];
  if (kernel.axes.size() != 1) return fmt::format("order goes along one axis, not {}", kernel.axes.size());
  const int axis = kernel.axes[0], rank = static_cast<int>(x.size());
  if (axis >= rank) return fmt::format("axis {} is out of range: the operand's shape is {}", axis, hone::ToString(x));
  const std::int64_t row = x[static_cast<std::size_t>(axis)];
  if (row < 1) return fmt::format("order of {}: there is nothing along axis {}", hone::ToString(x), axis);
  if (auto why = FillAttribute(kernel.attributes, "count", 1, row, 1)) return why;
  const std::int64_t count = kernel.attributes["count"][0];
  if (count > row)
    return fmt::format("'count' {} is more than there is along axis {} of {}: try {}", count, axis, hone::ToString(x),
                       row);
  kernel.attributes["over"] = {axis};  // beside what the program may write
  operand_dims.assign(1, {});
  for (int d = 0; d < rank; ++d) {
    kernel.space.push_back(NewIndex(d == axis ? count : x[static_cast<std::size_t>(d)]));
    operand_dims[0].push_back(d == axis ? rank : d);
  }
  kernel.space.push_back(NewIndex(row));
  kernel.axes = {rank};
  return std::nullopt;
}

// Each element is met a few times, however many are wanted.
double Flops(const Kernel& kernel) {
  constexpr double kMeetings = 8;
  const double wanted = static_cast<double>(kernel.attributes.at("count")[0]);
  double at_end = OperationsPerElement(kernel.epilogue);
  for (const auto& one : kernel.also) at_end += OperationsPerElement(one.value);
  return SpaceCount(kernel) / wanted * (kMeetings + OperationsPerElement(kernel.inputs[0])) +
         static_cast<double>(ElementCount(kernel.result)) * at_end;
}

}  // namespace

HONE_ROW(Family){
    .name = "order",
    .doc = "Where along an axis the first elements in order are; of equals the first comes first.",
    .grammar = "order ascending|descending(EXPR) over [AXIS] by {count} -> EXPR also NAME = EXPR",
    .variants = kVariants,
    .operands = 1,
    .takes_axes = true,
    .takes_also = true,
    .attributes = kAttributes,
    .shape = ShapeRule,
    .type = [](const Kernel&) { return ScalarType::kInt; },
    .flops = Flops,
};

}  // namespace hone::dsl::family_order
