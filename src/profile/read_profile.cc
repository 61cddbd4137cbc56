#include "profile/read_profile.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace hone {

Result<Profile> ReadProfile(const nlohmann::json& json, const std::string& what) try {
  Profile profile;
  const std::string scope = json.at("scope");
  bool known = false;
  for (const Scope one : {Scope::kLaunch, Scope::kStatement, Scope::kFunction, Scope::kPlan}) {
    if (Name(one) != scope) continue;
    profile.scope = one;
    known = true;
  }
  if (!known) return Fail(ErrorKind::kCorrupt, fmt::format("{}: there is no scope '{}'", what, scope));
  profile.subject = json.at("subject");
  profile.where = json.value("where", "");
  for (const nlohmann::json& one : json.at("facts")) {
    const std::string name = one.at("name");
    const FactName* row = FindFact(name);
    if (row == nullptr) continue;
    const auto source = ParseFactSource(one.at("source").get<std::string>());
    if (!source) return Fail(ErrorKind::kCorrupt, fmt::format("{}: fact {} is of no known source", what, name));
    if (row->unit == FactUnit::kWord) {
      profile.SetWord(name, one.at("value").get<std::string>(), *source);
    } else {
      profile.Set(name, one.at("value").get<double>(), *source, one.value("confidence", 1.0));
    }
  }
  return profile;
} catch (const nlohmann::json::exception& error) {
  return Fail(ErrorKind::kCorrupt, fmt::format("{}: {}", what, error.what()));
}

Result<std::vector<Profile>> ReadProfiles(const nlohmann::json& document, const std::string& what) try {
  std::vector<Profile> profiles;
  for (const nlohmann::json& subject : document.at("subjects"))
    profiles.push_back(HONE_TRY(ReadProfile(subject.at("profile"), what)));
  return profiles;
} catch (const nlohmann::json::exception& error) {
  return Fail(ErrorKind::kCorrupt, fmt::format("{}: {}", what, error.what()));
}

}  // namespace hone
