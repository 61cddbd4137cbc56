#include "search/stopper.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

// Whether a search that wants to be within 2 % of the bound ends.
bool Ends(const SearchState& state) {
  for (const auto& stopper : MakeStoppers({.attempts = 40, .headroom = 0.02}, nullptr)) {
    if (stopper->Ask(state)) return true;
  }
  return false;
}

TEST(StopperTest, ASearchEndsAtTheBoundLessWhatDataMaySpare) {
  SearchState state;
  state.attempts = 3;
  state.best_us = 10.1;
  state.bound_us = 10;
  EXPECT_TRUE(Ends(state));
  state.sure_us = 2;
  EXPECT_FALSE(Ends(state)) << "lengths may leave a fifth of the work";
  EXPECT_NEAR(Headroom(state), 0.0099, 1e-4) << "people see the bound";
  state.best_us = 2.01;
  EXPECT_TRUE(Ends(state));
}

}  // namespace
}  // namespace hone
