#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

TEST(ScanTest, AllKindsAlongAllAxes) {
  const KernelProgram program = testing::MustCheck(R"(program scans
input x: f32[5, 37, 301]
input d: f64[3, 50]
input n: i32[40, 77]
input b: bool[3, 100]
input s: f32[]
param w: f32[301]
output rows: f32[5, 37, 301]
output columns: f32[5, 37, 301]
output outer: f32[5, 37, 301]
output back: f32[5, 37, 301]
output before: f32[5, 37, 301]
output after: f32[5, 37, 301]
output grown: f32[5, 37, 301]
output most: f32[5, 37, 301]
output least: f32[5, 37, 301]
output wide: f64[3, 50]
output whole: i64[40, 77]
output tops: i64[40, 77]
output counts: i64[3, 100]
output one: f32[5, 1, 301]
view xs = x: [5, 1, 301] strides [11137, 0, 1]
rows = scan sum(x * 0.5) over [2] -> it * w + s
columns = scan sum(x) over [1] with {columns: 64}
outer = scan sum(x) over [0] -> it + x
back = scan sum(x) over [2] by {reverse: 1}
before = scan sum(x) over [2] by {exclusive: 1}
after = scan sum(x) over [1] by {exclusive: 1, reverse: 1} -> it + w
grown = scan prod(1 + x * 0.01) over [2] by {exclusive: 1, reverse: 1}
most = scan max(x) over [2]
least = scan min(x) over [0] by {reverse: 1}
wide = scan sum(d) over [1]
whole = scan sum(n) over [1]
tops = scan max(n) over [1] by {reverse: 1}
counts = scan sum(b) over [1]
one = scan sum(xs) over [1] by {exclusive: 1} -> it + 2
)");
  for (const int threads : {1, 3}) {
    std::mt19937 random(5);
    testing::ExpectRight(program, threads, random);
  }
}

TEST(ScanTest, LongRowsAreCut) {
  for (const int split : {1, 3, 8, 100}) {
    std::mt19937 random(6);
    testing::ExpectRight(testing::MustCheck(fmt::format(R"(program cut
input x: f32[2, 10007]
output forward: f32[2, 10007]
output back: f32[2, 10007]
output most: f32[2, 10007]
forward = scan sum(x) over [1] with {{split: {0}, threads: 0}} -> it * 2
back = scan sum(x) over [1] by {{exclusive: 1, reverse: 1}} with {{split: {0}, threads: 0}}
most = scan max(x) over [1] with {{split: {0}, threads: 0}}
)",
                                                        split)),
                         2, random, 1e-4);
  }
}

TEST(ScanTest, NansStay) {
  const KernelProgram program = testing::MustCheck(R"(program nans
input x: f32[1, 100]
output most: f32[1, 100]
output back: f32[1, 100]
most = scan max(x) over [1]
back = scan min(x) over [1] by {reverse: 1}
)");
  testing::Module module(program);
  ASSERT_TRUE(module.ok()) << module.log();
  std::vector<std::vector<double>> values(program.buffers.size());
  values[0].assign(100, 1.0);
  values[0][21] = std::nan("");
  const auto got = module.Run(values, 2);
  EXPECT_EQ(got[1][20], 1);
  EXPECT_TRUE(std::isnan(got[1][21]));
  EXPECT_TRUE(std::isnan(got[1][99]));
  EXPECT_EQ(got[2][22], 1);
  EXPECT_TRUE(std::isnan(got[2][21]));
  EXPECT_TRUE(std::isnan(got[2][0]));
}

}  // namespace
}  // namespace hone::dsl
