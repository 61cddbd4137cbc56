#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

TEST(MapTest, BroadcastChainGivesTheInterpretersValues) {
  std::mt19937 random(1);
  const KernelProgram program = testing::MustCheck(R"(program chain
input x: f32[7, 33]
param b: f32[33]
param s: f32[7, 1]
output y: f32[7, 33]
output z: f32[33, 7]
view xt = x: [33, 7] strides [1, 33]
h = map(x * s + b)
y = map(gelu(h) - relu(x))
z = map(xt) -> select(it > 0, exp(it), tanh(it)) -> it * it
)");
  testing::ExpectRight(program, 2, random);
}

TEST(MapTest, WhatIsReadAcrossIsTurnedInTiles) {
  for (const char* const settings : {"", " with {tile: 0}", " with {tile: 16}", " with {tile: 64, vector: 32}"}) {
    std::mt19937 random(8);
    const KernelProgram program = testing::MustCheck(fmt::format(R"(program turns
input x: f32[3, 70, 133]
input r: f32[70, 133]
input d: f64[40, 50]
input n: i64[40, 50]
param w: f32[70]
output swapped: f32[3, 133, 70]
output summed: f32[133, 70]
output outer: f32[133, 3, 70]
output wide: f64[50, 40]
output whole: i64[50, 40]
view xt = x: [3, 133, 70] strides [9310, 1, 133]
view rt = r: [133, 70] strides [1, 133]
view xf = x: [133, 70] strides [1, 133]
view xo = x: [133, 3, 70] strides [1, 9310, 133]
view dt = d: [50, 40] strides [1, 50]
view nt = n: [50, 40] strides [1, 50]
swapped = map(xt){0} -> it
summed = map(xf * w + rt){0} -> max(it, xf)
outer = map(xo){0} -> exp(it)
wide = map(dt){0} -> it * 2
whole = map(nt){0} -> it
)",
                                                                 settings));
    testing::ExpectRight(program, 2, random);
  }
}

TEST(MapTest, FurtherResultsAreMadeOfTheSameElements) {
  for (const char* const settings :
       {"", " with {stream: yes}", " with {prefetch: 1024, threads: 1}", " with {block: 100}"}) {
    std::mt19937 random(10);
    const KernelProgram program = testing::MustCheck(fmt::format(R"(program further
input x: f32[7, 1003]
input d: f64[6, 512]
input h: f32[70, 133]
input p: bf16[5003]
input m: f32[5003]
param b: f32[1003]
param s: f32[7, 1]
output y: f32[7, 1003]
output above: bool[7021]
output more: f32[7, 1003]
output narrow: bf16[7, 1003]
output wide: f64[6, 512]
output whole: i64[6, 512]
output turned: f32[133, 70]
output twice: f32[133, 70]
output step: bf16[5003]
output moment: f32[5003]
output spread: f32[7, 1003]
output one: f32[7, 1003]
view ht = h: [133, 70] strides [1, 133]
y = map(x * s){0} -> gelu(it)
  also above: [7021] = it > 0.25
  also more = it + b
  also narrow = b
wide = map(d * d){0}
  also whole = int(it * 100)
turned = map(ht){0} -> exp(it)
  also twice = it * 2
step = map(p - m * 0.5){0}
  also moment = m * 0.9 + p
spread = map(s){0}
  also one = b
)",
                                                                 settings));
    testing::ExpectRight(program, 2, random);
  }
}

TEST(MapTest, FetchingAheadChangesNoValue) {
  for (const char* const settings :
       {"{prefetch: 1024}", "{prefetch: 2048, block: 100}", "{prefetch: 64, threads: 1}"}) {
    std::mt19937 random(9);
    const KernelProgram program = testing::MustCheck(fmt::format(R"(program ahead
input x: f32[5003]
input m: f32[6, 300]
input h: i64[6, 300]
input d: f64[6, 512]
param b: f32[300]
output y: f32[5003]
output z: f32[6, 300]
output n: f64[6, 512]
output p: bool[6, 300]
y = map(exp(x)) with {0}
z = map(m * b + real(h)) with {0}
n = map(d * d) with {0}
p = map(m < 0) with {0}
)",
                                                                 settings));
    testing::ExpectRight(program, 2, random);
    const std::string text = EmitCpu(program);
    EXPECT_NE(text.find("__builtin_prefetch(&t_h["), std::string::npos) << text;
    EXPECT_NE(text.find("__builtin_prefetch(&t_p["), std::string::npos) << text;
    EXPECT_EQ(text.find("__builtin_prefetch(&t_b["), std::string::npos) << "b comes again with every row:\n" << text;
  }
}

}  // namespace
}  // namespace hone::dsl
