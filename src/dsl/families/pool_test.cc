#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

TEST(PoolTest, AllKindsAndEdgesGiveTheInterpretersValues) {
  std::mt19937 random(31);
  testing::ExpectRight(testing::MustCheck(R"(program pools
input x: f32[2, 3, 19, 45]
input n: i32[2, 3, 19, 45]
param b: f32[3, 1, 1]
output most: f32[2, 3, 10, 23]
output where: i64[2, 3, 10, 23]
output total: f32[2, 3, 9, 15]
output average: f32[2, 3, 10, 23]
output within: f32[2, 3, 10, 23]
output half: f32[2, 3, 11, 23]
output apart: f32[2, 3, 15, 41]
output whole: i64[2, 3, 18, 44]
output channels: f32[2, 2, 19, 45]
output middle: f32[2, 3, 18, 45]
output far: f32[2, 3, 9, 18]
most = pool max(x * 2) over [2, 3] by {window: 3, stride: 2, padding: 1} with {threads: 0} -> relu(it + b)
where = pool argmax(x) over [2, 3] by {window: 3, stride: 2, padding: 1}
total = pool sum(x) over [2, 3] by {window: 2x3}
average = pool mean(x) over [2, 3] by {window: 3, stride: 2, padding: 1}
within = pool mean(x) over [2, 3] by {window: 3, stride: 2, padding: 1, inside: 1}
half = pool mean(x) over [2, 3] by {window: 4, stride: 2, padding: 2, inside: 2, extent: 11x23}
apart = pool max(x) over [2, 3] by {window: 3, stride: 1, dilation: 2}
whole = pool max(n) over [2, 3] by {window: 2, stride: 1}
channels = pool mean(x) over [1] by {window: 2, stride: 1}
middle = pool max(x) over [2] by {window: 2, stride: 1} -> it * 3
far = pool sum(x) over [2, 3] by {window: 5x20, stride: 3x2, padding: 4x4, extent: 9x18}
)"),
                       2, random);
}

TEST(PoolTest, OneAndThreeDimensionsAndLongRows) {
  std::mt19937 random(32);
  testing::ExpectRight(testing::MustCheck(R"(program pools
input x: f32[2, 5000]
input c: f32[2, 2, 6, 7, 9]
output line: f32[2, 2501]
output lines: i64[2, 2501]
output running: f32[2, 4993]
output cube: f32[2, 2, 3, 4, 4]
output place: i64[2, 2, 3, 4, 4]
output one: f32[2, 2, 6, 7, 9]
line = pool max(x) over [1] by {window: 3, stride: 2, padding: 2}
lines = pool argmax(x) over [1] by {window: 3, stride: 2, padding: 2}
running = pool mean(x) over [1] by {window: 40, stride: 1, padding: 16} with {threads: 0}
cube = pool max(c) over [2, 3, 4] by {window: 2x3x3, stride: 2, padding: 0x1x0}
place = pool argmax(c) over [2, 3, 4] by {window: 2x3x3, stride: 2, padding: 0x1x0}
one = pool max(c) over [2, 3, 4] by {window: 1}
)"),
                       2, random);
}

}  // namespace
}  // namespace hone::dsl
