#include "propose/expert/cross.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

namespace hone::expert {
namespace {

// So many at most of one pair: several may turn out to be the same program.
constexpr std::size_t kDrawn = 16;

// What it computes, without how.
std::string What(dsl::Statement statement) {
  statement.settings.clear();
  dsl::Program alone;
  alone.statements.push_back(std::move(statement));
  return dsl::Print(alone);
}

// What may be taken from the mate, or left.
struct Unit {
  std::size_t statement = 0, of_mate = 0;
  std::string knob = {};  // empty: all of them
};

void Take(const Unit& unit, const dsl::Program& mate, dsl::Program& child) {
  auto& settings = child.statements[unit.statement].settings;
  const auto& others = mate.statements[unit.of_mate].settings;
  if (unit.knob.empty()) {
    settings = others;
  } else if (const auto found = others.find(unit.knob); found != others.end()) {
    settings[unit.knob] = found->second;
  } else {
    settings.erase(unit.knob);
  }
}

std::vector<Unit> UnitsOf(const dsl::Program& parent, const dsl::Program& mate) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < parent.statements.size(); ++i) {
    const dsl::Statement& one = parent.statements[i];
    for (std::size_t j = 0; j < mate.statements.size(); ++j) {
      const dsl::Statement& other = mate.statements[j];
      if (one.target != other.target || one.settings == other.settings || What(one) != What(other)) continue;
      units.push_back({i, j});
    }
  }
  if (units.size() != 1) return units;
  const Unit only = units.front();
  units.clear();
  const auto& settings = parent.statements[only.statement].settings;
  const auto& others = mate.statements[only.of_mate].settings;
  std::set<std::string> knobs;
  for (const auto* of : {&settings, &others})
    for (const auto& [knob, value] : *of) knobs.insert(knob);
  for (const std::string& knob : knobs) {
    const auto one = settings.find(knob), other = others.find(knob);
    if (one != settings.end() && other != others.end() && one->second == other->second) continue;
    units.push_back({only.statement, only.of_mate, knob});
  }
  return units;
}

}  // namespace

std::vector<Crossing> Cross(const dsl::Program& parent, const dsl::Program& mate, Random random) {
  const std::vector<Unit> units = UnitsOf(parent, mate);
  std::vector<Crossing> crossings;
  if (units.size() < 2) return crossings;
  const std::size_t some = units.size() > 8 ? 256 : (std::size_t{1} << units.size()) - 2;  // neither none nor all
  std::set<std::vector<bool>> seen;
  // Drawn until there are enough. With 64 draws two of two are missed about never.
  for (int draw = 0; draw < 64 && seen.size() < std::min(kDrawn, some); ++draw) {
    std::vector<bool> taken;
    for (std::size_t i = 0; i < units.size(); ++i) taken.push_back(random.Below(2) == 1);
    if (std::ranges::count(taken, true) == 0 || std::ranges::count(taken, false) == 0) continue;
    if (!seen.insert(taken).second) continue;
    Crossing crossing{parent, ""};
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (!taken[i]) continue;
      const Unit& unit = units[i];
      Take(unit, mate, crossing.program);
      crossing.words += fmt::format("{}{}{}{}", crossing.words.empty() ? "" : ", ",
                                    parent.statements[unit.statement].target, unit.knob.empty() ? "" : ".", unit.knob);
    }
    crossings.push_back(std::move(crossing));
  }
  return crossings;
}

}  // namespace hone::expert
