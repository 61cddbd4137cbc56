#include "base/json_text.h"

#include <nlohmann/json.hpp>

namespace hone {

std::string JsonText(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hone
