// A correct kernel reads what it names, whatever tensors, lets and indices are called.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "dsl/knobs.h"
#include "dsl/lower.h"
#include "dsl/testing/hard_names.h"
#include "dsl/testing/module.h"
#include "dsl/way.h"
#include "target/shipped_model.h"

namespace hone::dsl {
namespace {

using testing::CudaText;

KernelProgram Lowered(const std::string& text, const DeviceModel& device) {
  auto lowered = Lower(text, nullptr, device);
  const auto* complaint = std::get_if<Complaint>(&lowered);
  EXPECT_EQ(complaint, nullptr) << ToString(*complaint) << "\n" << text;
  return complaint ? KernelProgram{} : std::get<KernelProgram>(std::move(lowered));
}

TEST(NamesTest, ProductsReadTheirEndsAndNotTheTensorCoresVariables) {
  const std::string text = CudaText(Lowered(R"(program p
input x: f32[512, 512]
input w: f32[512, 512]
param mine: f32[512]
param its: f32[512]
output y: f32[512, 512]
y = matmul(x, w) with {precision: f32x3} -> it + mine * its
)",
                                            TypicalDevice()));
  EXPECT_NE(text.find("it + (t_mine[at_n] * t_its[at_n])"), std::string::npos) << text;
}

TEST(NamesTest, AttentionByRowsReadsTheTensorCalledValues) {
  std::mt19937 random(51);
  testing::ExpectRightAsNamed(testing::MustCheck(R"(program p
input q: f32[2, 5, 16]
input k: f32[2, 50, 16]
input v: f32[2, 50, 16]
input values: f32[5, 50]
output y: f32[2, 5, 16]
y = attention(q, k, v) with {path: rows} let score = it + values
)"),
                              1, random, 5e-5);
}

TEST(NamesTest, WordsOfTheLanguagesAndMacrosAreNames) {
  const std::string longest(200, 'n');
  std::mt19937 random(52);
  testing::ExpectRightAsNamed(testing::MustCheck(fmt::format(R"(program linux
input "it": f32[4, 40]
input "nan": f32[4, 40]
param "inf": f32[40]
param int: f32[40]
param M_PI: f32[40]
param NULL: f32[40]
param __LINE__: f32[40]
param _: f32[40]
param x: f32[40]
param X: f32[40]
param x_: f32[40]
param _x: f32[40]
param {0}: f32[40]
param {0}x: f32[40]
output map: f32[4, 40]
output norm: f32[4, 40]
output nest: f32[4, 40]
output for: f32[4, 40]
view errno = "it": [4, 40] strides [40, 1]
map = map("it" * 2) -> it + "nan" * "inf" + int * M_PI
norm = norm(errno) over [1] let while = mean(it) let "it_" = sum(square(it - while)) -> it * it_ + NULL - __LINE__
nest = nest [linux < 4, class < 40] ("it"[linux, class] + sum ["i" < 40] ("it"[linux, "i"] * "inf"["i"]))
for = map(_ + x * X) -> it + x_ * _x + {0} * {0}x + nest
)",
                                                             longest)),
                              2, random);
}

// Of each family one statement at least, and of each way that its settings do not lead to by themselves.
const char* const kPrograms[] = {
    R"(input x: f32[64, 96]
input c: f32[96, 64]
param b: f32[96]
output y: f32[64, 96]
view ct = c: [64, 96] strides [1, 64]
y = map(tanh(x) * x + ct) -> select(it > b, pow(it, 2), log(abs(it) + x))
)",
    R"(input x: f32[64, 96]
input n: i32[64, 96]
output y: i64[64, 96]
y = map(floordiv(n, 7) + mod(n, 5)) -> it * select(x > 0, 1, 3)
)",
    R"(input x: f32[2, 256, 512]
param w: f32[384, 512]
param s: f32[384]
input r: f32[2, 256, 384]
output y: f32[2, 256, 384]
view wt = w: [512, 384] strides [1, 512]
y = matmul(relu(x), wt) -> it + s -> it * r + s
)",
    R"(input x: f32[2, 3, 64, 64]
input w: f32[3, 64, 128]
output h: f32[2, 3, 64, 128]
output y: f32[2, 3, 64, 128]
h = matmul(x, w)
y = matmul(x * 2, w + 1) -> gelu(it)
)",
    R"(input x: f32[2, 512]
param w: f32[384, 512]
param s: f32[384]
output y: f32[2, 384]
view wt = w: [512, 384] strides [1, 512]
y = matmul(x, wt) -> it + s
)",
    R"(input x: f32[4, 8, 20, 24]
param w: f32[8, 1, 3, 3]
param b: f32[8, 1, 1]
input r: f32[4, 8, 20, 24]
output y: f32[4, 8, 20, 24]
y = conv(x, w) by {padding: 1, groups: 8} -> relu(it + b) -> it + r
)",
    R"(input x: f32[4, 8, 20, 24]
