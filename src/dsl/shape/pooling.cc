#include "dsl/shape/pooling.h"

#include <algorithm>

namespace hone::dsl {

Pooling::Pooling(const Kernel& kernel) : input(kernel.inputs[0]) {
  arg = kernel.variant == "argmax";
  largest = arg || kernel.variant == "max";
  if (input->type == ScalarType::kBool) input = Cast(input, ScalarType::kInt);
  if (kernel.variant == "mean") input = Cast(input, ScalarType::kReal);
  for (const auto axis : kernel.attributes.at("over")) axes.push_back(static_cast<std::size_t>(axis));
  rank = kernel.space.size() - 2 * axes.size();
  inside = static_cast<int>(kernel.attributes.at("inside")[0]);
  for (std::size_t a = 0; a < axes.size(); ++a) {
    dims.push_back({.in = kernel.space[Place(a)].extent,
                    .out = kernel.space[axes[a]].extent,
                    .window = kernel.space[Window(a)].extent,
                    .stride = kernel.attributes.at("stride")[a],
                    .dilation = kernel.attributes.at("dilation")[a],
                    .padding = kernel.attributes.at("padding")[a]});
  }
}

std::optional<std::size_t> Pooling::AxisOf(std::size_t dim) const {
  const auto it = std::find(axes.begin(), axes.end(), dim);
  if (it == axes.end()) return std::nullopt;
  return static_cast<std::size_t>(it - axes.begin());
}

double Pooling::WindowCount() const {
  double count = 1;
  for (const auto& dim : dims) count *= static_cast<double>(dim.window);
  return count;
}

}  // namespace hone::dsl
