#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

TEST(ReduceTest, PlacesOfExtremes) {
  const KernelProgram program = testing::MustCheck(R"(program places
input x: f32[6, 40, 75]
input n: i32[6, 40, 75]
input s: f32[40, 1]
output rows: i64[6, 40]
output columns: i64[6, 75]
output outer: i64[40, 75]
output some: i64[40]
output whole: i64[]
output ties: i64[6, 40]
output shown: f32[6, 75]
rows = reduce argmax(x * s) over [2]
columns = reduce argmin(x) over [1]
outer = reduce argmax(x + s) over [0]
some = reduce argmin(x) over [0, 2]
whole = reduce argmax(x) over [0, 1, 2]
ties = reduce argmin(n) over [2] -> it * 2
shown = reduce argmax(n) over [1] -> real(it) / 40
)");
  for (const int threads : {1, 3}) {
    std::mt19937 random(7);
    testing::ExpectRight(program, threads, random);
  }
}

}  // namespace
}  // namespace hone::dsl
