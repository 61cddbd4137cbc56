#include "search/recorded_crossing.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

namespace hone {
namespace {

// Of two programs that differ in more than so many things only these are taken together or apart.
constexpr std::size_t kUnits = 10;

std::string_view StatementOf(std::string_view setting) { return setting.substr(0, setting.find('.')); }

}  // namespace

RecordedCrossing::RecordedCrossing(const SpaceTable& table) {
  std::multimap<std::string_view, const TableRound*> rounds;
  for (const TableRound& round : table.rounds) rounds.emplace(round.from, &round);
  std::deque<std::string_view> next = {""};
  while (!next.empty()) {
    const std::string_view from = next.front();
    next.pop_front();
    const auto [first, last] = rounds.equal_range(from);
    for (auto round = first; round != last; ++round) {
      for (const TableOffer& offer : round->second->offers) {
        Made made = from.empty() ? Made{offer.candidate, {}} : made_.at(from);
        for (std::string_view rest = from.empty() ? "" : std::string_view(offer.key); !rest.empty();) {
          const std::string_view set = rest.substr(0, rest.find(' '));
          const std::size_t equals = std::min(set.find('='), set.size() - 1);
          made.settings[set.substr(0, equals)] = set.substr(equals + 1);
          rest.remove_prefix(std::min(rest.size(), set.size() + 1));
        }
        const auto [place, fresh] = made_.emplace(offer.candidate, std::move(made));
        if (!fresh) continue;
        named_.emplace(place->second, offer.candidate);
        next.push_back(offer.candidate);
      }
    }
  }
}

std::vector<std::string> RecordedCrossing::Of(std::string_view one, std::string_view other) const {
  const auto a = made_.find(one), b = made_.find(other);
  if (a == made_.end() || b == made_.end() || a->second.start != b->second.start) return {};
  const auto& ours = a->second.settings;
  const auto& theirs = b->second.settings;
  std::set<std::string_view> settings, statements;
  for (const auto* of : {&ours, &theirs}) {
    for (const auto& [setting, value] : *of) {
      const auto in_ours = ours.find(setting), in_theirs = theirs.find(setting);
      if (in_ours != ours.end() && in_theirs != theirs.end() && in_ours->second == in_theirs->second) continue;
      settings.insert(setting);
      statements.insert(StatementOf(setting));
    }
  }
  const bool by_statement = statements.size() > 1;
  std::vector<std::string_view> units;
  for (const std::string_view unit : by_statement ? statements : settings) units.push_back(unit);
  if (units.size() > kUnits) units.resize(kUnits);
  std::set<std::string> found;
  for (std::uint32_t mask = 1; units.size() > 1 && mask + 1 < 1U << units.size(); ++mask) {
    Made child = a->second;
    for (const std::string_view setting : settings) {
      const auto unit = std::ranges::find(units, by_statement ? StatementOf(setting) : setting);
      if (unit == units.end() || (mask >> static_cast<unsigned>(unit - units.begin()) & 1U) == 0) continue;
      const auto value = theirs.find(setting);
      if (value == theirs.end()) {
        child.settings.erase(setting);
      } else {
        child.settings[setting] = value->second;
      }
    }
    const auto name = named_.find(child);
    if (name != named_.end() && name->second != one && name->second != other) found.emplace(name->second);
  }
  return {found.begin(), found.end()};
}

}  // namespace hone
