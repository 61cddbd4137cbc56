// Norms of rows that lie across memory: they compile without spills, take rows to shared memory where they can, and
// compute what the program says: blocks on the host, and all of it where there is a device.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"
#include "dsl/testing/hard_names.h"

namespace hone {
namespace {

// Channels of images, over [batch, pixels, channels]: words of two pixels, and an odd number of them; blocks that end
// before their rows do, in the next image and in the last; rows that are no packs; rows so long that fewer are in a
// block; beside an operand that lies along, with a further result; two types.
constexpr std::string_view kTurned[] = {
    "input x: bf16[3, 96, 40]\nparam w: bf16[96]\noutput y: bf16[3, 40, 96]\nview v = x: [3, 40, 96] strides "
    "[3840, 1, 40]\ny = norm(v) over [2]\n  let m = mean(it)\n  let d = mean(square(it - m))\n"
    "  -> (it - m) * rsqrt(d + 1e-5) * w",
    "input x: bf16[3, 768, 7, 7]\noutput y: bf16[3, 49, 768]\nview v = x: [3, 49, 768] strides [37632, 1, 49]\n"
    "y = norm(v) over [2]\n  let m = mean(it)\n  let d = mean(square(it - m))\n  -> (it - m) * rsqrt(d + 1e-5)",
    "input x: f32[3, 51, 34]\noutput y: f32[3, 34, 51]\nview v = x: [3, 34, 51] strides [1734, 1, 34]\n"
    "y = norm(v) over [2]\n  let m = mean(it)\n  let d = mean(square(it - m))\n  -> (it - m) * rsqrt(d + 1e-5)",
    "input x: bf16[3, 96, 40]\ninput r: bf16[3, 40, 96]\nparam g: bf16[96]\noutput y: bf16[3, 40, 96]\n"
    "output s: bf16[3, 40, 96]\nview v = x: [3, 40, 96] strides [3840, 1, 40]\ny = norm(r * g + v) over [2]\n"
    "  let m = mean(it)\n  let d = mean(square(it - m))\n  -> (it - m) * rsqrt(d + 1e-5)\n  also s = it",
    "input x: f16[2, 96, 41]\ninput z: f32[2, 96, 41]\noutput y: f16[2, 41, 96]\nview v = x: [2, 41, 96] strides "
    "[3936, 1, 41]\nview u = z: [2, 41, 96] strides [3936, 1, 41]\ny = softmax(v + u) over [2] with {lanes: 4}",
    "input x: bf16[2, 400, 32]\noutput y: bf16[2, 32, 400]\nview v = x: [2, 32, 400] strides [12800, 1, 32]\n"
    "y = softmax(v) over [2] with {lanes: 16, pack: 8}",
};

// So many that blocks have more of them each.
constexpr std::string_view kMany =
    "input x: bf16[64, 96, 3136]\noutput y: bf16[64, 3136, 96]\nview v = x: [64, 3136, 96] strides "
    "[301056, 1, 3136]\ny = softmax(v) over [2]";

// Rows that are kept nowhere, that are too long for a block's memory, or of which too few lie side by side.
constexpr std::string_view kOthers[] = {
    "input x: bf16[3, 96, 40]\noutput y: bf16[3, 40, 96]\nview v = x: [3, 40, 96] strides [3840, 1, 40]\n"
    "y = softmax(v) over [2] with {keep: no}",
    "input x: bf16[2, 3000, 40]\noutput y: bf16[2, 40, 3000]\nview v = x: [2, 40, 3000] strides [120000, 1, 40]\n"
    "y = softmax(v) over [2]",
    "input x: bf16[60, 96, 8]\noutput y: bf16[60, 8, 96]\nview v = x: [60, 8, 96] strides [768, 1, 8]\n"
    "y = softmax(v) over [2]",
};

using TurnedRowsTest = testing::CudaProgramTest;
using TurnedRowsOnHostTest = dsl::testing::DeviceBlocksTest;
using TurnedRowsOnDeviceTest = testing::ProgramOnDeviceTest;

std::string TextOf(const std::variant<dsl::KernelProgram, dsl::Complaint>& lowered) {
  const auto* program = std::get_if<dsl::KernelProgram>(&lowered);
  EXPECT_NE(program, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
  return program ? dsl::testing::CudaText(*program) : "";
}

TEST_F(TurnedRowsTest, RowsThatLieAcrossAreReadAsTheyLie) {
  for (const auto text : kTurned) {
    SCOPED_TRACE(text);
    EXPECT_NE(TextOf(Lowered(text)).find("x_own"), std::string::npos);
    ExpectLaunchesWithoutSpills(std::string(text), 1);
  }
  // Of even pixels, two at a time.
  EXPECT_NE(TextOf(Lowered(kTurned[0])).find("threadIdx.x % 8 * 2"), std::string::npos);
  EXPECT_NE(TextOf(Lowered(kTurned[1])).find("threadIdx.x % 16, "), std::string::npos);
  EXPECT_NE(TextOf(Lowered(kMany)).find("threadIdx.x % 16 * 2"), std::string::npos);
  ExpectLaunchesWithoutSpills(std::string(kMany), 1);
}

TEST_F(TurnedRowsTest, OthersAreReadOneByOne) {
  for (const auto text : kOthers) {
    SCOPED_TRACE(text);
    EXPECT_EQ(TextOf(Lowered(text)).find("x_own"), std::string::npos);
  }
}

TEST_F(TurnedRowsOnHostTest, BlocksComputeWhatTheProgramSays) {
  for (const auto text : kTurned) ExpectBlocksSay(text, text.find("16[") == std::string_view::npos ? 1e-5 : 1e-2);
}

TEST_F(TurnedRowsOnDeviceTest, ItIsWhatTheProgramSays) {
  for (const auto text : kTurned) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, text.find("16[") == std::string_view::npos ? 1e-5 : 1e-2);
  }
}

}  // namespace
}  // namespace hone
