#include "dsl/shape/ordering.h"

namespace hone::dsl {

Ordering::Ordering(const Kernel& kernel)
    : along(kernel.space.back()),
      place(kernel.space[static_cast<std::size_t>(kernel.attributes.at("over")[0])]),
      descending(kernel.variant == "descending") {
  for (const auto& index : kernel.space) {
    if (index.id == along.id || index.id == place.id) continue;
    others.push_back(index);
    rows *= index.extent;
  }
}

std::vector<std::string> Ordering::Texts(const Kernel& kernel, const std::map<int, std::string>& names) {
  std::vector<std::string> texts;
  for (const auto& index : kernel.space) {
    const auto name = names.find(index.id);
    texts.push_back(name == names.end() ? "0" : name->second);
  }
  return texts;
}

}  // namespace hone::dsl
