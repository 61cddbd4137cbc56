#include "model/fields.h"

#include <nlohmann/json.hpp>

namespace hone {

using Json = nlohmann::json;

const Json& Field(const Json& of, const char* name) {
  static const Json none;
  if (!of.is_object()) return none;
  const auto found = of.find(name);
  return found == of.end() ? none : *found;
}

std::string TextField(const Json& of, const char* name) {
  const Json& field = Field(of, name);
  return field.is_string() ? field.get<std::string>() : std::string();
}

std::optional<std::int64_t> CountField(const Json& of, const char* name) {
  const Json& field = Field(of, name);
  if (!field.is_number_integer() || field.get<std::int64_t>() < 0) return std::nullopt;
  return field.get<std::int64_t>();
}

void AddCount(std::optional<std::int64_t>& to, std::optional<std::int64_t> more) {
  if (more) to = to.value_or(0) + *more;
}

}  // namespace hone
