// Recurrences as one kernel for a device: what goes through time together, and that it computes what the program says.
// The latter is skipped where there is no device.
#include <gtest/gtest.h>

#include <string_view>

#include "base/text.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

// A layer whose steps multiply with weights: rows that are no multiple of a warp, rows as long as a part of a sum and
// longer, a step backwards, rows too short to be shared, and steps that all blocks share.
constexpr std::string_view kPrograms[] = {
    "input x: f32[4, 2, 70]\ninput h: f32[2, 70]\nparam w: f32[70, 70]\noutput y: f32[4, 2, 70]\n"
    "g = nest [i < 4, j < 2, k < 70] (x[i, j, k] + sum [l < 70] (select(i == 0, h[j, l], y[i - 1, j, l]) * w[k, l])) "
    "by {along: 0, reversed: 0, sequence: 0} with {spread: no}\n"
    "y = nest [i < 4, j < 2, k < 70] (tanh(g[i, j, k] * 0.01)) by {along: 0, reversed: 0, sequence: 0}",
    "input x: f32[3, 1, 640]\ninput h: f32[1, 640]\nparam w: f32[640, 640]\noutput y: f32[3, 1, 640]\n"
    "g = nest [i < 3, j < 1, k < 640] (x[i, j, k] + sum [l < 640] (select(i == 2, h[j, l], y[i + 1, j, l]) * w[k, l])) "
    "by {along: 0, reversed: 1, sequence: 0} with {spread: no}\n"
    "y = nest [i < 3, j < 1, k < 640] (tanh(g[i, j, k] * 0.001)) by {along: 0, reversed: 1, sequence: 0}",
    "input x: f32[5, 3, 9]\ninput h: f32[3, 9]\nparam w: f32[9, 9]\noutput y: f32[5, 3, 9]\n"
    "g = nest [i < 5, j < 3, k < 9] (x[i, j, k] + sum [l < 9] (select(i == 0, h[j, l], y[i - 1, j, l]) * w[k, l])) "
    "by {along: 0, reversed: 0, sequence: 0} with {spread: no}\n"
    "y = nest [i < 5, j < 3, k < 9] (tanh(g[i, j, k])) by {along: 0, reversed: 0, sequence: 0}",
    "input x: f32[6, 3, 66]\ninput h: f32[3, 33]\nparam w: f32[66, 33]\noutput y: f32[6, 3, 33]\n"
    "g = nest [i < 6, j < 3, k < 66] (x[i, j, k] + sum [l < 33] (select(i == 0, h[j, l], y[i - 1, j, l]) * w[k, l])) "
    "by {along: 0, reversed: 0, sequence: 0}\n"
    "c = nest [i < 6, j < 3, k < 33] (tanh(g[i, j, k + 33] * 0.1)) by {along: 0, reversed: 0, sequence: 0}\n"
    "y = nest [i < 6, j < 3, k < 33] (tanh(g[i, j, k] * 0.1) * c[i, j, k]) by {along: 0, reversed: 0, sequence: 0}",
};

using dsl::KernelProgram;
using CudaSequenceTest = testing::CudaProgramTest;
using SequenceOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaSequenceTest, AWarpReadsARowOfWeights) {
  for (const std::size_t n : {0, 1, 2}) {
    SCOPED_TRACE(kPrograms[n]);
    const auto lowered = Lowered(kPrograms[n]);
    const auto* program = std::get_if<dsl::KernelProgram>(&lowered);
    ASSERT_NE(program, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
    const auto built = Build(*program);
    ASSERT_EQ(built.launches.size(), 1u);
    EXPECT_EQ(built.launches[0].instructions.contains("SHFL"), n < 2);
    EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
    EXPECT_EQ(std::get<LaunchStep>(built.plan.steps[0]).block[0], n < 2 ? 1024 : 512);
  }
}

TEST_F(CudaSequenceTest, AllBlocksShareTheStepsOfASmallBatch) {
  const auto spread = [](int batch) {
    const auto lowered = Lowered(
        fmt::format("input x: f32[4, {0}, 70]\ninput h: f32[{0}, 70]\nparam w: f32[70, 70]\noutput y: f32[4, {0}, 70]\n"
                    "y = nest [i < 4, j < {0}, k < 70] "
                    "(x[i, j, k] + sum [l < 70] (select(i == 0, h[j, l], y[i - 1, j, l]) * w[k, l])) "
                    "by {{along: 0, reversed: 0, sequence: 0}}",
                    batch));
    return std::get<std::string>(std::get<KernelProgram>(lowered).kernels.at(0).settings.at("spread").value);
  };
  EXPECT_EQ(spread(10), "yes");
  EXPECT_EQ(spread(64), "no");
}

TEST_F(CudaSequenceTest, BlocksThatShareAStepMeetWhereTheyReadEachOther) {
  const auto lowered = Lowered(kPrograms[3]);
  const auto* program = std::get_if<dsl::KernelProgram>(&lowered);
  ASSERT_NE(program, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
  const auto built = Build(*program);
  ASSERT_EQ(built.plan.steps.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<MemsetStep>(built.plan.steps[0]));  // of the counter
  const auto& launch = std::get<LaunchStep>(built.plan.steps[1]);
  EXPECT_EQ(launch.grid[0], 13);  // 3 x 66 sums, 16 warps a block
  EXPECT_EQ(launch.together, 13);
  // After the sums and at the end of the step; c is read by the thread that wrote it.
  EXPECT_EQ(CountOf(built.plan.sources[0].text, "MeetAll("), 3);  // and where it is defined
  const auto wrong =
      Lowered("input x: f32[4, 9]\noutput y: f32[4, 9]\ny = nest [i < 4, j < 9] (x[i, j] * 2) with {spread: yes}");
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(wrong));
  EXPECT_NE(std::get<dsl::Complaint>(wrong).message.find("only a sequence has steps"), std::string::npos);
}

TEST_F(SequenceOnDeviceTest, ItComputesWhatItsProgramSays) {
  for (const auto text : kPrograms) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text);
  }
}

}  // namespace
}  // namespace hone
