// Every legal setting gives the right result: random shapes, random settings, compared with the interpreter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dsl/testing/module.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

class Draw {
 public:
  explicit Draw(unsigned seed) : random(seed) {}
  int Up(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
  std::int64_t Extent(std::int64_t most) {
    static constexpr std::int64_t kExtents[] = {1,  2,   3,   5,   8,   16,  17,   31,   33,
                                                64, 100, 130, 257, 300, 515, 1030, 2100, 5000};
    std::int64_t extent;
    do extent = kExtents[Up(std::size(kExtents))];
    while (extent > most);
    return extent;
  }
  std::mt19937 random;
};

// A setting that the knob takes, from its own values or beyond them; nothing if the draw is not legal.
std::optional<Setting> RandomSetting(Draw& draw, const Knob& knob, const Kernel& kernel) {
  const auto values = knob.values(kernel);
  Setting setting = values[static_cast<std::size_t>(draw.Up(static_cast<int>(values.size())))];
  if (draw.Up(2)) {
    if (auto* whole = std::get_if<std::int64_t>(&setting.value)) {
      *whole = 1 + draw.Up(draw.Up(2) ? 20 : 500);
    } else if (auto* tuple = std::get_if<std::vector<std::int64_t>>(&setting.value)) {
      if (tuple->size() == 2) {
        *tuple = {1 + draw.Up(14), 8 * (1 + draw.Up(8))};
      } else {
        const auto micro = TupleSetting(kernel, "micro");
        *tuple = {micro[0] * (1 + draw.Up(5)), micro[1] * (1 + draw.Up(3)), 4 * (1 + draw.Up(20))};
      }
    }
  }
  if (knob.check(kernel, setting)) return std::nullopt;
  return setting;
}

// What is made of a program that was checked with other settings is what is made of it afresh.
void ExpectSame(const std::variant<KernelProgram, Complaint>& made,
                const std::variant<KernelProgram, Complaint>& afresh) {
  ASSERT_EQ(made.index(), afresh.index());
  if (const auto* complaint = std::get_if<Complaint>(&made)) {
    EXPECT_EQ(ToString(*complaint), ToString(std::get<Complaint>(afresh)));
    return;
  }
  const auto &one = std::get<KernelProgram>(made).kernels, &other = std::get<KernelProgram>(afresh).kernels;
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t k = 0; k < one.size(); ++k) {
    EXPECT_EQ(one[k].way, other[k].way);
    EXPECT_EQ(one[k].settings, other[k].settings);
    EXPECT_EQ(one[k].operand_types, other[k].operand_types);
    EXPECT_EQ(one[k].text, other[k].text);
  }
}

// Draws settings for each statement of the text and compares the outcome with the interpreter.
void ExpectRightWithRandomSettings(Draw& draw, const std::string& text, double tolerance = 2e-5) {
  auto parsed = Parse(text);
  ASSERT_TRUE(std::holds_alternative<Program>(parsed)) << ToString(std::get<Complaint>(parsed)) << "\n" << text;
  Program program = std::get<Program>(std::move(parsed));
  DeviceModel device{.threads = 1 + draw.Up(4),
                     .vector_bytes = draw.Up(2) ? 64 : 32,
                     .l1_bytes = 32 << 10,
                     .l2_bytes = draw.Up(2) ? 64 << 10 : 1 << 20};
  auto checked = Check(program, nullptr, device);
  ASSERT_TRUE(std::holds_alternative<KernelProgram>(checked)) << ToString(std::get<Complaint>(checked)) << "\n" << text;
  for (std::size_t i = 0; i < program.statements.size(); ++i) {
    const auto kernel_now = [&]() -> const Kernel& { return std::get<KernelProgram>(checked).kernels[i]; };
    // The first may be another way, which has other knobs.
    for (std::size_t n = 0; n < KnobsOf(kernel_now()).size(); ++n) {
      if (draw.Up(3) == 0) continue;
      const Kernel& kernel = kernel_now();
      const Knob knob = KnobsOf(kernel)[n];
      auto setting = RandomSetting(draw, knob, kernel);
      if (!setting) continue;
      Program trial = program;
      trial.statements[i].settings[std::string(knob.name)] = *setting;
      auto again = Check(trial, nullptr, device);  // knobs hang together: what does not fit the others is left out
      ExpectSame(CheckSettings(trial, {&i, 1}, std::get<KernelProgram>(checked)), again);
      if (std::holds_alternative<Complaint>(again)) continue;
      program = std::move(trial);
      checked = std::move(again);
    }
  }
  SCOPED_TRACE(Print(program));
  testing::ExpectRight(std::get<KernelProgram>(checked), 1 + draw.Up(3), draw.random, tolerance);
}

