// Scans: whole rows and rows that are split, columns; compiled without spills, and what the program says. The last is
// skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"
#include "dsl/way.h"

namespace hone {
namespace {

using dsl::KernelProgram;

struct Case {
  std::string declared, statement;
  std::size_t launches = 1;
};
// What is drawn are multiples of 1/512: sums of so many are exact in double.
const Case kCases[] = {
    {"input x: f32[300, 5000]\noutput y: f32[300, 5000]", "scan sum(x) over [1] with {split: 1}"},
    {"input x: f32[3, 50000]\noutput y: f32[3, 50000]", "scan sum(x) over [1]", 2},
    {"input x: bf16[3, 50001]\noutput y: f32[3, 50001]", "scan sum(x * 0.5) over [1] with {split: 7} -> it * 2", 2},
    {"input x: f32[2, 40000]\noutput y: f32[2, 40000]",
     "scan sum(x) over [1] by {exclusive: 1} with {split: 9, block: 128, pack: 4}", 2},
    {"input x: f32[2, 40000]\noutput y: f32[2, 40000]", "scan sum(x) over [1] by {reverse: 1} with {split: 5}", 2},
    {"input x: f32[2, 40000]\noutput y: f32[2, 40000]", "scan max(x) over [1] with {split: 8}", 2},
    {"input x: i64[1, 30000]\noutput y: i64[1, 30000]", "scan sum(x) over [1] with {split: 4}", 2},
    {"input x: bool[1, 30000]\noutput y: i64[1, 30000]", "scan sum(x) over [1] with {split: 4}", 2},
    {"input x: f32[4000, 30]\noutput y: f32[4000, 30]", "scan sum(x) over [0]"},
};

std::string Text(const Case& one) { return fmt::format("{}\ny = {}", one.declared, one.statement); }

using CudaScanTest = testing::CudaProgramTest;
using CudaScanOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaScanTest, EveryCaseCompilesWithoutSpills) {
  for (const Case& one : kCases) ExpectLaunchesWithoutSpills(Text(one), one.launches);
}

TEST_F(CudaScanTest, FewLongRowsAreSplit) {
  const auto split = [&](const std::string& shape, int axis, const std::string& settings = "") {
    const auto lowered = Lowered(
        fmt::format("input x: f32[{0}]\noutput y: f32[{0}]\ny = scan sum(x) over [{1}]{2}", shape, axis, settings));
    if (const auto* complaint = std::get_if<dsl::Complaint>(&lowered)) return complaint->message;
    return dsl::ToString(std::get<KernelProgram>(lowered).kernels[0].settings.at("split"));
  };
  EXPECT_EQ(split("32, 128256", 1), "16");
  EXPECT_EQ(split("1, 1000000", 1), "244");
  EXPECT_EQ(split("1000, 100000", 1), "1");
  EXPECT_EQ(split("4, 3000", 1), "1");
  EXPECT_EQ(split("100000, 4", 0), "1");
  EXPECT_EQ(split("100000, 4", 0, " with {split: 4}"), "'split' 4: rows are split, columns are not; try 1");
  EXPECT_EQ(split("2, 16384", 1, " with {split: 5}"), "'split' 5: it goes from 1 to 4; try 4");
}

TEST_F(CudaScanOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(Text(one));
    ExpectWhatItSays(Text(one), 1e-6);
  }
}

}  // namespace
}  // namespace hone
