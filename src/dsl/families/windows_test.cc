// Convolutions, pools and attention of random shapes, attributes and settings give the interpreter's values.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "dsl/testing/module.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

class Draw {
 public:
  explicit Draw(unsigned seed) : random(seed) {}
  std::int64_t Up(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::string Tuple(std::size_t count, std::int64_t low, std::int64_t high,
                    std::vector<std::int64_t>* values = nullptr) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < count; ++i) numbers.push_back(Up(low, high));
    if (values) *values = numbers;
    return fmt::format("{}", fmt::join(numbers, "x"));
  }
  std::mt19937 random;
};

// Draws settings of the one statement among the knobs' own values; those that do not go together stay as they were.
void ExpectRightWithDrawnSettings(Draw& draw, const std::string& text) {
  SCOPED_TRACE(text);
  auto parsed = Parse(text);
  ASSERT_TRUE(std::holds_alternative<Program>(parsed)) << ToString(std::get<Complaint>(parsed));
  Program program = std::get<Program>(std::move(parsed));
  const DeviceModel device{.threads = static_cast<int>(draw.Up(1, 4)),
                           .vector_bytes = draw.Up(0, 1) ? 64 : 32,
                           .l1_bytes = 32 << 10,
                           .l2_bytes = draw.Up(0, 1) ? 16 << 10 : 1 << 20};
  auto checked = Check(program, nullptr, device);
  ASSERT_TRUE(std::holds_alternative<KernelProgram>(checked)) << ToString(std::get<Complaint>(checked));
  const auto kernel_now = [&]() -> const Kernel& { return std::get<KernelProgram>(checked).kernels[0]; };
  // The first may be another way, which has other knobs.
  for (std::size_t n = 0; n < KnobsOf(kernel_now()).size(); ++n) {
    const Knob knob = KnobsOf(kernel_now())[n];
    const auto values = knob.values(kernel_now());
    Program trial = program;
    trial.statements[0].settings[std::string(knob.name)] =
        values[static_cast<std::size_t>(draw.Up(0, static_cast<std::int64_t>(values.size()) - 1))];
    auto again = Check(trial, nullptr, device);
    if (std::holds_alternative<Complaint>(again)) continue;
    program = std::move(trial);
    checked = std::move(again);
  }
  SCOPED_TRACE(Print(program));
  testing::ExpectRight(std::get<KernelProgram>(checked), static_cast<int>(draw.Up(1, 3)), draw.random, 5e-5);
}

