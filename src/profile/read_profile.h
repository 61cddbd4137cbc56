// Profiles that were written as JSON, read back: facts that a device counted, for the rules of today.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace hone {

// As ToJson writes one. kCorrupt says what is wrong of `what`; a fact that no table has any more is left out.
Result<Profile> ReadProfile(const nlohmann::json& json, const std::string& what);
// Those of `hone profile --json` and `hone diagnose --json`: the subjects' profiles.
Result<std::vector<Profile>> ReadProfiles(const nlohmann::json& document, const std::string& what);

}  // namespace hone
