// What numbers alone are: reals, but where the text says that they are whole.
#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

DType TypeOf(const std::string& statement) {
  const KernelProgram program =
      testing::MustCheck("program p\ninput x: f32[64]\noutput y: f32[64]\n" + statement + "\ny = map(x * real(n))\n");
  const auto made = std::ranges::find(program.buffers, "n", &KernelBuffer::name);
  return made == program.buffers.end() ? DType::kF64 : made->dtype;
}

TEST(WholeNumbersTest, NumbersAloneAreReals) {
  EXPECT_EQ(TypeOf("n = map(select(x > 0, 1, 0))"), DType::kF32);
  EXPECT_EQ(TypeOf("n = nest [i < 64] (sum [k < 64] (select(x[k] > x[i], 1, 0)))"), DType::kF32);
}

TEST(WholeNumbersTest, AnIntAmongThemSaysThatTheyAreWhole) {
  EXPECT_EQ(TypeOf("n = map(select(x > 0, int(1), 0))"), DType::kI64);
  EXPECT_EQ(TypeOf("n = map(x) -> select(it > 0, int(1), 0)"), DType::kI64);
  EXPECT_EQ(TypeOf("n = nest [i < 64] (sum [k < 64] (int(select(x[k] > x[i], 1, 0))))"), DType::kI64);
}

TEST(WholeNumbersTest, AnIntInAConditionSaysNothing) {
  EXPECT_EQ(TypeOf("n = map(select(int(x) > 0, 1, 0))"), DType::kF32);
}

TEST(WholeNumbersTest, TheTypeThatIsWrittenSaysThatTheyAreWhole) {
  EXPECT_EQ(TypeOf("n: i64 = map(select(x > 0, 1, 0))"), DType::kI64);
  EXPECT_EQ(TypeOf("n: i32 = map(x) -> select(it > 0, 1, 0)"), DType::kI32);
  EXPECT_EQ(TypeOf("n: bf16 = map(select(x > 0, 1, 0))"), DType::kBF16);
}

TEST(WholeNumbersTest, WholeOutputsAreMadeOfNumbersAlone) {
  std::mt19937 random(1);
  testing::ExpectRight(testing::MustCheck(R"(program wholes
input x: f32[7, 33]
output chosen: i64[7, 33]
output more: i32[7]
output before: i64[7, 33]
output ranks: i64[33]
chosen = map(select(x > 0, 1, 0))
more = reduce sum(select(x > 0, 3, 1)) over [1]
before = scan sum(select(x > 0, 1, 0)) over [1]
ranks = nest [i < 33] (sum [k < 33] (select(x[0, k] < x[0, i], 1, 0)))
)"),
                       2, random);
}

}  // namespace
}  // namespace hone::dsl
