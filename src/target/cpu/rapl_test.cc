#include "target/cpu/rapl.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/must.h"

namespace hone {
namespace {

using testing::Must;

// What /sys/class/powercap looks like.
class RaplTest : public ::testing::Test {
 protected:
  void Write(const std::string& zone, const std::string& file, const std::string& text) {
    ASSERT_TRUE(MakeDirectories(folder_.path() + "/" + zone));
    ASSERT_TRUE(WriteFileAtomically(folder_.path() + "/" + zone + "/" + file, text));
  }
  TempDirectory folder_ = Must(TempDirectory::Create("powercap"));
};

TEST_F(RaplTest, AllPackagesCountAndTheirPartsDoNotCountTwice) {
  for (const char* zone : {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1"}) {
    Write(zone, "energy_uj", "1000000\n");
    Write(zone, "max_energy_range_uj", "5000000\n");
  }
  const auto counter = Must(OpenRapl(folder_.path()));
  EXPECT_EQ(Must(counter->Joules()), 0);
  Write("intel-rapl:0", "energy_uj", "1500000\n");
  Write("intel-rapl:0:0", "energy_uj", "1400000\n");
  Write("intel-rapl:1", "energy_uj", "3000000\n");
  EXPECT_EQ(Must(counter->Joules()), 2.5);
  EXPECT_TRUE(counter->sensor().starts_with("RAPL, 2 whole processor packages")) << counter->sensor();
}

TEST_F(RaplTest, ACountThatBeginsAgainGoesOn) {
  Write("intel-rapl:0", "energy_uj", "4800000\n");
  Write("intel-rapl:0", "max_energy_range_uj", "5000000\n");
  const auto counter = Must(OpenRapl(folder_.path()));
  Write("intel-rapl:0", "energy_uj", "300000\n");
  EXPECT_EQ(Must(counter->Joules()), 0.5);
  Write("intel-rapl:0", "energy_uj", "200000\n");
  EXPECT_NEAR(Must(counter->Joules()), 5.4, 1e-9);
}

TEST_F(RaplTest, WhatIsMissingIsOneLine) {
  const auto none = OpenRapl(folder_.path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(none.error().message, folder_.path() + " has no count of the processors' energy");
  EXPECT_FALSE(OpenRapl(folder_.path() + "/nowhere"));

  Write("intel-rapl:0", "max_energy_range_uj", "5000000\n");
  const auto hidden = OpenRapl(folder_.path());
  ASSERT_FALSE(hidden);
  const std::string counter = folder_.path() + "/intel-rapl:0/energy_uj";
  EXPECT_EQ(hidden.error().message, counter + " may not be read; as root: chmod a+r " + counter);
}

}  // namespace
}  // namespace hone
