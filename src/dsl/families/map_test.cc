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

}  // namespace
}  // namespace hone::dsl