param w: f32[16, 8, 3, 3]
param b: f32[16, 1, 1]
output y: f32[4, 16, 20, 24]
y = conv(x, w) by {padding: 1} with {path: library} -> tanh(it + b)
)",
    R"(input x: f32[4, 8, 20, 24]
param b: f32[8, 1, 1]
output most: f32[4, 8, 10, 12]
output where: i64[4, 8, 10, 12]
output mean: f32[4, 8, 10, 12]
most = pool max(x * 2) over [2, 3] by {window: 3, stride: 2, padding: 1} -> relu(it + b)
where = pool argmax(x) over [2, 3] by {window: 3, stride: 2, padding: 1}
mean = pool mean(x) over [2, 3] by {window: 3, stride: 2, padding: 1, inside: 1} -> it + b
)",
    R"(input x: f32[64, 640]
param b: f32[640]
output y: f32[64]
output z: f32[640]
output place: i64[64]
y = reduce max(x * b) over [1] let m = max_over(x) let s = sum(exp(x - m)) -> it + log(s) + m
z = reduce mean(x) over [0] -> it * b
place = reduce argmin(x) over [1]
)",
    R"(input x: f32[4, 32, 640]
param g: f32[640]
param b: f32[640]
param h: f32[32, 1]
output y: f32[4, 32, 640]
output z: f32[4, 32, 640]
y = norm(x) over [2] let m = mean(it) let v = mean(square(it - m)) -> (it - m) * rsqrt(v + 1e-5) -> it * g + b
z = norm(x) over [0, 2] let m = mean(it) let v = mean(square(it - m)) -> (it - m) * rsqrt(v + 1e-5) * h
)",
    R"(input x: f32[64, 640]
input mask: f32[640]
output y: f32[64, 640]
output z: f32[64, 640]
y = softmax(x * 0.5 + mask) over [1] -> it * mask
z = softmax log(x) over [0]
)",
    R"(input x: f32[8, 64, 640]
param w: f32[640]
output rows: f32[8, 64, 640]
output columns: f32[8, 64, 640]
rows = scan sum(x * 0.5) over [2] by {exclusive: 1} -> it * w
columns = scan max(x) over [1] by {reverse: 1} -> it + w
)",
    R"(input x: f32[3, 20000]
input s: f32[3, 1]
output best: f32[3, 40]
output all: i64[3, 20000]
best = order descending(x * 0.5) over [1] by {count: 40} -> real(it) * s
all = order ascending(x) over [1]
)",
    R"(input a: f32[33, 70]
input b: f32[70, 150]
input k: i32[33]
output y: f32[33, 150]
output places: i64[33]
output moved: f32[33, 70]
y = nest [i < 33, j < 150] (sum [l < 70] (a[i, l] * b[l, j]) + exp(a[i, mod(j, 70)]))
places = nest [i < 33] (argmax [j < 70] (a[i, j]))
moved = nest [i < 33, j < 70] (select(i < 5, a[mod(k[i], 33), j], b[j, i + 1])) -> it * 2
)",
    R"(input x: f32[20, 16, 24]
param w: f32[24, 24]
output h: f32[20, 16, 24]
output c: f32[20, 16, 24]
h = nest [t < 20, i < 16, j < 24] (tanh(x[t, i, j] + sum [k < 24] (select(t == 0, 0, c[t - 1, i, k]) * w[k, j]))) by {sequence: 0}
c = nest [t < 20, i < 16, j < 24] (h[t, i, j] * 2) by {sequence: 0}
)",
    R"(input q: f32[2, 37, 16]
input k: f32[2, 50, 16]
input v: f32[2, 50, 24]
input m: f32[37, 50]
output y: f32[2, 37, 24]
output few: f32[2, 2, 24]
view one = q: [2, 2, 16] strides [592, 16, 1]
y = attention(q, k * 2, v) by {causal: 1} let score = it * 0.25 + m -> relu(it)
few = attention(one, k, v) with {path: rows} let score = it * 0.25
)",
    R"(input q: f16[2, 150, 64]
input k: f16[2, 150, 64]
input v: f16[2, 150, 64]
input m: f32[150, 150]
input s: f32[150, 64]
output y: f16[2, 150, 64]
y = attention(q, k, v) by {causal: 1} let score = it * 0.125 + m -> it * s
)",
    R"(input q: f16[20, 72]
input d: f16[6, 50, 72]
input m: f32[6, 1, 50]
input s: f32[6, 20]
output y: f32[6, 20]
view t = d: [6, 72, 50] strides [3600, 1, 72]
y = matmul_reduce max(q, t) let score = select(m < 0, -inf, it * 0.5) -> it * s
)",
    R"(input q: f16[200, 72]
