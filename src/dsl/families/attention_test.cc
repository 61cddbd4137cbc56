#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

TEST(AttentionTest, MasksBlocksAndBroadcastsGiveTheInterpretersValues) {
  std::mt19937 random(41);
  testing::ExpectRight(testing::MustCheck(R"(program attentions
input q: f32[2, 3, 37, 16]
input k: f32[2, 3, 50, 16]
input v: f32[2, 3, 50, 9]
input m: f32[37, 50]
input keep: bool[2, 1, 1, 50]
input one: f32[2, 3, 1, 16]
input kc: f32[16, 50]
input r: f32[2, 3, 37, 9]
output plain: f32[2, 3, 37, 9]
output masked: f32[2, 3, 37, 9]
output kept: f32[2, 3, 37, 9]
output causal: f32[2, 3, 37, 9]
output few: f32[2, 3, 1, 9]
output rows: f32[2, 3, 37, 9]
output rows_masked: f32[2, 3, 37, 9]
output columns: f32[2, 3, 37, 9]
output shared: f32[2, 3, 37, 9]
input beside_r: f32[37, 3, 1]
output beside: f32[2, 37, 3, 9]
output beside_rows: f32[37, 2, 3, 9]
view kt = kc: [50, 16] strides [1, 50]
view kf = k: [2, 1, 50, 16] strides [2400, 0, 16, 1]
plain = attention(q, k, v) with {threads: 0}
masked = attention(q, k, v) with {micro: 8x16, keys: 16} let score = it * 0.25 + m -> it + r -> relu(it)
kept = attention(q * 0.25, k + 1, v * 2) with {micro: 6x64, keys: 7} let score = select(keep, it, -inf)
causal = attention(q, k, v) by {causal: 1} with {micro: 4x8, keys: 12} let score = it * 0.25
few = attention(one, k, v) with {path: lanes, micro: 14x16} let score = it * 0.25
rows = attention(q, k, v) by {causal: 1} with {path: rows, keys: 11} let score = it * 0.25
rows_masked = attention(q * 2, k, v + 1) with {path: rows, keys: 32} let score = select(keep, it, -inf) -> it + r
columns = attention(q, kt, v) with {path: rows} let score = it * 0.25 + m
shared = attention(q, kf, v) with {micro: 14x32, keys: 64} let score = it * 0.25
beside = attention(q, k, v) by {heads: 1} with {path: lanes} let score = it * 0.25 -> it + beside_r
beside_rows = attention(q, k, v) by {heads: 2} with {path: rows} let score = it * 0.25
)"),
                       2, random, 5e-5);
}

TEST(AttentionTest, RowsMayBeInTwoParts) {
  std::mt19937 random(45);
  testing::ExpectRight(testing::MustCheck(R"(program parts
input q: f32[2, 3, 21, 16]
input k: f32[2, 1, 50, 16]
input v: f32[2, 1, 50, 9]
input q2: f32[2, 3, 21, 5]
input k2: f32[50, 5]
output lanes: f32[2, 3, 21, 9]
output rows: f32[2, 3, 21, 9]
lanes = attention(q, k, v, q2, k2) with {path: lanes, micro: 4x8, keys: 12} let score = it * 0.25
rows = attention(q, k + 1, v, q2 * 2, k2) by {causal: 1} with {path: rows, keys: 11} let score = it * 0.25
)"),
                       2, random, 5e-5);
}

TEST(AttentionTest, AScoreMayBeOfThePlacesOfItsQueryAndItsKey) {
  std::mt19937 random(44);
  testing::ExpectRight(testing::MustCheck(R"(program places
input q: f32[3, 37, 8]
input k: f32[3, 50, 8]
input v: f32[3, 50, 9]
output lanes: f32[3, 37, 9]
output rows: f32[3, 37, 9]
output later: f32[3, 37, 9]
lanes = attention(q, k, v) with {path: lanes, micro: 4x8, keys: 12} let score = select(query() - key() < 5, it, -inf)
rows = attention(q, k, v) with {path: rows, keys: 11} let score = select(key() <= query() + 3, it - 0.1 * real(key()), -inf)
later = attention(q, k, v) by {causal: 1} let score = select(and(query() - key() < 9, key() != 2), it, -1e30)
)"),
                       2, random, 5e-5);
}