TEST(SettingsTest, Map) {
  Draw draw(11);
  for (int round = 0; round < 3; ++round) {
    const auto a = draw.Extent(17), b = draw.Extent(33), c = draw.Extent(2100);
    ExpectRightWithRandomSettings(draw, fmt::format(R"(program maps
input x: f32[{0}, {1}, {2}]
input r: f32[{1}, 1]
param s: f32[{2}]
input n: i32[{2}]
input e: f64[{2}]
output y: f32[{0}, {1}, {2}]
output t: f32[{2}, {1}, {0}]
output m: bool[{0}, {1}, {2}]
output k: i64[{2}]
output d: f64[{2}]
output f: f32[{3}]
view xt = x: [{2}, {1}, {0}] strides [1, {2}, {4}]
h = map(x * s + r)
y = map(silu(h)) -> leaky_relu(it, 0.1) + select(x > s, h, r)
t = map(xt) -> max(it, 0.25) * 2 - pow(it, 2) / (1 + abs(it))
m = map(or(h > x, not(r <= s)))
k = map(floordiv(n, 3) + mod(n, 7)) -> int(it) * 2
d = map(exp(-abs(e)) + s + real(n))
f: [{3}] = map(x) -> round(it * 3) + sign(it) + floor(it)
)",
                                                    a, b, c, a * b * c, b * c));
  }
}

TEST(SettingsTest, Reduce) {
  Draw draw(12);
  for (int round = 0; round < 4; ++round) {
    const auto a = draw.Extent(33), b = draw.Extent(130), c = draw.Extent(a * b > 500 ? 64 : 5000);
    ExpectRightWithRandomSettings(draw,
                                  fmt::format(R"(program reductions
input x: f32[{0}, {1}, {2}]
input n: i32[{0}, {1}, {2}]
output r2: f32[{0}, {1}]
output r1: f32[{0}, {2}]
output r0: f32[{1}, {2}]
output r02: f32[{1}]
output r01: f32[{2}]
output r12: f32[{0}, 1, 1]
output all: f32[]
output count: i64[{0}, {2}]
output most: i64[{0}, {1}]
output wide: f64[{2}]
r2 = reduce sum(x) over [2] -> it / {2}
r1 = reduce max(x * 2) over [1]
r0 = reduce mean(x) over [0] -> it + 1
r02 = reduce min(x) over [0, 2]
r01 = reduce sum(square(x)) over [0, 1] -> sqrt(it)
r12: [{0}, 1, 1] = reduce prod(select(abs(x) > 2, -1, 1) + select(x > 3, 0.25, 0)) over [1, 2]
all = reduce mean(abs(x)) over [0, 1, 2]
count = reduce sum(x > 0) over [1]
most = reduce max(n) over [2]
wide = reduce sum(x) over [0, 1] -> it
)",
                                              a, b, c),
                                  5e-5);
  }
}

TEST(SettingsTest, Softmax) {
  Draw draw(13);
  for (int round = 0; round < 3; ++round) {
    const auto a = draw.Extent(17), b = draw.Extent(64), c = draw.Extent(a * b > 300 ? 64 : 5000);
    ExpectRightWithRandomSettings(draw, fmt::format(R"(program softmaxes
input x: f32[{0}, {1}, {2}]
param s: f32[{2}]
output a2: f32[{0}, {1}, {2}]
output a1: f32[{0}, {1}, {2}]
output l2: f32[{0}, {1}, {2}]
output l0: f32[{0}, {1}, {2}]
output a12: f32[{0}, {1}, {2}]
a2 = softmax(x * 4) over [2] -> it * s
a1 = softmax(x + s) over [1]
l2 = softmax log(x) over [2]
l0 = softmax log(x) over [0] -> -it
a12 = softmax(x) over [1, 2]
)",
                                                    a, b, c));
  }
}