input d: f16[300, 72]
input m: f32[300]
input s: f32[200]
output y: f32[200]
view t = d: [72, 300] strides [1, 72]
y = matmul_reduce logsumexp(q, t) let score = it * 0.5 + m -> it * s
)",
    R"(input q: bf16[200, 72]
input d: bf16[300, 72]
input m: f32[300]
input s: f32[200]
output y: i64[200]
output z: f32[200]
view t = d: [72, 300] strides [1, 72]
y = matmul_reduce argmin(q, t) let score = s - it * 2 + m
  also z = it * s
)",
    R"(input x: bf16[137, 64]
param w: bf16[9, 72, 64]
input ends: i32[9]
input s: bf16[137, 1]
output y: bf16[137, 72]
view t = w: [9, 64, 72] strides [4608, 1, 64]
y = grouped_matmul(x, t, ends) let u = product(t) -> silu(it) * u + s
)",
    R"(input x: bf16[137, 64]
input z: bf16[137, 72]
input ends: i32[9]
param s: f32[72]
output y: bf16[9, 64, 72]
view a = x: [64, 137] strides [1, 64]
y = segment_matmul(a, z, ends) -> relu(it) + s
)",
    R"(input x: f8e4m3[137, 144]
param w: f8e4m3[72, 144]
input s: f32[137, 1, 2]
param t: f32[1, 2]
input m: f32[72]
output y: bf16[137, 72]
view wt = w: [144, 72] strides [1, 144]
y = scaled_matmul(x, wt) by {block: 1x128x128} let scale = s * t -> relu(it) + m
)",
    R"(input x: bf16[37, 50]
param w: bf16[45, 50]
output y: bf16[37, 45]
view wt = w: [50, 45] strides [1, 50]
y = matmul(x, wt) -> relu(it)
)"};

// A program for each value that a setting of each statement of the text may sensibly have.
std::vector<KernelProgram> WithEverySetting(const std::string& text, const DeviceModel& device) {
  auto parsed = Parse(text);
  if (const auto* complaint = std::get_if<Complaint>(&parsed)) {
    ADD_FAILURE() << ToString(*complaint) << "\n" << text;
    return {};
  }
  const Program& plain = std::get<Program>(parsed);
  const auto checked = Check(plain, nullptr, device);
  if (std::holds_alternative<Complaint>(checked)) return {};  // not for this device
  std::vector<KernelProgram> programs = {std::get<KernelProgram>(checked)};
  const auto add = [&](const Program& program) {
    auto again = Check(program, nullptr, device);
    auto* const kernels = std::get_if<KernelProgram>(&again);
    if (kernels != nullptr) programs.push_back(std::move(*kernels));
    return kernels != nullptr;
  };
  for (std::size_t s = 0; s < plain.statements.size(); ++s) {
    const Family& family = *programs[0].kernels[s].family;
    const std::string choice(ChoiceOf(family, device.kind));
    for (const Way* way : WaysOf(family, device.kind)) {
      Program program = plain;
      if (!choice.empty()) {
        program.statements[s].settings[choice] = Word(std::string(way->name));
        if (!add(program)) continue;  // not of this kernel
      }
      const Kernel kernel = programs.back().kernels[s];
      for (const Knob& knob : way->knobs) {
        for (const Setting& value : knob.values(kernel)) {
          Program set = program;
          set.statements[s].settings[std::string(knob.name)] = value;
          add(set);
        }
      }
    }
  }
  return programs;
}

template <class Emit>
void ExpectAnyNamesOn(const DeviceModel& device, const Emit& emit) {
  std::set<const Family*> seen;
  for (const std::string statements : kPrograms) {
    for (const KernelProgram& program : WithEverySetting("program p\n" + statements, device)) {
      for (const Kernel& kernel : program.kernels) seen.insert(kernel.family);
      testing::ExpectNamesChangeNothing(program, emit);
      if (::testing::Test::HasFailure()) return;
    }
  }
  for (const Family* family : AllFamilies()) {
    EXPECT_TRUE(seen.contains(family) || WaysOf(*family, device.kind).empty()) << family->name << " is not among them";
  }
}

TEST(NamesTest, EveryFamilyAndItsWaysOnTheCpuBearAllNames) {
  ExpectAnyNamesOn({.threads = 4, .vector_bytes = 64, .bf16_pairs = true, .libraries = {.onednn = true}}, EmitCpu);
}

TEST(NamesTest, EveryFamilyAndItsWaysOnADeviceBearAllNames) {
  DeviceModel device = TypicalDevice();
  device.libraries = {.cublas_lt = true, .cudnn = true};
  ExpectAnyNamesOn(device, CudaText);
}

}  // namespace
}  // namespace hone::dsl