TEST(AttentionTest, ScoresOfNothingButMinusInfinityBeforeOthersDoNotSpoilThem) {
  std::mt19937 random(42);
  testing::ExpectRight(testing::MustCheck(R"(program late
input q: f32[5, 8]
input k: f32[40, 8]
input v: f32[40, 8]
input i: i64[40]
output y: f32[5, 8]
y = attention(q, k, v) with {keys: 4} let score = select(i + 100 > 0, select(i > 0, it, -inf), it)
)"),
                       1, random, 5e-5);
}

TEST(AttentionTest, AQueryThatNoKeyCountsForGetsZerosWhereThatIsSafe) {
  std::mt19937 random(43);
  testing::ExpectRight(testing::MustCheck(R"(program safe
input q: f32[40, 8]
input k: f32[50, 8]
input v: f32[50, 8]
input i: i64[40, 1]
output lanes: f32[40, 8]
output rows: f32[40, 8]
lanes = attention(q, k, v) by {safe: 1} with {path: lanes} let score = select(i > 0, it, -inf)
rows = attention(q, k, v) by {safe: 1} with {path: rows} let score = select(i > 0, it, -inf)
)"),
                       1, random, 5e-5);
}

TEST(AttentionTest, TheEndMayReadTheLogarithmOfTheSumOfARow) {
  std::mt19937 random(45);
  testing::ExpectRight(testing::MustCheck(R"(program sinks
input q: f32[2, 3, 37, 8]
input k: f32[2, 3, 50, 8]
input v: f32[2, 3, 50, 9]
input sink: f32[3, 1, 1]
input i: i64[37, 1]
output lanes: f32[2, 3, 37, 9]
output rows: f32[2, 3, 37, 9]
output few: f32[2, 3, 37, 9]
lanes = attention(q, k, v) by {causal: 1} with {path: lanes, micro: 4x8, keys: 12} -> it * sigmoid(lse() - sink)
rows = attention(q, k, v) by {causal: 1} with {path: rows, keys: 11} let score = it * 2 -> it * sigmoid(lse() - sink)
few = attention(q, k, v) by {safe: 1} let score = select(i > 0, it, -inf) -> relu(it) -> it + exp(lse() - sink)
)"),
                       2, random, 5e-5);
}

TEST(AttentionTest, ScoresMayBeTheWeightsThemselves) {
  std::mt19937 random(46);
  testing::ExpectRight(testing::MustCheck(R"(program weights
input q: f32[2, 3, 37, 8]
input k: f32[2, 3, 50, 8]
input v: f32[2, 3, 50, 9]
input m: f32[37, 50]
input r: f32[3, 37, 1]
output plain: f32[2, 3, 37, 9]
output relu_lanes: f32[2, 3, 37, 9]
output relu_rows: f32[2, 3, 37, 9]
output sigmoid_lanes: f32[2, 37, 3, 9]
output decay_rows: f32[2, 3, 37, 9]
output summed_lanes: f32[2, 3, 37, 9]
output summed_rows: f32[2, 3, 37, 9]
plain = attention(q, k, v) by {softmax: 0} with {path: lanes}
relu_lanes = attention(q, k, v) by {causal: 1, softmax: 0} with {path: lanes, micro: 4x8, keys: 12}
  let score = relu(it * 0.25)
relu_rows = attention(q, k * 2, v) by {causal: 1, softmax: 0} with {path: rows, keys: 11} let score = square(relu(it))
sigmoid_lanes = attention(q, k, v) by {heads: 1, softmax: 0} with {path: lanes, micro: 8x16, keys: 16}
  let score = sigmoid(it * 0.25 + m) -> relu(it)
decay_rows = attention(q, k, v) by {softmax: 0} with {path: rows}
  let score = it * select(query() >= key(), exp(real(key() - query()) * 0.1), 0) -> it + r
summed_lanes = attention(q, k, v) by {causal: 1, softmax: 0} with {path: lanes, micro: 4x8, keys: 12}
  let score = relu(it) + 0.5 -> it / (total() + 0.001)
summed_rows = attention(q, k, v) by {softmax: 0} with {path: rows, keys: 11} let score = abs(it + m) -> it / total() + r
)"),
                       2, random, 5e-5);
}

