// Every family on reals that are stored in fewer bits than they are computed in.
#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

// A rounding of the result, and one of an intermediate value, may each fall on the other side.
double ToleranceOf(DType dtype) { return 4 * Roundoff(dtype); }

void ExpectRightIn(DType dtype, std::string text, std::mt19937& random) {
  for (std::size_t at = 0; (at = text.find("T[", at)) != std::string::npos;) text.replace(at, 1, Name(dtype));
  for (std::size_t at = 0; (at = text.find(": T =", at)) != std::string::npos;) text.replace(at + 2, 1, Name(dtype));
  testing::ExpectRightAsNamed(testing::MustCheck(text), 2, random, ToleranceOf(dtype));
}

TEST(SmallTypesTest, EveryFamilyComputesInFloats) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(Name(dtype));
    std::mt19937 random(11);
    ExpectRightIn(dtype, R"(program small
input x: T[37, 70]
input f: f32[37, 70]
input r: T[5, 6000]
input n: i32[37, 70]
param b: T[70]
output sums: T[37]
output means: T[70]
output places: i64[37]
output mapped: T[37, 70]
output mixed: f32[37, 70]
output flags: T[37, 70]
output streamed: T[37, 70]
output turned: T[70, 37]
output likely: T[37, 70]
output likely_far: T[5, 6000]
output logs: T[37, 70]
output normal: T[37, 70]
output running: T[37, 70]
output back: T[37, 70]
output nested: T[37, 70]
output states: T[37, 70]
view xt = x: [70, 37] strides [1, 70]
h: T = map(gelu(x + b))
mapped = map(h * 0.5 + x) with {threads: 0}
mixed = map(max(x, f) - min(h, 0.25))
flags = map(select(n > 3, x, 1))
streamed = map(x * 2) with {stream: yes}
turned = map(xt + 1)
sums = reduce sum(x * f) over [1]
means = reduce mean(x) over [0]
places = reduce argmax(x) over [1]
likely = softmax(x) over [1]
likely_far = softmax(r) over [1] with {passes: blocks}
logs = softmax log(x) over [0]
normal = norm(x) over [1] let m = sum(it) / 70 let v = sum(square(it - m)) / 70 -> (it - m) * rsqrt(v + 1e-5) * b
running = scan sum(x * 0.1) over [1]
back = scan max(x) over [0] by {reverse: 1}
nested = nest [i < 37, j < 70] (sum [k < 37] (x[k, j] * f[i, k]))
states = nest [t < 37, j < 70] (select(t == 0, 0, states[t - 1, j]) * 0.5 + x[t, j]) by {sequence: 1}
)",
                  random);
  }
}

TEST(SmallTypesTest, ProductsWindowsAndAttentionSumInFloats) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(Name(dtype));
    std::mt19937 random(12);
    ExpectRightIn(dtype, R"(program small
input x: T[37, 50]
input s: T[3, 50]
param w: T[45, 50]
param v: T[50, 64]
param b: T[45]
input long: T[33, 601]
input deep: T[601, 70]
input picture: T[2, 8, 12, 13]
param filters: T[16, 8, 3, 3]
input q: T[2, 3, 37, 16]
input k: T[2, 3, 50, 16]
input u: T[2, 3, 50, 9]
output y: T[37, 45]
output z: T[37, 64]
output few: T[3, 45]
output streamed: T[3, 64]
output sums: T[33, 70]
output direct: T[2, 16, 12, 13]
output gemm: T[2, 16, 12, 13]
output most: T[2, 8, 5, 6]
output average: T[2, 8, 5, 6]
output attended: T[2, 3, 37, 9]
output rows: T[2, 3, 37, 9]
view wt = w: [50, 45] strides [1, 50]
y = matmul(x, wt) -> it + b -> gelu(it)
h: T = matmul(x, v) with {pack: none}
z = map(h * 0.5)
few = matmul(s, wt) with {path: dot} -> relu(it + b)
streamed = matmul(s, v) with {path: stream}
sums = matmul(long, deep) with {micro: 14x32, tile: 28x64x100} -> it * 0.1
direct = conv(picture, filters) by {padding: 1} with {path: direct, micro: 6x16, tile: 12x64x3}
gemm = conv(picture, filters) by {padding: 1} with {path: gemm, micro: 6x16, tile: 12x64x3} -> relu(it)
most = pool max(picture) over [2, 3] by {window: 3, stride: 2}
average = pool mean(picture) over [2, 3] by {window: 3, stride: 2}
attended = attention(q, k, u) by {causal: 1} let score = it * 0.25
rows = attention(q, k, u) with {path: rows} let score = it * 0.25
)",
                  random);
  }
}

TEST(SmallTypesTest, EightBitsAreTypesLikeOthers) {
  for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2}) {
    SCOPED_TRACE(Name(dtype));
    std::mt19937 random(13);
    ExpectRightIn(dtype, R"(program eight
input x: T[37, 50]
param w: T[45, 50]
input scale: f32[37, 1]
output y: f32[37, 45]
output z: T[37, 45]
output likely: T[37, 50]
input q: bf16[3, 9, 16]
input k: i8[3, 50, 16]
input v: T[3, 50, 24]
input ks: f32[3, 50, 1]
input vs: bf16[1]
output attended: f32[3, 9, 24]
output attended_rows: f32[3, 9, 24]
view wt = w: [50, 45] strides [1, 50]
attended = attention(q, real(k) * ks, v * vs) with {path: lanes} let score = it * 0.01
attended_rows = attention(q, real(k) * ks, v * vs) with {path: rows} let score = it * 0.01
y = matmul(x, wt) -> it * scale
z = map(y * 0.125)
likely = softmax(x) over [1]
)",
                  random);
  }
}

}  // namespace
}  // namespace hone::dsl
