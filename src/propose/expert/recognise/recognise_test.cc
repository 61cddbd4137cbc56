#include "propose/expert/recognise/recognise.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace hone::expert {
namespace {

TEST(RecogniserTest, EachHasAPlaceOfItsOwnAmongThoseThatAreAskedTogether) {
  std::map<std::pair<Form, int>, std::string> at;
  for (const Recogniser* one : AllRecognisers()) {
    const Form asked = one->form == Form::kMerged ? Form::kAsItIs : one->form;
    const auto [other, is_new] = at.emplace(std::pair(asked, one->place), one->name);
    EXPECT_TRUE(is_new) << one->name << " has the place of " << other->second;
    ASSERT_NE(one->recognise, nullptr) << one->name;
  }
  EXPECT_GE(at.size(), 13u);
}

// What comes after it would never be asked.
TEST(RecogniserTest, TheNestTakesAnythingAndIsLast) {
  for (const Recogniser* one : AllRecognisers()) {
    const bool together = one->form == Form::kMerged || one->form == Form::kAsItIs;
    if (together && one->name != "nest") {
      EXPECT_LT(one->place, 80) << one->name;
    }
  }
}

}  // namespace
}  // namespace hone::expert
