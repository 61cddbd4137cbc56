#include "model/dialect.h"

namespace hone {

const Dialect* FindDialect(std::string_view name) {
  for (const Dialect* dialect : AllDialects()) {
    if (dialect->name == name) return dialect;
  }
  return nullptr;
}

HttpHeaders BearerHeaders(const std::string& key, const std::string&) {
  HttpHeaders headers = {{"content-type", "application/json"}, {"accept", "text/event-stream"}};
  if (!key.empty()) headers.emplace_back("authorization", "Bearer " + key);
  return headers;
}

}  // namespace hone
