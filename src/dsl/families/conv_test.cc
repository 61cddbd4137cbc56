#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

TEST(ConvTest, BothPathsGiveTheInterpretersValues) {
  std::mt19937 random(21);
  testing::ExpectRight(testing::MustCheck(R"(program convolutions
input x: f32[2, 5, 19, 23]
input r: f32[2, 20, 19, 23]
param w: f32[20, 5, 3, 3]
param b: f32[20, 1, 1]
input v: f32[7, 5, 5, 4]
output direct: f32[2, 20, 19, 23]
output gemm: f32[2, 20, 19, 23]
output strided: f32[2, 7, 9, 13]
output strided_gemm: f32[2, 7, 9, 13]
output dilated: f32[2, 20, 15, 19]
output parts: f32[2, 20, 19, 23]
output parts_gemm: f32[2, 20, 19, 23]
output along: f32[2, 20, 19, 23]
output along_gemm: f32[2, 20, 19, 23]
output whole: f32[2, 20, 17, 21]
output far: f32[2, 20, 25, 29]
direct = conv(x, w) by {padding: 1} with {path: direct, threads: 0} -> it + b -> relu(it + r)
gemm = conv(x, w) by {padding: 1} with {path: gemm, threads: 0} -> it + b -> relu(it + r)
strided = conv(x * 2, v) by {stride: 2, padding: 2x3, extent: 9x13} with {path: direct}
strided_gemm = conv(x * 2, v) by {stride: 2, padding: 2x3, extent: 9x13} with {path: gemm}
dilated = conv(x, w) by {dilation: 2} with {path: direct, along: pixels, micro: 6x16, tile: 12x48x5}
parts = conv(x, w) by {padding: 1} with {path: direct, along: pixels, micro: 4x24, tile: 8x24x2} -> it + b
parts_gemm = conv(x, w) by {padding: 1} with {path: gemm, along: pixels, micro: 4x24, tile: 8x72x2} -> it + b
along = conv(x, w) by {padding: 1} with {path: direct, along: channels, micro: 16x7, tile: 16x49x5} -> it + b
along_gemm = conv(x, w) by {padding: 1} with {path: gemm, along: channels, micro: 8x5, tile: 8x40x2} -> it + r
whole = conv(x, w) with {path: gemm, along: pixels, micro: 14x32}
far = conv(x, w) by {padding: 4} with {path: gemm}
)"),
                       2, random);
}

TEST(ConvTest, LongSumsAreMadeOfChunks) {
  std::mt19937 random(24);
  testing::ExpectRight(testing::MustCheck(R"(program longs
input x: f32[1, 151, 6, 9]
param w: f32[3, 151, 3, 3]
output direct: f32[1, 3, 6, 9]
output gemm: f32[1, 3, 6, 9]
direct = conv(x, w) by {padding: 1} with {path: direct}
gemm = conv(x, w) by {padding: 1} with {path: gemm}
)"),
                       2, random);
}

TEST(ConvTest, TheLibraryOrWhatStandsInForItGivesTheInterpretersValues) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "LeakSanitizer ends with a fault of its own where oneDNN's threads still wait at the program's end";
#endif
  std::mt19937 random(25);
  testing::ExpectRight(testing::MustCheck(R"(program library
input x: f32[2, 6, 17, 12]
input l: f32[1, 6, 50]
param w: f32[20, 6, 3, 3]
param g: f32[8, 3, 2, 3]
param o: f32[9, 6, 1, 1]
input u: f32[4, 6, 5]
param b: f32[20, 1, 1]
output plain: f32[2, 20, 9, 7]
output grouped: f32[2, 8, 16, 12]
output one: f32[2, 9, 17, 12]
output line: f32[1, 4, 46]
plain = conv(x, w) by {padding: 1, stride: 2, extent: 9x7} with {path: library} -> relu(it + b)
grouped = conv(x, g) by {padding: 0x2, dilation: 1x2, groups: 2} with {path: library, threads: 0}
one = conv(x, o) with {path: library}
line = conv(l, u) with {path: library} -> it * 2
)"),
                       2, random);
}

TEST(ConvTest, GroupsDepthwiseAndOnes) {
  std::mt19937 random(22);
  testing::ExpectRight(testing::MustCheck(R"(program groups
input x: f32[3, 12, 10, 11]
param g: f32[8, 3, 3, 3]
param d: f32[24, 1, 3, 3]
param o: f32[9, 12, 1, 1]
param s: f32[12, 1, 1]
output grouped: f32[3, 8, 5, 6]
output grouped_gemm: f32[3, 8, 5, 6]
output depthwise: f32[3, 24, 10, 11]
output depthwise_gemm: f32[3, 24, 10, 11]
output one: f32[3, 9, 10, 11]
output one_strided: f32[3, 9, 5, 6]
output one_direct: f32[3, 9, 5, 6]
grouped = conv(x, g) by {groups: 4, stride: 2, padding: 1} with {path: direct}
grouped_gemm = conv(x, g) by {groups: 4, stride: 2, padding: 1} with {path: gemm}
depthwise = conv(x * s, d) by {groups: 12, padding: 1} with {path: direct}
depthwise_gemm = conv(x * s, d) by {groups: 12, padding: 1} with {path: gemm}
one = conv(relu(x), o) with {threads: 0}
one_strided = conv(x, o) by {stride: 2} with {path: gemm}
one_direct = conv(x, o) by {stride: 2} with {path: direct}
)"),
                       2, random);
}

TEST(ConvTest, OneAndThreeDimensionsAndTransposed) {
  std::mt19937 random(23);
  testing::ExpectRight(testing::MustCheck(R"(program dimensions
input a: f32[2, 3, 200]
param u: f32[4, 3, 5]
input x: f32[2, 3, 6, 7, 8]
param w: f32[5, 3, 3, 2, 3]
input p: f32[2, 4, 6, 7]
param t: f32[4, 3, 4, 3]
param q: f32[4, 3, 3, 3]
output line: f32[2, 4, 198]
output line_gemm: f32[2, 4, 198]
output cube: f32[2, 5, 3, 8, 8]
output cube_gemm: f32[2, 5, 3, 8, 8]
output up: f32[2, 3, 12, 14]
output up_gemm: f32[2, 3, 12, 14]
output grouped: f32[2, 6, 17, 22]
output thin: f32[2, 3, 16, 19]
line = conv(a, u) by {padding: 1} with {path: direct, along: pixels, micro: 4x16, tile: 4x64x3} -> relu(it)
line_gemm = conv(a, u) by {padding: 1} with {path: gemm}
cube = conv(x, w) by {stride: 2x1x1, padding: 1} with {path: direct}
cube_gemm = conv(x, w) by {stride: 2x1x1, padding: 1} with {path: gemm}
up = conv transposed(p, t) by {stride: 2, padding: 1, output_padding: 0x1} with {path: direct} -> it + 1
up_gemm = conv transposed(p, t) by {stride: 2, padding: 1, output_padding: 0x1} with {path: gemm} -> it + 1
grouped = conv transposed(p, q) by {stride: 3, groups: 2, dilation: 2x1, padding: 1, extent: 17x22}
thin = conv transposed(p, q) by {stride: 3, extent: 16x19} with {threads: 0}
)"),
                       2, random);
}

}  // namespace
}  // namespace hone::dsl
