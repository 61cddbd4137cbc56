#include "dsl/family.h"

namespace hone::dsl {

const Family* FindFamily(std::string_view name) {
  for (const Family* family : AllFamilies()) {
    if (family->name == name) return family;
  }
  return nullptr;
}

}  // namespace hone::dsl
