// What masks leave of scores.
#include "expr/known_value.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone {
namespace {

class KnownValueTest : public ::testing::Test {
 protected:
  const Expr x_ = Load(0, {}, ScalarType::kReal), y_ = Load(1, {}, ScalarType::kReal);
  const Expr seen_ = Less(Load(2, {}, ScalarType::kReal), 1.0);

  // What `made` makes of a choice between x and `hidden` where that is chosen.
  template <class Made>
  std::optional<double> Hidden(double hidden, const Made& made) const {
    const Expr choice = Select(seen_, x_, hidden);
    return KnownWhere(made(choice), *choice, hidden);
  }
};

TEST_F(KnownValueTest, FunctionsAndWhatAbsorbsOthersAreFollowed) {
  EXPECT_EQ(Hidden(0, [](const Expr& e) { return e; }), 0.0);
  EXPECT_EQ(Hidden(-INFINITY, [&](const Expr& e) { return Max(e * 2.0 + y_, 0.0); }), 0.0);
  EXPECT_EQ(Hidden(-INFINITY, [&](const Expr& e) { return Sigmoid(y_ + e) * y_; }), 0.0);
  EXPECT_EQ(Hidden(0, [&](const Expr& e) { return e * y_ / y_; }), 0.0);
  EXPECT_EQ(Hidden(INFINITY, [&](const Expr& e) { return y_ - e; }), -INFINITY);
  EXPECT_EQ(Hidden(0, [&](const Expr& e) { return Select(Less(y_, 3.0), e * y_, 0.0); }), 0.0);
}

TEST_F(KnownValueTest, WhatOthersDecideIsNotKnown) {
  EXPECT_EQ(Hidden(0, [&](const Expr& e) { return e + y_; }), std::nullopt);
  EXPECT_EQ(Hidden(0, [&](const Expr& e) { return y_ / e; }), std::nullopt);
  EXPECT_EQ(Hidden(-1, [&](const Expr& e) { return Max(e, y_); }), std::nullopt);
  EXPECT_EQ(Hidden(0, [&](const Expr& e) { return Select(Less(y_, 3.0), e, y_); }), std::nullopt);
  EXPECT_EQ(Hidden(0, [&](const Expr& e) { return Select(Less(e, 3.0), 1.0, 0.0); }), std::nullopt);
  EXPECT_EQ(Hidden(0, [&](const Expr&) { return y_; }), std::nullopt);
}

}  // namespace
}  // namespace hone
