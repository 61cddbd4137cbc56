// pool max|sum|mean|argmax(EXPR) over [AXES] by {window, ..}: one value a window.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/pooling.h"
#include "dsl/shape/window.h"

namespace hone::dsl::family_pool {
namespace {

constexpr std::string_view kVariants[] = {"max", "sum", "mean", "argmax"};

std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  const Shape& x = shapes[0];
  const std::vector<int> axes = kernel.axes;
  for (const int axis : axes) {
    if (axis >= static_cast<int>(x.size()))
      return fmt::format("axis {} is out of range: the operand's shape is {}", axis, hone::ToString(x));
  }
  for (const auto extent : x) {
    if (extent < 1) return fmt::format("pool of {}: every extent must be 1 at least", hone::ToString(x));
  }
  auto& attributes = kernel.attributes;
  const std::size_t count = axes.size();
  if (!attributes.contains("window")) return "pool needs a window: write 'by {window: 2x2}'";
  if (auto why = FillAttribute(attributes, "window", count, 1, 1)) return why;
  // A stride that is absent is the window: they lie side by side.
  if (!attributes.contains("stride")) attributes["stride"] = attributes["window"];
  if (auto why = FillAttribute(attributes, "stride", count, 1, 1)) return why;
  if (auto why = FillAttribute(attributes, "padding", count, 0, 0)) return why;
  if (auto why = FillAttribute(attributes, "dilation", count, 1, 1)) return why;
  if (auto why = FillAttribute(attributes, "inside", 1, 0, 0)) return why;
  if (attributes["inside"][0] > 2) return fmt::format("'inside' is 0, 1 or 2, not {}", attributes["inside"][0]);
  if (attributes["inside"][0] != 0 && kernel.variant != "mean")
    return fmt::format("'inside' says what a mean divides by: remove it from 'pool {}'", kernel.variant);
  if (!attributes.contains("extent")) {
    auto& extent = attributes["extent"];
    for (std::size_t a = 0; a < count; ++a) {
      const std::int64_t room = x[static_cast<std::size_t>(axes[a])] + 2 * attributes["padding"][a] -
                                attributes["dilation"][a] * (attributes["window"][a] - 1) - 1;
      if (room < 0) {
        return fmt::format("pool of {}: the window {} does not fit along axis {}", hone::ToString(x),
                           attributes["window"][a], axes[a]);
      }
      extent.push_back(room / attributes["stride"][a] + 1);
    }
  }
  if (auto why = FillAttribute(attributes, "extent", count, 1, 1)) return why;
  // Which dimensions of the result are pooled; beside what the program may write.
  attributes["over"].assign(axes.begin(), axes.end());

  operand_dims.assign(1, {});
  for (std::size_t d = 0; d < x.size(); ++d) {
    const auto a = static_cast<std::size_t>(std::find(axes.begin(), axes.end(), static_cast<int>(d)) - axes.begin());
    kernel.space.push_back(NewIndex(a < count ? attributes["extent"][a] : x[d]));
    operand_dims[0].push_back(static_cast<int>(a < count ? x.size() + count + a : d));
  }
  for (std::size_t a = 0; a < count; ++a) kernel.space.push_back(NewIndex(attributes["window"][a]));
  for (const int axis : axes) kernel.space.push_back(NewIndex(x[static_cast<std::size_t>(axis)]));
  kernel.axes.clear();
  for (std::size_t d = x.size(); d < kernel.space.size(); ++d) kernel.axes.push_back(static_cast<int>(d));
  return std::nullopt;
}

std::optional<std::string> Check(const KernelProgram&, const Kernel& kernel) {
  const Pooling pool(kernel);
  double plane = 1;
  for (const auto& dim : pool.dims) plane *= static_cast<double>(dim.in);
  if (kernel.variant == "argmax" && plane >= 2147483648.0)
    return "argmax counts places in 32 bits, and there are more here: pool fewer dimensions";
  return std::nullopt;
}

// Bools are counted.
ScalarType Type(const Kernel& kernel) {
  if (kernel.variant == "argmax") return ScalarType::kInt;
  if (kernel.variant == "mean") return ScalarType::kReal;
  const ScalarType type = kernel.inputs[0]->type;
  return type == ScalarType::kBool ? ScalarType::kInt : type;
}

double Flops(const Kernel& kernel) {
  double results = 1;
  for (const auto extent : kernel.result) results *= static_cast<double>(extent);
  return results * (Pooling(kernel).WindowCount() * (1 + OperationsPerElement(kernel.inputs[0])) +
                    OperationsPerElement(kernel.epilogue));
}

constexpr Attribute kAttributes[] = {
    {"window", "how many elements a window has along each axis"},
    {"stride", "how far the window moves, the window if absent"},
    {"padding", "places before the first element, 0 if absent: a maximum passes over them, for the others they are 0"},
    {"dilation", "how far apart a window's elements are, 1 if absent"},
    {"extent", "the output's extents along the axes; if absent, as with the same padding behind the last element"},
    {"inside",
     "a mean divides by 0: the window, 1: its places in the input, 2: those and as much padding on both sides"},
};

}  // namespace

HONE_ROW(Family){
    .name = "pool",
    .doc = "The maximum, sum or mean of each window over axes, or where in these axes the first maximum is.",
    .grammar = "pool max|sum|mean|argmax(EXPR) over [AXES] by {window, stride, padding, dilation, extent, inside}",
    .variants = kVariants,
    .operands = 1,
    .takes_axes = true,
    .attributes = kAttributes,
    .shape = ShapeRule,
    .check = Check,
    .type = Type,
    .flops = Flops,
};

}  // namespace hone::dsl::family_pool
