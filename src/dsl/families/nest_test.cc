#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

void ExpectRight(const std::string& text, unsigned seed = 1, double tolerance = 2e-5) {
  for (const int threads : {1, 3}) {
    std::mt19937 random(seed);
    testing::ExpectRight(testing::MustCheck(text), threads, random, tolerance);
  }
}

TEST(NestTest, ElementsAreMovedPaddedAndGathered) {
  ExpectRight(R"(program moves
input a: f32[5, 70]
input b: f32[9, 70]
input n: u8[14, 30]
input s: f32[]
input big: f32[3, 40000]
output cat: f32[14, 70]
output pad: f32[9, 74]
output flip: f32[5, 70]
output repeat: f32[10, 140]
output gather: f32[14, 30]
output late: f32[14, 70]
output one: f32[]
output long: f32[3, 40010]
output where: i64[4, 6]
output shaped: f32[350]
view at = a: [70, 5] strides [1, 70]
cat = nest [i < 14, j < 70] (select(i < 5, a[i, j], b[i - 5, j]))
pad = nest [i < 9, j < 74] (select(and(and(2 <= i, i < 7), and(1 <= j, j < 71)), at[j - 1, i - 2], s))
flip = nest [i < 5, j < 70] (a[4 - i, 69 - j]) -> it * 2 + it
repeat = nest [i < 10, j < 140] (a[mod(i, 5), floordiv(j, 2)])
gather = nest [i < 14, j < 30] (select(n[i, j] < 30, b[mod(n[i, j], 9), j], -1))
late = nest [i < 14, j < 70] (select(i < 5, exp(a[i, j]) + log(abs(a[i, j])), tanh(b[i - 5, j]) * exp(b[i - 5, j])))
one = nest [] (a[2, 3] + s + s[])
long = nest [i < 3, j < 40010] (select(j < 40000, big[i, j], a[i, j - 40000]))
where = nest [i < 4, j < 6] (i * 6 + j)
shaped: [350] = nest [i < 70, j < 5] (at[i, j])
)");
}

TEST(NestTest, FoldsStandAnywhere) {
  ExpectRight(R"(program folds
input a: f32[33, 70]
input b: f32[70, 150]
input x: f32[2, 3, 20, 40]
input w: f32[5, 3, 3, 3]
input keep: bool[33, 70]
output product: f32[33, 150]
output rows: f32[33, 70]
output columns: f32[33, 70]
output conv: f32[2, 5, 18, 38]
output pool: f32[2, 3, 10, 20]
output places: i64[2, 3, 10, 20]
output first: i64[33]
output last: i64[70]
output variance: f32[33]
output some: bool[33]
output every: bool[70]
output counts: i64[33]
output whole: f32[]
output prods: f32[33]
output log_soft: f32[2, 3, 20, 40]
output guarded: f32[40, 70]
output by_lane: f32[33, 100]
output least: i64[]
output deep: f32[33, 150]
product = nest [i < 33, j < 150] (sum [k < 70] (a[i, k] * b[k, j]))
rows = nest [i < 33, j < 70] (a[i, j] / sum [k < 70] (exp(a[i, k])))
columns = nest [i < 33, j < 70] (a[i, j] / sum [k < 33] (exp(a[k, j])))
conv = nest [n < 2, o < 5, h < 18, v < 38] (sum [c < 3, p < 3, q < 3] (x[n, c, h + p, v + q] * w[o, c, p, q]))
pool = nest [n < 2, c < 3, h < 10, v < 20] (max [p < 3, q < 3] (select(and(and(0 < h + p, h * 2 + p < 21), and(0 < v * 2 + q, v * 2 + q < 41)), x[n, c, max(h * 2 + p - 1, 0), v * 2 + q - 1], -inf)))
places = nest [n < 2, c < 3, h < 10, v < 20] (argmax [p < 2, q < 2] (x[n, c, h * 2 + p, v * 2 + q]))
first = nest [i < 33] (argmax [k < 70] (a[i, k]))
last = nest [j < 70] (argmin [k < 33] (a[k, j]))
variance = nest [i < 33] (sum [k < 70] (square(a[i, k] - sum [l < 70] (a[i, l]) / 70)) / 69)
some = nest [i < 33] (any [k < 70] (a[i, k] > 2.5))
every = nest [j < 70] (all [k < 33] (a[k, j] > -2))
counts = nest [i < 33] (sum [k < 70] (keep[i, k]))
whole = nest [] (sum [n < 2, c < 3, h < 20, v < 40] (x[n, c, h, v] * x[n, c, 19 - h, v]))
prods = nest [i < 33] (prod [k < 70] (1 + a[i, k] / 100))
log_soft = nest [n < 2, c < 3, h < 20, v < 40] (x[n, c, h, v] - max [d < 3] (x[n, d, h, v]) - log(sum [d < 3] (exp(x[n, d, h, v] - max [e < 3] (x[n, e, h, v])))))
guarded = nest [i < 40, j < 70] (select(i < 33, sum [k < 70] (a[i, k] * a[i, j]), max [k < 33] (a[k, j])))
by_lane = nest [i < 33, j < 100] (select(j < 70, sum [k < 33] (a[k, j] * a[k, i]), 1))
least = nest [] (argmin [i < 33, j < 70] (a[i, j]))
deep = nest [i < 33, j < 150] (max [k < 7] (sum [l < 10] (a[i, k * 10 + l] * b[k * 10 + l, j])))
)",
              2, 1e-4);
}

