// What came of a suite, as `hone optimize --suite ... --json` writes it, as one HTML page, or what that holds (page.h):
// what page.h says of a run's page holds of this one, too. Pure; safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

// `json` is the document and `where` its file's name. kUsage: it is no such document, and what it lacks.
Result<nlohmann::json> SuitePage(std::string_view json, std::string_view where, std::string_view made_by);
Result<std::string> WriteSuitePage(std::string_view json, std::string_view where, std::string_view made_by);

}  // namespace hone
