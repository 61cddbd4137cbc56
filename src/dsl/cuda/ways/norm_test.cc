// Norms that write further results: they compile, in one kernel where the row is not split, and make what the program
// says. The latter is skipped where there is no device.
#include <gtest/gtest.h>

#include <string_view>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

struct Case {
  std::string_view text;
  std::size_t steps;
};
// Rows that a block keeps, in packs and one by one; fetched ahead; of a cluster; of a team, whose memory is cleared
// first; cut into chunks; columns. Results of other types and shapes than the norm's.
constexpr Case kCases[] = {
    {"input x: bf16[37, 4096]\ninput r: bf16[37, 4096]\nparam g: bf16[4096]\noutput y: bf16[37, 4096]\n"
     "output s: bf16[37, 4096]\ny = norm(x + r) over [1]\n  let m = mean(it)\n  let v = mean(square(it - m))\n"
     "  -> (it - m) * rsqrt(v + 1e-5) * g\n  also s = it",
     1},
    {"input x: f32[9, 1001]\noutput y: f32[9, 1001]\noutput s: bool[9009]\noutput z: f32[9, 1001]\n"
     "y = norm(x) over [1]\n  let m = max_over(it)\n  -> it / m\n  also s: [9009] = it > 0\n  also z = m",
     1},
    {"input x: f32[9, 8192]\noutput y: f32[9, 8192]\noutput s: f16[9, 8192]\n"
     "y = norm(x) over [1] with {ahead: 4, split: 1}\n  let m = mean(it)\n  -> it - m\n  also s = it * 0.5",
     1},
    {"input x: f32[9, 8192]\noutput y: f32[9, 8192]\noutput s: f32[9, 8192]\n"
     "y = norm(x) over [1] with {lanes: 256, cluster: 2, split: 1}\n  let m = mean(it)\n  -> it - m\n  also s = it * "
     "0.5",
     1},
    {"input x: f32[9, 6100]\noutput y: f32[9, 6100]\noutput s: f32[9, 6100]\n"
     "y = norm(x) over [1] with {lanes: 128, team: 4}\n  let m = mean(it)\n  -> it - m\n  also s = it + m",
     2},
    {"input x: f32[3, 70000]\noutput y: f32[3, 70000]\noutput s: f32[3, 70000]\n"
     "y = norm(x) over [1] with {split: 4}\n  let m = mean(it)\n  -> it - m\n  also s = it + m",
     3},
    {"input x: f32[300, 70]\noutput y: f32[300, 70]\noutput s: f32[300, 70]\n"
     "y = norm(x) over [0] with {split: 1}\n  let m = sum(it)\n  -> it / m\n  also s = it + 1",
     1},
    // Beside elements, what a row has one of: of a warp, a block, a cluster, a team, chunks, and of columns.
    {"input x: bf16[300, 64]\noutput y: i8[300, 64]\noutput s: f32[300, 1]\n"
     "y = norm(x) over [1]\n  let m = max_over(abs(it))\n  -> int(round(it / (m / 127)))\n  also s: [300, 1] = m / 127",
     1},
    {"input x: bf16[37, 4096]\ninput r: bf16[37, 4096]\noutput y: bf16[37, 4096]\noutput h: bf16[37, 4096]\n"
     "output m: f32[37]\noutput s: f32[37]\ny = norm(x + r) over [1] with {ahead: 4, split: 1}\n  let a = mean(it)\n"
     "  let v = mean(square(it - a))\n  -> (it - a) * rsqrt(v + 1e-5)\n  also h = it\n  also m: [37] = a\n"
     "  also s: [37] = rsqrt(v + 1e-5)",
     1},
    {"input x: f32[9, 8192]\noutput y: f32[9, 8192]\noutput s: f32[9]\n"
     "y = norm(x) over [1] with {lanes: 256, cluster: 2, split: 1}\n  let m = mean(it)\n  -> it - m\n  also s: [9] = m",
     1},
    {"input x: f32[9, 6100]\noutput y: f32[9, 6100]\noutput s: f32[9]\n"
     "y = norm(x) over [1] with {lanes: 128, team: 4}\n  let m = mean(it)\n  -> it - m\n  also s: [9] = m * 2",
     2},
    {"input x: f32[3, 70000]\ninput w: f32[3, 1]\noutput y: f32[3, 70000]\noutput s: f32[3]\n"
     "y = norm(x) over [1] with {split: 4}\n  let m = mean(it)\n  -> it - m\n  also s: [3] = m + w",
     3},
    // The halves of rows, each with the other one beside.
    {"input x: bf16[40, 256]\nparam w: bf16[128]\ninput r: f32[2]\noutput y: bf16[2, 40, 2, 64]\n"
     "view own = x: [2, 40, 2, 64] strides [128, 256, 64, 1]\n"
     "view other = x: [2, 40, 2, 64] strides [128, 256, -64, 1] offset 64\n"
     "view v = w: [2, 64] strides [-64, 1] offset 64\nview s = r: [2, 1] strides [1, 0]\n"
     "y = norm(own) over [2, 3]\n  let a = rsqrt(mean(square(own)) + 1e-6)\n  -> own * a + s * (v * (other * a))",
     1},
    {"input x: f32[300, 72]\noutput y: f32[300, 72]\noutput s: f32[72]\n"
     "y = norm(x) over [0] with {split: 1}\n  let m = sum(it)\n  -> it / m\n  also s: [72] = m",
     1},
    {"input x: f32[30000, 72]\noutput y: f32[30000, 72]\noutput s: bool[72]\n"
     "y = norm(x) over [0] with {split: 4}\n  let m = sum(it)\n  -> it / m\n  also s: [72] = m > 0",
     3},
};

using CudaNormTest = testing::CudaProgramTest;
using NormOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaNormTest, FurtherResultsAreOfTheSameKernels) {
  for (const auto& [text, steps] : kCases) {
    SCOPED_TRACE(text);
    EXPECT_EQ(BuiltOf(text).plan.steps.size(), steps);
  }
}

TEST_F(NormOnDeviceTest, FurtherResultsAreWhatTheProgramSays) {
  for (const auto& [text, steps] : kCases) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, text.find("16[") == std::string_view::npos ? 1e-5 : 1e-2);
  }
}

}  // namespace
}  // namespace hone
