// JSON as text, whatever is in its strings: bytes that are no UTF-8 become U+FFFD, where nlohmann's own would throw.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hone {

// In one line, or in lines indented by so many spaces.
std::string JsonText(const nlohmann::json& json, int indent = -1);

}  // namespace hone
