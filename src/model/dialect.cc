#include "model/dialect.h"

namespace hone {

const Dialect* FindDialect(std::string_view name) {
  for (const Dialect* dialect : AllDialects()) {
    if (dialect->name == name) return dialect;
  }
  return nullptr;
}

}  // namespace hone
