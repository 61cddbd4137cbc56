#include "dsl/shape/pages.h"

namespace hone::dsl {

// Known once its space is: three dimensions more than rows and columns are folded.
bool ReadsPages(const Kernel& kernel) { return kernel.axes.size() > 2; }

std::size_t AttentionBatchDims(const Kernel& kernel) {
  constexpr std::size_t kOfRows = 4, kOfPages = 3;
  return kernel.space.size() - kOfRows - (ReadsPages(kernel) ? kOfPages : 0);
}

std::optional<std::string> CheckNoPages(const Kernel& kernel) {
  if (!ReadsPages(kernel)) return std::nullopt;
  return "keys of 16 bits alone are found by pages, on CUDA devices: look them up before";
}

}  // namespace hone::dsl
