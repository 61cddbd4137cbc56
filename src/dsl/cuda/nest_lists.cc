#include "dsl/cuda/nest_lists.h"

#include "dsl/cuda/nest_element.h"

namespace hone::dsl {

std::optional<ListedNest> ListedFold(const Kernel& kernel) {
  const auto nest = OneFold(kernel);
  if (!nest) return std::nullopt;
  auto keyed = KeyedFoldOf(*nest->fold);
  if (!keyed) return std::nullopt;
  return ListedNest{nest->element, std::move(*keyed)};
}

bool ListsPay(const Kernel& kernel) {
  constexpr double kLooks = 1 << 24;  // what is done in the time that the kernels for lists take to begin
  const auto nest = ListedFold(kernel);
  return nest &&
         static_cast<double>(PointsOf(nest->element.indices)) * static_cast<double>(PointsOf(nest->fold.over)) > kLooks;
}

}  // namespace hone::dsl