TEST(NestTest, NansAndTiesAreExtremeFirst) {
  const KernelProgram program = testing::MustCheck(R"(program extremes
input x: f32[3, 100]
output rows: i64[3]
output columns: i64[100]
output most: f32[3]
rows = nest [i < 3] (argmax [k < 100] (x[i, k]))
columns = nest [j < 100] (argmin [k < 3] (x[k, j]))
most = nest [i < 3] (max [k < 100] (x[i, k]))
)");
  testing::Module module(program);
  ASSERT_TRUE(module.ok()) << module.log();
  std::vector<std::vector<double>> values(program.buffers.size());
  values[0].assign(300, 1.0);
  values[0][17] = values[0][60] = 2;
  values[0][100 + 31] = values[0][100 + 80] = std::nan("");
  for (int k = 0; k < 100; ++k) values[0][static_cast<std::size_t>(200 + k)] = -INFINITY;
  const auto got = module.Run(values, 2);
  EXPECT_EQ(got[1], (std::vector<double>{17, 31, 0}));
  EXPECT_EQ(got[2][0], 2);
  EXPECT_EQ(got[2][31], 1);
  EXPECT_EQ(got[3][0], 2);
  EXPECT_TRUE(std::isnan(got[3][1]));
}

TEST(NestTest, SequencesRunInLockstep) {
  ExpectRight(R"(program sequences
input x: f32[20, 3, 40]
input w: f32[40, 40]
input u: f32[2, 9, 300]
output sums: f32[20, 3, 40]
output rows: f32[20, 3, 40]
output hidden: f32[20, 3, 40]
output back: f32[20, 3, 40]
output best: f32[2, 9, 300]
output place: i64[2, 9, 300]
output even: f32[12]
sums = nest [t < 20, b < 3, j < 40] (select(t == 0, 0, sums[t - 1, b, j]) + x[t, b, j]) by {along: 0, sequence: 1}
rows = nest [i < 20, b < 3, t < 40] (select(t == 39, 0, rows[i, b, t + 1]) + x[i, b, t]) by {along: 2, reversed: 1, sequence: 2}
hidden = nest [t < 20, b < 3, j < 40] (tanh(x[t, b, j] + sum [k < 40] (select(t == 0, 0, hidden[t - 1, b, k]) * w[j, k]) * 0.1)) by {sequence: 3}
gate = nest [t < 20, b < 3, j < 40] (sigmoid(select(t == 19, 0, back[t + 1, b, j]) + x[t, b, j])) by {reversed: 1, sequence: 4}
back = nest [t < 20, b < 3, j < 40] (gate[t, b, j] * x[t, b, j] + sum [k < 40] (w[k, j] * gate[t, b, k]) * 0.1) by {reversed: 1, sequence: 4}
best = nest [n < 2, t < 9, j < 300] (select(t == 0, u[n, t, j], max(best[n, t - 1, j], u[n, t, j]))) by {along: 1, sequence: 5}
place = nest [n < 2, t < 9, j < 300] (select(t == 0, 0, select(u[n, t, j] >= best[n, t - 1, j], t, place[n, t - 1, j]))) by {along: 1, sequence: 5}
count = nest [t < 12] (select(t == 0, 0, count[t - 1] + 1)) by {sequence: 6}
odd = nest [t < 12] (select(t == 0, 0, even[t - 1] * 2)) by {sequence: 6}
even = nest [t < 12] (odd[t] + count[t]) by {sequence: 6}
)",
              3, 1e-4);
}

}  // namespace
}  // namespace hone::dsl
