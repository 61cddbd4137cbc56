#include "judge/input_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hone {
namespace {

Tensor Normals(std::int64_t count) {
  return {.name = "x", .shape = {count}, .dtype = DType::kF32, .role = Role::kInput, .generator = Normal{3, 2}};
}

std::vector<float> Drawn(const InputTable& table, std::uint64_t seed, std::size_t count) {
  std::vector<float> values(count);
  table.Fill(seed, reinterpret_cast<std::byte*>(values.data()), 0, count);
  return values;
}

TEST(InputTableTest, GivesTheGeneratorsDistribution) {
  const auto table = InputTable::Create(Normals(10), 1, 0, "");
  ASSERT_TRUE(table);
  const auto values = Drawn(*table, 5, 200'000);
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += (value - 3.0) * (value - 3.0);
  }
  EXPECT_NEAR(sum / 200'000, 3, 0.05);
  EXPECT_NEAR(std::sqrt(squares / 200'000), 2, 0.05);
}

TEST(InputTableTest, ASeedGivesTheSameAgainAndAnotherOthers) {
  const auto table = InputTable::Create(Normals(10), 1, 0, "");
  ASSERT_TRUE(table);
  const auto first = Drawn(*table, 5, 1001), second = Drawn(*table, 6, 1001);
  EXPECT_EQ(first, Drawn(*table, 5, 1001));
  int same = 0;
  for (std::size_t i = 0; i < first.size(); ++i) same += first[i] == second[i];
  EXPECT_LT(same, 10);
}

TEST(InputTableTest, ARunIsReplacedAndNothingElse) {
  const auto table = InputTable::Create(Normals(10), 1, 0, "");
  ASSERT_TRUE(table);
  const auto before = Drawn(*table, 5, 1000);
  auto after = before;
  table->Fill(9, reinterpret_cast<std::byte*>(after.data()), 100, 15);
  for (std::size_t i = 0; i < 1000; ++i) {
    if (i < 100 || i >= 115) {
      EXPECT_EQ(after[i], before[i]) << i;
    }
  }
  EXPECT_FALSE(std::equal(before.begin() + 100, before.begin() + 115, after.begin() + 100));
}

TEST(InputTableTest, NothingBeyondTheTensorIsWritten) {
  const auto table = InputTable::Create(Normals(10), 1, 0, "");
  ASSERT_TRUE(table);
  for (const std::size_t count : {1u, 3u, 4u, 5u, 17u, 1001u}) {
    std::vector<float> values(count + 8, 777);
    table->Fill(9, reinterpret_cast<std::byte*>(values.data()), 0, count);
    EXPECT_EQ(std::count(values.begin(), values.end(), 777.0f), 8) << count;
  }
}

TEST(InputTableTest, SmallWholeNumbersStayInTheirRange) {
  Tensor tensor = Normals(10);
  tensor.dtype = DType::kI8;
  tensor.generator = IntegerRange{-2, 3};
  const auto table = InputTable::Create(tensor, 1, 0, "");
  ASSERT_TRUE(table);
  std::vector<std::int8_t> values(10'001);
  table->Fill(7, reinterpret_cast<std::byte*>(values.data()), 0, values.size());
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), -2);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 2);
}

}  // namespace
}  // namespace hone
