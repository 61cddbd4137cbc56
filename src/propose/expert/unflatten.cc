#include "propose/expert/unflatten.h"

#include <algorithm>

namespace hone::expert {

std::optional<std::vector<Affine>> Unflatten(const Affine& flat, const std::vector<IndexVar>& vars,
                                             const Shape& extents) {
  const auto strides = DenseStrides(extents);
  std::vector<Affine> indices(extents.size());
  std::vector<std::int64_t> reach(extents.size(), 0);  // the largest value of each index
  if (flat.constant < 0) return std::nullopt;
  std::int64_t rest = flat.constant;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    indices[d].constant = rest / strides[d];
    reach[d] = indices[d].constant;
    rest %= strides[d];
  }
  if (rest != 0 || (extents.empty() && flat.constant != 0)) return std::nullopt;
  for (const auto& var : vars) {
    const std::int64_t step = flat.of(var);
    if (step == 0) continue;
    // The outermost dimension whose stride divides into the step: an extent of 1 has its neighbour's stride and must
    // not take it.
    std::size_t d = 0;
    while (d < extents.size() && (strides[d] > step || extents[d] == 1)) ++d;
    if (step < 0 || d == extents.size() || step % strides[d] != 0) return std::nullopt;
    indices[d].coefficient[var.id] = step / strides[d];
    reach[d] += step / strides[d] * (var.extent - 1);
  }
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (reach[d] >= std::max<std::int64_t>(extents[d], 1)) return std::nullopt;
  }
  return indices;
}

}  // namespace hone::expert
