#include "search/comparison_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/svg.h"

namespace hone {
namespace {

using Anchor = Svg::Anchor;

constexpr int kWidth = 780, kRow = 20;
constexpr double kLeft = 56, kRight = 520, kTop = 44, kBottom = 300;  // of the curves
constexpr double kNames = 250;                                        // where the arms' names end in the second part
constexpr std::string_view kGrid = "stroke=\"#ddd\"";
constexpr std::string_view kColours[] = {"#0b62a3", "#c8501e", "#3a8a3a", "#8a4fb0",
                                         "#b0861c", "#1f9aa8", "#b03a6e", "#666666"};

std::string_view ColourOf(std::size_t arm) { return kColours[arm % std::size(kColours)]; }

// Where a value lies between two places of the drawing.
double Between(double value, double least, double most, double from, double to) {
  return from + (to - from) * (value - least) / (most - least);
}

// From the lowest quality that is shown, in tenths, to 1.
double Floor(const Compared& compared) {
  double least = 1;
  for (const ArmFigures& figures : compared.arms) {
    for (const double quality : figures.curve) least = std::min(least, quality);
  }
  return std::min(0.9, std::floor(10 * least) / 10);
}

void DrawCurves(Svg& svg, const std::vector<Arm>& arms, const Compared& compared) {
  const double floor = Floor(compared);
  std::size_t attempts = 1;
  for (const ArmFigures& figures : compared.arms) attempts = std::max(attempts, figures.curve.size());
  const auto x_of = [&](std::size_t attempt) {
    return attempts == 1 ? kLeft
                         : Between(static_cast<double>(attempt), 1, static_cast<double>(attempts), kLeft, kRight);
  };
  const auto y_of = [&](double quality) { return Between(quality, floor, 1, kBottom, kTop); };
  for (int tenth = static_cast<int>(std::lround(10 * floor)); tenth <= 10; ++tenth) {
    svg.Line(kLeft, y_of(tenth / 10.0), kRight, y_of(tenth / 10.0), kGrid);
    svg.Label(kLeft - 6, y_of(tenth / 10.0) + 4, Anchor::kEnd, fmt::format("{} %", 10 * tenth));
  }
  const std::size_t step = std::max<std::size_t>(1, (attempts + 9) / 10);
  for (std::size_t attempt = step; attempt <= attempts; attempt += step)
    svg.Label(x_of(attempt), kBottom + 16, Anchor::kMiddle, fmt::format("{}", attempt));
  svg.Label((kLeft + kRight) / 2, kBottom + 34, Anchor::kMiddle, "attempts");
  for (std::size_t i = 0; i < arms.size(); ++i) {
    std::vector<std::pair<double, double>> points;
    for (std::size_t k = 0; k < compared.arms[i].curve.size(); ++k)
      points.emplace_back(x_of(k + 1), y_of(compared.arms[i].curve[k]));
    svg.Path(points, fmt::format("stroke=\"{}\" stroke-width=\"1.5\"", ColourOf(i)));
    const double y = kTop + kRow * static_cast<double>(i);
    svg.Line(kRight + 12, y, kRight + 30, y, fmt::format("stroke=\"{}\" stroke-width=\"3\"", ColourOf(i)));
    svg.Label(kRight + 36, y + 4, Anchor::kStart, arms[i].words);
  }
}

void DrawDifferences(Svg& svg, const std::vector<Arm>& arms, const Compared& compared, double top) {
  double widest = 0.01;  // of logarithms of ratios
  for (const ArmAgainst& against : compared.against)
    widest = std::max({widest, std::abs(against.quality.interval.low), std::abs(against.quality.interval.high)});
  const auto x_of = [&](double logarithm) { return Between(logarithm, -widest, widest, kNames + 12, kWidth - 130); };
  const double bottom = top + kRow * static_cast<double>(compared.against.size());
  svg.Label(x_of(0), top - 14, Anchor::kMiddle, fmt::format("quality over {}, 95 % intervals", arms.front().words));
  for (const double at : {-widest, 0.0, widest}) {
    svg.Line(x_of(at), top - 6, x_of(at), bottom, kGrid);
    svg.Label(x_of(at), bottom + 16, Anchor::kMiddle, fmt::format("{:.3f}", std::exp(at)));
  }
  for (std::size_t i = 0; i < compared.against.size(); ++i) {
    const Paired& paired = compared.against[i].quality;
    const double y = top + kRow * (static_cast<double>(i) + 0.5);
    svg.Label(kNames, y + 4, Anchor::kEnd, arms[i + 1].words);
    svg.Line(x_of(paired.interval.low), y, x_of(paired.interval.high), y,
             fmt::format("stroke=\"{}\" stroke-width=\"2\"", ColourOf(i + 1)));
    svg.Circle(x_of(paired.mean), y, 4, fmt::format("fill=\"{}\"", ColourOf(i + 1)));
    svg.Label(kWidth - 8, y + 4, Anchor::kEnd,
              fmt::format("p {:.2g}, {}-{}-{}", paired.chance, paired.above, paired.equal, paired.below));
  }
}

}  // namespace

std::string DrawSvg(const std::vector<Arm>& arms, const Compared& compared, std::size_t problems, std::int64_t seeds) {
  const double names = kTop + kRow * static_cast<double>(arms.size());
  const double differences = std::max(kBottom + 44, names) + 40;
  const double height = differences + kRow * static_cast<double>(compared.against.size()) + 30;
  Svg svg(kWidth, static_cast<int>(compared.against.empty() ? differences - 20 : height));
  svg.Label(kLeft, 22, Anchor::kStart,
            fmt::format("What a search has found, beside the fastest known: {} problems, {} seeds", problems, seeds));
  DrawCurves(svg, arms, compared);
  if (!compared.against.empty()) DrawDifferences(svg, arms, compared, differences);
  return std::move(svg).Take();
}

}  // namespace hone
