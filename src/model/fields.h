// Fields of JSON that others write: what is not there, or is something else, is none. No state; safe from any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace hone {

std::string TextField(const nlohmann::json& of, const char* name);                   // else ""
std::optional<std::int64_t> CountField(const nlohmann::json& of, const char* name);  // a whole number >= 0
const nlohmann::json& Field(const nlohmann::json& of, const char* name);             // else null
void AddCount(std::optional<std::int64_t>& to, std::optional<std::int64_t> more);    // none and none is none

}  // namespace hone