TEST(SettingsTest, Norm) {
  Draw draw(14);
  for (int round = 0; round < 3; ++round) {
    const auto a = draw.Extent(17), b = draw.Extent(64),
               c = std::max<std::int64_t>(2, draw.Extent(a * b > 300 ? 64 : 5000));
    ExpectRightWithRandomSettings(draw,
                                  fmt::format(R"(program norms
input x: f32[{0}, {1}, {2}]
param g: f32[{2}]
param b: f32[{1}, 1]
output n2: f32[{0}, {1}, {2}]
output n02: f32[{0}, {1}, {2}]
output n1: f32[{0}, {1}, {2}]
output n012: f32[{0}, {1}, {2}]
n2 = norm(x * 3 + b) over [2]
  let m = mean(it)
  let v = mean(square(it - m))
  -> (it - m) * rsqrt(v + 0.1) * g -> relu(it)
n02 = norm(x) over [0, 2]
  let m = mean(it)
  let w = max_over(abs(it))
  let v = mean(square(it - m)) + w
  -> (it - m) * rsqrt(v + 0.1) + b
n1 = norm(x) over [1]
  let s = sum(it * it)
  let low = min_over(it)
  -> (it - low) / (sqrt(s) + 1)
n012 = norm(x) over [0, 1, 2]
  let s = sum(it * it)
  -> it / sqrt(s + 1)
)",
                                              a, b, c),
                                  5e-5);
  }
}

TEST(SettingsTest, Matmul) {
  Draw draw(15);
  for (int round = 0; round < 6; ++round) {
    const auto batch = draw.Extent(3), m = draw.Extent(round < 2 ? 8 : 130), n = draw.Extent(130), k = draw.Extent(300);
    ExpectRightWithRandomSettings(draw,
                                  fmt::format(R"(program products
input a: f32[{0}, {1}, {3}]
input at: f32[{3}, {1}]
param w: f32[{3}, {2}]
param wt: f32[{2}, {3}]
input p: f32[{0}, {3}, {2}]
param b: f32[{2}]
output y: f32[{0}, {1}, {2}]
output z: f32[{1}, {2}]
output v: f32[{0}, {1}, {2}]
output u: f32[{1}, {2}]
output g: f32[{0}, {1}, {2}]
view wv = wt: [{3}, {2}] strides [1, {3}]
view av = at: [{1}, {3}] strides [1, {1}]
y = matmul(a, wv) -> it + b -> gelu(it)
z = matmul(av, w)
v = matmul(a, p) -> it * 0.5 + y
u = matmul(relu(av), w * 2) -> max(it, b)
g = matmul(a, w)
  let up = product(wv * b)
  let more = product(p)
  -> (silu(it) * up + it) * more - b
)",
                                              batch, m, n, k),
                                  1e-4);
  }
}

TEST(SettingsTest, NansPassThrough) {
  const KernelProgram program = testing::MustCheck(R"(program nans
input x: f32[4, 600]
output relus: f32[4, 600]
output rows: f32[4]
output columns: f32[600]
output soft: f32[4, 600]
relus = map(relu(x) + clamp(x, -1, 1))
rows = reduce max(x) over [1]
columns = reduce min(x) over [0]
soft = softmax(x) over [1]
)");
  testing::Module module(program);
  ASSERT_TRUE(module.ok()) << module.log();
  std::vector<std::vector<double>> values(program.buffers.size());
  values[0].assign(2400, -1.0);
  values[0][700] = std::nan("");  // row 1, column 100
  const auto got = module.Run(values, 2);
  EXPECT_TRUE(std::isnan(got[1][700]));
  EXPECT_EQ(got[1][699], -1.0);
  EXPECT_EQ(got[2][0], -1.0);
  EXPECT_TRUE(std::isnan(got[2][1]));
  EXPECT_TRUE(std::isnan(got[3][100]));
  EXPECT_EQ(got[3][101], -1.0);
  EXPECT_TRUE(std::isnan(got[4][650]));
  EXPECT_FALSE(std::isnan(got[4][0]));
}

TEST(SettingsTest, LibmIsCalledByVectors) {
  testing::Module module(
      testing::MustCheck("program p\ninput x: f32[4096]\noutput y: f32[4096]\ny = map(log(x) + sin(x))\n"));
  ASSERT_TRUE(module.ok()) << module.log();
  EXPECT_NE(module.symbols().find("_ZGV"), std::string::npos) << "the loop does not call libmvec:\n" << module.source();
}

}  // namespace
}  // namespace hone::dsl
