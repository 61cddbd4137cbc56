// Sums by keys that each term is added to where it goes: beside the interpreter, whatever the ranges and threads, and
// the default where there are elements enough.
#include <gtest/gtest.h>

#include "dsl/testing/module.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

// Keys that are drawn are up to 99: some elements get nothing, some keys are of none.
TEST(CpuNestAddsTest, ItGivesTheInterpretersValues) {
  std::mt19937 random(7);
  testing::ExpectRight(testing::MustCheck(R"(program scatters
input x: f32[5, 700]
input rows: f32[700, 24]
input key: i32[5, 700]
input own: f32[5, 90]
output single: f32[5, 90]
output most: f32[5, 90]
output onto: f32[5, 90]
output shifted: f32[5, 90]
output counted: f32[5, 90]
output several: f32[90, 24]
output ranged: f32[90, 24]
output turned: f32[24, 90]
output all: f32[90]
output last: i64[5, 90]
output least: i32[90]
output many: i64[5, 90]
single = nest [i < 5, j < 90] (sum [k < 700] (select(key[i, k] == j, x[i, k], 0))) with {way: adds, threads: 2}
most = nest [i < 5, j < 90] (sum [k < 700] (select(max(key[i, k], 60) == j, x[i, k], 0))) with {way: adds, ranges: 3}
onto = nest [i < 5, j < 90] (own[i, j] * 2 + sum [k < 700] (select(key[i, k] == j, x[i, k] * 0.5, 0))) with {way: adds}
shifted = nest [i < 5, j < 90] (sum [a < 5, k < 700] (select(select(key[a, k] < 50, key[a, k] + 20, key[a, k]) == j, x[a, k] * real(i), 0)) + 1) with {way: adds}
counted = nest [i < 5, j < 90] (sum [k < 700] (real(key[i, k] == j))) with {way: adds}
several = nest [i < 90, j < 24] (sum [k < 700] (select(key[2, k] == i, rows[k, j], 0))) with {way: adds, ranges: 1}
ranged = nest [i < 90, j < 24] (sum [k < 700] (select(key[2, k] == i, rows[k, j], 0))) with {way: adds, ranges: 7, threads: 3}
turned = nest [j < 24, i < 90] (sum [k < 700] (select(key[2, k] == i, rows[k, j], 0))) with {way: adds, ranges: 16, threads: 2}
all = nest [i < 90] (sum [a < 5, k < 700] (select(key[a, k] == i, x[a, k], 0))) with {way: adds, ranges: 16}
last = nest [i < 5, j < 90] (max [k < 700] (select(key[i, k] == j, k, -1))) with {way: adds, threads: 2}
least = nest [i < 90] (min [a < 5, k < 700] (select(key[a, k] == i, a * 700 - k, 5000))) with {way: adds, ranges: 7, threads: 3}
many = nest [i < 5, j < 90] (sum [k < 700] (select(key[i, k] == j, 1, 0))) with {way: adds}
)"),
                       3, random, 2e-5);
}

TEST(CpuNestAddsTest, ItIsTheDefaultWhereElementsAreMany) {
  const auto said = [](const std::string& space, const std::string& element, const std::string& settings = "") {
    auto parsed = Parse("program p\ninput x: f32[50, 700]\ninput key: i32[50, 700]\noutput y: f32[" + space +
                        "]\ny = nest [i < " + space.substr(0, space.find(',')) + ", j <" +
                        space.substr(space.find(',') + 1) + "] (" + element + ")" + settings);
    const auto checked = Check(std::get<Program>(parsed), nullptr, {});
    if (const auto* complaint = std::get_if<Complaint>(&checked)) return complaint->message;
    return std::string(std::get<KernelProgram>(checked).kernels[0].way->name);
  };
  const std::string sum = "sum [k < 700] (select(key[i, k] == j, x[i, k], 0))", adds = " with {way: adds}";
  EXPECT_EQ(said("50, 90", sum), "adds");
  EXPECT_EQ(said("50, 3", sum), "elements");
  EXPECT_EQ(said("50, 90", "max [k < 700] (select(key[i, k] == j, x[i, k], 0))"), "elements");
  EXPECT_EQ(said("50, 90", "relu(" + sum + ")", adds),
            "'way' adds: something is made of the sum before it is stored; try elements");
  EXPECT_EQ(
      said("50, 90", "sum [k < 700] (select(key[i, k] == j, x[i, k], 1))", adds),
      "'way' adds: it has no sum, nor an extreme of whole numbers, or more than one fold, of terms that are taken "
      "where a key out of data is an index; try elements");
}

}  // namespace
}  // namespace hone::dsl
