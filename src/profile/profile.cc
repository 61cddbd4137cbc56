#include "profile/profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/record.h"

namespace hone {
namespace {

constexpr std::string_view kSources[] = {"cubin", "object", "launch", "analytic", "counter", "timing"};

}  // namespace

std::string_view Name(FactSource source) { return kSources[static_cast<std::size_t>(source)]; }
std::optional<FactSource> ParseFactSource(std::string_view name) { return ParseName<FactSource>(kSources, name); }

void Profile::Set(std::string_view name, double value, FactSource source, double confidence) {
  Put({.name = std::string(name), .value = value, .source = source, .confidence = confidence});
}

void Profile::SetWord(std::string_view name, std::string_view word, FactSource source) {
  Put({.name = std::string(name), .word = std::string(word), .source = source});
}

void Profile::Put(Fact fact) {
  const FactName* row = FindFact(fact.name);
  HONE_CHECK(row != nullptr, fact.name);
  HONE_CHECK((row->unit == FactUnit::kWord) == !fact.word.empty(), fact.name);
  const auto it = std::lower_bound(facts_.begin(), facts_.end(), row,
                                   [](const Fact& one, const FactName* other) { return FindFact(one.name) < other; });
  if (it != facts_.end() && it->name == fact.name) {
    *it = std::move(fact);
  } else {
    facts_.insert(it, std::move(fact));
  }
}

const Fact* Profile::Find(std::string_view name) const {
  const auto it = std::find_if(facts_.begin(), facts_.end(), [&](const Fact& fact) { return fact.name == name; });
  return it == facts_.end() ? nullptr : &*it;
}

std::optional<double> Profile::Get(std::string_view name) const {
  const Fact* fact = Find(name);
  return fact == nullptr ? std::nullopt : std::optional(fact->value);
}

std::string_view Profile::Word(std::string_view name) const {
  const Fact* fact = Find(name);
  return fact == nullptr ? std::string_view() : fact->word;
}

nlohmann::json ToJson(const Profile& profile) {
  nlohmann::json facts = nlohmann::json::array();
  for (const Fact& fact : profile.facts()) {
    const FactName* row = FindFact(fact.name);
    nlohmann::json one = {{"name", fact.name}, {"source", Name(fact.source)}, {"confidence", fact.confidence}};
    if (row->unit == FactUnit::kWord) {
      one["value"] = fact.word;
    } else {
      one["value"] = fact.value;
    }
    if (!Name(row->unit).empty()) one["unit"] = Name(row->unit);
    facts.push_back(std::move(one));
  }
  nlohmann::json json = {{"scope", Name(profile.scope)}, {"subject", profile.subject}, {"facts", std::move(facts)}};
  if (!profile.where.empty()) json["where"] = profile.where;
  return json;
}

}  // namespace hone
