#include "judge/device_trial.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(DeviceTrialTest, AnOracleGoesBySlabsOnlyWhereItWouldNotFitAtOnce) {
  // Two thousand million elements, normalised by rows: 17 GB, which slabs of single rows would make in minutes.
  const OracleRoom large = RoomOfOracle(150.7e9, 86e9);
  EXPECT_GT(large.at_once, std::int64_t{17'180'131'328});
  // Attention of 16 heads over 16384 keys.
  const OracleRoom small = RoomOfOracle(150.7e9, 1e9);
  EXPECT_LT(small.at_once, std::int64_t{139'000'000'000});
  EXPECT_GT(small.by_slabs, std::int64_t{80'000'000'000});
}

TEST(DeviceTrialTest, SlabsHaveRoomAsLongAsThereIsAny) {
  for (const double beside : {0.0, 50e9, 100e9, 130e9}) {
    const OracleRoom room = RoomOfOracle(150.7e9, beside);
    EXPECT_GE(room.by_slabs, room.at_once / 2) << beside;
    EXPECT_LE(room.by_slabs, room.at_once) << beside;
  }
  EXPECT_EQ(RoomOfOracle(80e9, 100e9).at_once, 0);
}

}  // namespace
}  // namespace hone
