// Quotients by powers of two, also by those that the bits of a number choose: shifts. The last is skipped where there
// is no device.
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"
#include "dsl/testing/module.h"

namespace hone {
namespace {

using ShiftsTest = testing::CudaProgramTest;
using ShiftsOnDeviceTest = testing::ProgramOnDeviceTest;

// What is drawn is up to 99, of either sign.
const std::string kShifts = R"(input x: i64[4, 96]
input n: i32[4, 1]
output by: i64[4, 96]
output few: i32[4, 96]
output all: i64[4, 96]
output rest: i64[4, 96]
output up: i64[4, 96]
output cut: i64[4, 12]
by = map(floordiv(x, select(0 < and(n, 1), 2, 1) * select(0 < and(n, 2), 4, 1) * select(0 < and(n, 4), 16, 1)))
few = map(and(floordiv(x * 1000000, select(0 < and(n, 4), 16, 1) * select(0 < and(n, 8), 256, 1)), 15))
all = map(floordiv(x, 16) - floordiv(x, 3))
rest = map(mod(x, 64) + mod(x, 6))
up = map(x * (select(0 < and(n, 1), 2, 1) * select(0 < and(n, 8), 256, 1)))
cut = nest [i < 4, j < 12] (sum [k < 8] (and(floordiv(x[i, j * 8 + k], select(0 < and(k * 4, 4), 16, 1) * select(0 < and(k * 4, 8), 256, 1) * select(0 < and(k * 4, 16), 65536, 1)), 15)))
)";

TEST_F(ShiftsTest, NothingIsDividedByPowersOfTwo) {
  const auto lowered = Lowered(kShifts);
  const auto* program = std::get_if<dsl::KernelProgram>(&lowered);
  ASSERT_NE(program, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
  const std::string source = dsl::EmitCuda(*program).sources[0].text;
  for (const char* shift : {" & 7)", " & 12)", " & 28)", " >> 4", "1l << (", " & 63"})
    EXPECT_NE(source.find(shift), std::string::npos) << shift << "\n" << source;
  for (const char* division : {", long(16))", ", long(64))", "? long(16)", "? 16 :"})
    EXPECT_EQ(source.find(division), std::string::npos) << division << "\n" << source;
  EXPECT_NE(source.find("FloorDiv(long("), std::string::npos) << "by 3 it is";
  Build(*program);
}

TEST(ShiftsOnHostTest, TheyAreWhatTheProgramSays) {
  std::mt19937 random(3);
  dsl::testing::ExpectRight(dsl::testing::MustCheck("program p\n" + kShifts), 2, random);
}

TEST_F(ShiftsOnDeviceTest, ComputesWhatTheProgramSays) { ExpectWhatItSays(kShifts, 0); }

}  // namespace
}  // namespace hone