std::string Brackets(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// How many rounds: a few always, more when asked for.
int Rounds(int otherwise) {
  const char* rounds = std::getenv("HONE_ROUNDS");
  return rounds ? std::atoi(rounds) : otherwise;
}

TEST(WindowsTest, Convolutions) {
  Draw draw(51);
  for (int round = 0; round < Rounds(6) && !::testing::Test::HasFailure(); ++round) {
    const auto spatial = static_cast<std::size_t>(draw.Up(1, 3));
    const std::int64_t groups = draw.Up(0, 2) ? 1 : draw.Up(1, 4);
    const bool transposed = draw.Up(0, 2) == 0;
    const std::int64_t channels = groups * draw.Up(1, 9), outputs = groups * draw.Up(1, 20);
    Shape x = {draw.Up(1, 3), channels}, w = {outputs, channels / groups};
    if (transposed) w = {channels, outputs / groups};
    Shape y = {x[0], outputs};
    std::vector<std::int64_t> stride, padding, dilation;
    const std::string by = fmt::format("stride: {}, padding: {}, dilation: {}", draw.Tuple(spatial, 1, 3, &stride),
                                       draw.Tuple(spatial, 0, 3, &padding), draw.Tuple(spatial, 1, 3, &dilation));
    for (std::size_t d = 0; d < spatial; ++d) {
      x.push_back(draw.Up(1, spatial == 1 ? 300 : spatial == 2 ? 25 : 8));
      w.push_back(draw.Up(1, spatial == 3 ? 3 : 5));
      y.push_back(draw.Up(1, 2 * x.back()));
    }
    const std::string extent = fmt::format("{}", fmt::join(Shape(y.begin() + 2, y.end()), "x"));
    const std::string type = draw.Up(0, 4) ? "f32" : "f64";
    Shape bias = {outputs};
    bias.insert(bias.end(), spatial, 1);
    ExpectRightWithDrawnSettings(
        draw, fmt::format("program p\ninput x: {0}{1}\nparam w: {0}{2}\nparam b: {0}{3}\ninput r: {0}{4}\n"
                          "output y: {0}{4}\ny = conv{5}({6}, w) by {{{7}, groups: {8}, extent: {9}}} -> it + b * r\n",
                          type, Brackets(x), Brackets(w), Brackets(bias), Brackets(y), transposed ? " transposed" : "",
                          draw.Up(0, 1) ? "x" : "relu(x + 0.5)", by, groups, extent));
  }
}

TEST(WindowsTest, Pools) {
  Draw draw(52);
  static constexpr const char* kVariants[] = {"max", "sum", "mean", "argmax"};
  for (int round = 0; round < Rounds(5) && !::testing::Test::HasFailure(); ++round) {
    Shape x;
    const auto rank = draw.Up(1, 4);
    for (std::int64_t d = 0; d < rank; ++d) x.push_back(draw.Up(1, d + 1 == rank ? (rank == 1 ? 3000 : 70) : 9));
    std::vector<int> axes;
    for (int d = 0; d < rank; ++d) {
      if (draw.Up(0, 1)) axes.push_back(d);
    }
    if (axes.empty()) axes.push_back(static_cast<int>(rank) - 1);
    const std::string variant = kVariants[draw.Up(0, 3)];
    Shape y = x;
    std::vector<std::int64_t> extent;
    std::vector<std::int64_t> window, stride, padding, dilation;
    std::string by = fmt::format("window: {}, stride: {}, padding: {}, dilation: {}",
                                 draw.Tuple(axes.size(), 1, 6, &window), draw.Tuple(axes.size(), 1, 3, &stride),
                                 draw.Tuple(axes.size(), 0, 3, &padding), draw.Tuple(axes.size(), 1, 2, &dilation));
    for (std::size_t a = 0; a < axes.size(); ++a) {
      auto& out = y[static_cast<std::size_t>(axes[a])];
      // A mean of the places inside wants one there at least.
      out = std::max<std::int64_t>(1, std::min(out, (out + padding[a] - 1) / stride[a]));
      extent.push_back(out);
    }
    if (variant == "mean")
      by += fmt::format(", inside: {}", padding == std::vector<std::int64_t>(axes.size(), 0) ? 1 : 0);
    ExpectRightWithDrawnSettings(
        draw,
        fmt::format("program p\ninput x: f32{0}\ninput s: f32{1}\noutput y: {2}{1}\ny = pool {3}(x * 2) over [{4}] "
                    "by {{{5}, extent: {6}}}{7}\n",
                    Brackets(x), Brackets(y), variant == "argmax" ? "i64" : "f32", variant, fmt::join(axes, ", "), by,
                    fmt::join(extent, "x"), variant == "argmax" ? "" : " -> it + s"));
  }
}

TEST(WindowsTest, Attention) {
  Draw draw(53);
  for (int round = 0; round < Rounds(4) && !::testing::Test::HasFailure(); ++round) {
    const std::int64_t m = draw.Up(1, 70), n = draw.Up(1, 90), d = draw.Up(1, 20), e = draw.Up(1, 20);
    const std::string type = draw.Up(0, 4) ? "f32" : "f64";
    ExpectRightWithDrawnSettings(
        draw,
        fmt::format("program p\ninput q: {0}[2, {1}, {3}]\ninput k: {0}[2, {2}, {3}]\ninput v: {0}[{2}, {4}]\ninput "
                    "s: {0}[{5}, {2}]\noutput y: {0}[2, {1}, {4}]\ny = attention(q, {6}, v) by {{causal: {7}}} let "
                    "score = it / {3} + s -> it * 2\n",
                    type, m, n, d, e, draw.Up(0, 1) ? m : 1, draw.Up(0, 1) ? "k" : "k * 0.5", draw.Up(0, 1)));
  }
}

}  // namespace
}  // namespace hone::dsl