TEST(AttentionTest, WhatDoesNotFitIsSaid) {
  const auto complaint = [](const std::string& statement) {
    auto parsed = Parse("program p\ninput q: f32[4, 8]\ninput k: f32[5, 8]\ninput v: f32[5, 3]\noutput y: f32[4, 3]\n" +
                        statement);
    auto checked = Check(std::get<Program>(parsed), nullptr);
    return std::holds_alternative<Complaint>(checked) ? std::get<Complaint>(checked).message : "";
  };
  EXPECT_EQ(complaint("y = attention(q, v, k)"),
            "attention of [4, 8], [5, 3] and [5, 8]: q's last extent (8) must be k's (3)");
  EXPECT_EQ(complaint("y = attention(q, k, v) let score = it * 2 -> it + score"),
            "'score' is a score: behind the values there is none any more");
  EXPECT_EQ(complaint("y = attention(q, k, v) -> it + query()"), "unknown function 'query': of a row there is 'lse()'");
  EXPECT_EQ(complaint("y = attention(q, k, v) let score = it + lse()"), "unknown function 'lse'");
  EXPECT_EQ(complaint("y = attention(q, k, v) -> it * lse(it)"), "unknown function 'lse'");
  EXPECT_EQ(complaint("y = attention(q, k)"),
            "'attention' takes 3 to 6 operands, not 2: attention(EXPR, EXPR, EXPR [, EXPR] [, EXPR, EXPR]) by {causal, "
            "heads, safe, softmax} let score = EXPR -> EXPR");
  const std::string pages = "input c: f32[6, 5, 8]\ninput w: f32[6, 4, 8]\ninput t: i32[9]\ninput r: f32[9]\n";
  EXPECT_EQ(
      complaint(pages + "y = attention(q, k, v, t)"),
      "attention of [4, 8], [5, 8] and [5, 3], by pages of [9]: wants q [.., M, D], k [.., P, S, D], v [.., P, S, "
      "E] and the pages' numbers [.., T]");
  EXPECT_EQ(
      complaint(pages + "y = attention(q, c, w, t)"),
      "attention of [4, 8], [6, 5, 8] and [6, 4, 8], by pages of [9]: there must be as many rows in k (5) as in v "
      "(4)");
  EXPECT_EQ(complaint(pages + "output z: f32[4, 8]\nz = attention(q, c, c, r)"),
            "the pages' numbers are whole numbers");
  EXPECT_EQ(complaint(pages + "output z: f32[4, 8]\nz = attention(q, c, c, t)"),
            "'attention' has no kernel for this: keys of 16 bits alone are found by pages, on CUDA devices: look them "
            "up before");
  EXPECT_EQ(complaint("y = attention(q, k, v) by {causal: 2}"), "'causal' is 0 or 1, not 2");
  EXPECT_EQ(complaint("y = attention(q, k, v) by {safe: 2}"), "'safe' is 0 or 1, not 2");
  EXPECT_EQ(complaint("y = attention(q, k, v) by {softmax: 2}"), "'softmax' is 0 or 1, not 2");
  EXPECT_EQ(complaint("y = attention(q, k, v) by {softmax: 0, safe: 1}"),
            "'safe' is for a softmax: without one a query that sees nothing gets zeros anyway");
  EXPECT_EQ(complaint("y = attention(q, k, v) by {softmax: 0} -> it - lse()"),
            "unknown function 'lse': of a row there is 'total()'");
  EXPECT_EQ(complaint("y = attention(q, k, v) -> it / total()"), "unknown function 'total': of a row there is 'lse()'");
}

}  // namespace
}  // namespace hone::dsl
