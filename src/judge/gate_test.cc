#include "judge/gate.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hone {
namespace {

// Of the table in gate.h: the first figure of a name says at which moments a gate looks.
std::string FiguresOf(const Gate& gate) {
  std::string figures;
  if (gate.loaded) figures += "1";
  if (gate.called) figures += "2";
  if (gate.drawn) figures += "3";
  if (gate.soaked) figures += "4";
  if (gate.timed) figures += "56789";
  return figures;
}

TEST(GateTest, TheyLookInTheOrderOfTheirNamesAtTheMomentThatTheNameSays) {
  std::string before;
  std::set<std::string> places;
  for (const Gate* gate : AllGates()) {
    const std::string name(gate->name), place = name.substr(0, 2);
    EXPECT_LT(before, name);
    EXPECT_TRUE(places.insert(place).second) << name << " shares the place " << place;
    EXPECT_NE(FiguresOf(*gate).find(name[0]), std::string::npos) << name << " does not look when its name says";
    before = name;
  }
  EXPECT_GE(places.size(), 12u);
}

}  // namespace
}  // namespace hone
