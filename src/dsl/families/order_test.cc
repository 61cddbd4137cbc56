#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "dsl/lower.h"
#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

TEST(OrderTest, AllTypesAlongAllAxes) {
  const KernelProgram program = testing::MustCheck(R"(program orders
input x: f32[5, 37, 31]
input d: f64[3, 50]
input n: i32[40, 77]
input b: bool[3, 100]
input w: f32[31]
output rows: i64[5, 37, 31]
output columns: i64[5, 4, 31]
output outer: i64[2, 37, 31]
output one: i64[5, 37, 1]
output line: i64[7]
output wide: i64[3, 9]
output whole: i64[40, 77]
output flags: i64[3, 60]
output behind: f32[5, 37, 3]
output largest: f64[3, 9]
output tenth: f32[5, 4, 31]
output smallest: i32[40, 77]
output truths: bool[3, 60]
view flat = x: [5735] strides [1]
rows = order ascending(x) over [2]
columns = order descending(x * w) over [1] by {count: 4}
  also tenth = it * w * 0.1
outer = order ascending(x + 1) over [0] by {count: 2}
one = order descending(x) over [2] by {count: 1}
line = order descending(flat) over [0] by {count: 7}
wide = order descending(d) over [1] by {count: 9}
  also largest = it
whole = order ascending(n) over [1]
  also smallest = it
flags = order descending(b) over [1] by {count: 60}
  also truths = it
behind = order ascending(x) over [2] by {count: 3} -> real(it) * 0.5
)");
  for (const int threads : {1, 3}) {
    std::mt19937 random(5);
    testing::ExpectRight(program, threads, random);
  }
}

TEST(OrderTest, NansAreTheLargestAndEqualsStayInTheirOrder) {
  const KernelProgram program = testing::MustCheck(R"(program nans
input x: f32[1, 8]
output up: i64[1, 8]
output down: i64[1, 8]
output values: f32[1, 8]
up = order ascending(x) over [1]
  also values = it
down = order descending(x) over [1]
)");
  testing::Module module(program);
  ASSERT_TRUE(module.ok()) << module.log();
  std::vector<std::vector<double>> values(program.buffers.size());
  values[0] = {1, std::nan(""), -0.0, 1, 0.0, INFINITY, std::nan(""), -INFINITY};
  const auto got = module.Run(values, 1);
  EXPECT_EQ(got[1], (std::vector<double>{7, 2, 4, 0, 3, 5, 1, 6}));
  EXPECT_EQ(got[2], (std::vector<double>{1, 6, 5, 0, 3, 2, 4, 7}));
  for (std::size_t i = 0; i < 8; ++i) {
    const double own = values[0][static_cast<std::size_t>(got[1][i])];
    EXPECT_TRUE(got[3][i] == own || (std::isnan(got[3][i]) && std::isnan(own))) << i;
    EXPECT_EQ(std::signbit(got[3][i]), std::signbit(own)) << i;
  }
}

TEST(OrderTest, WhatCannotBeIsSaid) {
  const auto said = [](const std::string& statement) {
    const auto lowered = Lower("program p\ninput x: f32[4, 9]\noutput y: i64[4, 3]\ny = " + statement + "\n", nullptr);
    const auto* complaint = std::get_if<Complaint>(&lowered);
    return complaint ? complaint->message : std::string("taken");
  };
  EXPECT_EQ(said("order ascending(x) over [1] by {count: 3}"), "taken");
  EXPECT_EQ(said("order(x) over [1]"), "'order' needs a variant: ascending, descending");
  EXPECT_EQ(said("order ascending(x) over [0, 1]"), "order goes along one axis, not 2");
  EXPECT_EQ(said("order ascending(x) over [2]"), "axis 2 is out of range: the operand's shape is [4, 9]");
  EXPECT_EQ(said("order ascending(x) over [1] by {count: 10}"),
            "'count' 10 is more than there is along axis 1 of [4, 9]: try 9");
}

}  // namespace
}  // namespace hone::dsl
