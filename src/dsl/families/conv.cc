// conv(x, w): windows of the input multiplied with weights and summed, for one to three spatial dimensions.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/convolution.h"
#include "dsl/shape/window.h"

namespace hone::dsl::family_conv {
namespace {

constexpr std::string_view kVariants[] = {"", "transposed"};

std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  const Shape &x = shapes[0], &w = shapes[1];
  const bool transposed = kernel.variant == "transposed";
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size()) {
    return fmt::format(
        "conv wants x [N, C, spatial..] and w of as many dimensions, with one to three spatial ones, not {} and {}",
        hone::ToString(x), hone::ToString(w));
  }
  const std::size_t spatial = x.size() - 2;
  auto& attributes = kernel.attributes;
  for (const auto& [name, otherwise, least] :
       {std::tuple<const char*, int, int>{"stride", 1, 1}, {"dilation", 1, 1}, {"padding", 0, 0}}) {
    if (auto why = FillAttribute(attributes, name, spatial, otherwise, least)) return why;
  }
  if (auto why = FillAttribute(attributes, "groups", 1, 1, 1)) return why;
  if (!transposed && attributes.contains("output_padding"))
    return "'output_padding' is of 'conv transposed': write 'extent: ..' for the output's extents";
  if (attributes.contains("output_padding") && attributes.contains("extent"))
    return "'output_padding' and 'extent' both say how large the output is: write one of them";
  if (transposed) {
    if (auto why = FillAttribute(attributes, "output_padding", spatial, 0, 0)) return why;
  }
  for (const auto& shape : {x, w}) {
    for (const auto extent : shape) {
      if (extent < 1)
        return fmt::format("conv of {} and {}: every extent must be 1 at least", hone::ToString(x), hone::ToString(w));
    }
  }
  const std::int64_t groups = attributes["groups"][0];
  const std::int64_t channels = x[1] / groups, made = transposed ? w[1] : w[0] / groups;
  if (x[1] % groups != 0 || w[0] % groups != 0 || (transposed ? w[0] != x[1] : w[1] != channels)) {
    return fmt::format("conv of {} and {} in {} group{}: w is {}, so that {}", hone::ToString(x), hone::ToString(w),
                       groups, groups == 1 ? "" : "s",
                       transposed ? "[C, O / groups, window..]" : "[O, C / groups, window..]",
                       transposed ? fmt::format("its first extent must be {}", x[1])
                                  : fmt::format("its second extent must be {}", channels));
  }
  Shape extent;
  for (std::size_t d = 0; d < spatial; ++d) {
    const std::int64_t stride = attributes["stride"][d], padding = attributes["padding"][d],
                       reach = attributes["dilation"][d] * (w[d + 2] - 1) + 1;
    const std::int64_t room = x[d + 2] + 2 * padding - reach;
    extent.push_back(transposed ? (x[d + 2] - 1) * stride - 2 * padding + reach + attributes["output_padding"][d]
                                : (room < 0 ? 0 : room / stride + 1));
  }
  if (attributes.contains("extent")) {
    if (auto why = FillAttribute(attributes, "extent", spatial, 1, 1)) return why;
    extent = attributes["extent"];
  }
  for (const auto out : extent) {
    if (out < 1) {
      return fmt::format("conv of {} and {}: the window does not fit, the output would be {}", hone::ToString(x),
                         hone::ToString(w), hone::ToString(extent));
    }
  }
  attributes["extent"] = extent;

  operand_dims.assign(2, {});
  std::vector<int>&x_dims = operand_dims[0], &w_dims = operand_dims[1];
  const auto add = [&](std::int64_t size) {
    kernel.space.push_back(NewIndex(size));
    return static_cast<int>(kernel.space.size()) - 1;
  };
  x_dims.push_back(add(x[0]));
  const int o = add(made * groups);
  for (const auto out : extent) add(out);
  const int c = add(channels), taps = c + 1;
  for (std::size_t d = 0; d < spatial; ++d) add(w[d + 2]);
  const int in = add(x[1]);
  x_dims.push_back(in);
  for (std::size_t d = 0; d < spatial; ++d) x_dims.push_back(add(x[d + 2]));
  const int of_group = add(made);
  w_dims = transposed ? std::vector<int>{in, of_group} : std::vector<int>{o, c};
  for (std::size_t d = 0; d < spatial; ++d) w_dims.push_back(taps + static_cast<int>(d));
  for (int d = c; d <= of_group; ++d) kernel.axes.push_back(d);
  return std::nullopt;
}

std::optional<std::string> Check(const KernelProgram&, const Kernel& kernel) {
  for (const auto& input : kernel.inputs) {
    if (input->type != ScalarType::kReal) return "conv multiplies reals: write real(x) around whole numbers";
  }
  return std::nullopt;
}

double Flops(const Kernel& kernel) {
  double results = 1;
  for (const auto extent : kernel.result) results *= static_cast<double>(extent);
  return Convolution(kernel).Flops() + results * OperationsPerElement(kernel.epilogue);
}

constexpr Attribute kAttributes[] = {
    {"stride", "how far the window moves, 1 if absent"},
    {"padding", "zeros before the first element, 0 if absent"},
    {"dilation", "how far apart the window's taps are, 1 if absent"},
    {"groups", "channels in so many groups, each with outputs of its own"},
    {"extent", "the output's spatial extents; if absent, as with the same padding behind the last element"},
    {"output_padding", "of transposed: outputs behind the last"},
};

}  // namespace

HONE_ROW(Family){
    .name = "conv",
    .doc = "The convolution of x [N, C, spatial..] with w [O, C / groups, window..], one to three spatial dimensions.",
    .grammar = "conv [transposed](EXPR, EXPR) by {stride, padding, dilation, groups, extent, output_padding}",
    .variants = kVariants,
    .operands = 2,
    .cpu_choice = "path",
    .cuda_choice = "path",
    .attributes = kAttributes,
    .shape = ShapeRule,
    .check = Check,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .flops = Flops,
};

}  // namespace hone::dsl::family_conv
