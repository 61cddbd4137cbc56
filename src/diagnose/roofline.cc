#include "diagnose/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/svg.h"

namespace hone {
namespace {

double At(const RoofPoint& point) { return point.flops / point.bytes; }

// FLOP/s that it stands at: as timed, or at best.
double Height(const Roofline& roofline, const RoofPoint& point) {
  return point.us > 0 ? point.flops / point.us * 1e6 : roofline.Attainable(At(point));
}

// Decades of both axes as pixels of the drawing.
class Axes {
 public:
  explicit Axes(const Roofline& roofline) {
    const double ridge = roofline.ceilings.front().flops / roofline.bandwidth;
    double least = ridge, most = ridge;
    for (const RoofPoint& point : roofline.points) {
      least = std::min(least, At(point));
      most = std::max(most, At(point));
    }
    left_ = std::floor(std::log10(least) - 0.5);
    right_ = std::ceil(std::log10(most) + 0.5);
    top_ = std::ceil(std::log10(roofline.ceilings.front().flops));
    bottom_ = std::floor(std::log10(std::pow(10, left_) * roofline.bandwidth));
    for (const RoofPoint& point : roofline.points)
      bottom_ = std::min(bottom_, std::floor(std::log10(Height(roofline, point))));
  }
  double X(double flops_per_byte) const {
    return kLeft + (std::log10(flops_per_byte) - left_) / (right_ - left_) * kWidth;
  }
  double Y(double flops) const { return kTop + (top_ - std::log10(flops)) / (top_ - bottom_) * kHeight; }
  int left() const { return static_cast<int>(left_); }
  int right() const { return static_cast<int>(right_); }
  int bottom() const { return static_cast<int>(bottom_); }
  int top() const { return static_cast<int>(top_); }

  static constexpr double kLeft = 70, kTop = 40, kWidth = 640, kHeight = 360;

 private:
  double left_, right_, bottom_, top_;
};

}  // namespace

double Roofline::Attainable(double flops_per_byte) const {
  return std::min(ceilings.empty() ? 0 : ceilings.front().flops, bandwidth * flops_per_byte);
}

Roofline RooflineOf(std::span<const Profile> profiles, const DeviceModel& device) {
  const Ceilings& known = device.ceilings;
  Roofline roofline{.device = device.processor, .datasheet = known.source == Ceilings::Source::kDatasheet};
  double largest = 0;
  for (const Profile& profile : profiles) {
    for (const auto& [flops, bytes] : {std::pair{"step_flops", "step_bytes"}, {"problem_flops", "problem_bytes"}}) {
      const auto work = profile.Get(flops), moved = profile.Get(bytes);
      if (!work || !moved || *work <= 0 || *moved <= 0) continue;
      const bool bound = std::string_view(flops) == "problem_flops";
      // A kernel that is all of a plan has the problem's facts, too: once is enough.
      if (bound && profile.scope != Scope::kPlan) continue;
      largest = std::max(largest, *moved);
      roofline.points.push_back({.name = profile.subject,
                                 .flops = *work,
                                 .bytes = *moved,
                                 .us = profile.Get("time_us").value_or(0),
                                 .bound = bound});
    }
  }
  roofline.bandwidth = known.CopyBandwidth(static_cast<std::int64_t>(largest));
  const auto add = [&](const std::string& name, double flops) {
    if (flops > 0) roofline.ceilings.push_back({name, flops});
  };
  if (device.kind == DeviceKind::kCuda) {
    for (const auto& [type, flops] : known.matmul_flops) {
      // No point says whether its products are of 8 bits: most are not.
      if (type != "f32" && type != "f64" && type != "i8" && type != "f8") add(type, flops);
    }
    add("f32", known.vector_flops_f32);
  } else {
    add("f32", known.fma_flops_f32);
  }
  add("f64", known.fma_flops_f64);
  std::stable_sort(roofline.ceilings.begin(), roofline.ceilings.end(),
                   [](const auto& a, const auto& b) { return a.flops > b.flops; });
  return roofline;
}

std::string Describe(const Roofline& roofline) {
  if (roofline.points.empty() || roofline.ceilings.empty() || roofline.bandwidth <= 0) return {};
  std::string text = fmt::format("roofline of {}{}: {:.0f} GB/s", roofline.device,
                                 roofline.datasheet ? " by its datasheet" : "", roofline.bandwidth / 1e9);
  for (const auto& ceiling : roofline.ceilings)
    text += fmt::format(", {} {:.3g} TFLOP/s", ceiling.name, ceiling.flops / 1e12);
  text += fmt::format("\n  {:>10} {:>10} {:>10} {:>10}  {:<7} part\n", "GFLOP", "MB", "FLOP/byte", "us", "");
  for (const RoofPoint& point : roofline.points) {
    const bool memory = At(point) * roofline.bandwidth < roofline.ceilings.front().flops;
    text += fmt::format("  {:>10.4g} {:>10.4g} {:>10.3g} {:>10.4g}  {:<7} {}{}\n", point.flops / 1e9, point.bytes / 1e6,
                        At(point), point.flops / Height(roofline, point) * 1e6, memory ? "memory" : "compute",
                        point.name, point.bound ? " (what the problem needs)" : "");
  }
  return text + (std::any_of(roofline.points.begin(), roofline.points.end(), [](const auto& one) { return one.us > 0; })
                     ? ""
                     : "  us: at best, under the highest ceiling\n");
}

std::string DrawSvg(const Roofline& roofline) {
  using Anchor = Svg::Anchor;
  Svg svg(780, 460);
  svg.Label(390, 22, Anchor::kMiddle,
            fmt::format("{}{}", roofline.device, roofline.datasheet ? ", by its datasheet" : ""));
  if (roofline.points.empty() || roofline.ceilings.empty() || roofline.bandwidth <= 0) {
    svg.Label(390, 230, Anchor::kMiddle, "no ceilings or no FLOPs are known");
    return std::move(svg).Take();
  }
  const Axes axes(roofline);
  constexpr std::string_view kGrid = "stroke=\"#ddd\"", kRoof = "stroke=\"#333\" stroke-width=\"1.5\"";
  for (int decade = axes.left(); decade <= axes.right(); ++decade) {
    const double x = axes.X(std::pow(10, decade));
    svg.Line(x, Axes::kTop, x, Axes::kTop + Axes::kHeight, kGrid);
    svg.Label(x, Axes::kTop + Axes::kHeight + 16, Anchor::kMiddle, fmt::format("{:g}", std::pow(10, decade)));
  }
  for (int decade = axes.bottom(); decade <= axes.top(); ++decade) {
    const double y = axes.Y(std::pow(10, decade));
    svg.Line(Axes::kLeft, y, Axes::kLeft + Axes::kWidth, y, kGrid);
    svg.Label(Axes::kLeft - 6, y + 4, Anchor::kEnd, fmt::format("{:g}", std::pow(10, decade - 12)));
  }
  svg.Label(390, 440, Anchor::kMiddle, "FLOP/byte");
  svg.Label(Axes::kLeft, Axes::kTop - 8, Anchor::kMiddle, "TFLOP/s");
  const double least = std::pow(10, axes.left()), most = std::pow(10, axes.right());
  const double ridge = roofline.ceilings.front().flops / roofline.bandwidth;
  svg.Line(axes.X(least), axes.Y(least * roofline.bandwidth), axes.X(ridge), axes.Y(roofline.ceilings.front().flops),
           kRoof);
  for (const auto& ceiling : roofline.ceilings) {
    const double from = ceiling.flops / roofline.bandwidth;
    svg.Line(axes.X(from), axes.Y(ceiling.flops), axes.X(most), axes.Y(ceiling.flops), kRoof);
    svg.Label(Axes::kLeft + Axes::kWidth + 4, axes.Y(ceiling.flops) + 4, Anchor::kStart, ceiling.name);
  }
  for (const RoofPoint& point : roofline.points) {
    const double x = axes.X(At(point)), y = axes.Y(Height(roofline, point));
    svg.Circle(
        x, y, 5,
        fmt::format("fill=\"{}\" stroke=\"{}\"", point.us > 0 ? "#06c" : "white", point.bound ? "#c30" : "#06c"));
    svg.Label(x + 8, y + 16, Anchor::kStart, point.name + (point.bound ? " (the problem)" : ""));
  }
  return std::move(svg).Take();
}

nlohmann::json ToJson(const Roofline& roofline) {
  nlohmann::json ceilings = nlohmann::json::array(), points = nlohmann::json::array();
  for (const auto& ceiling : roofline.ceilings)
    ceilings.push_back({{"name", ceiling.name}, {"flops_per_second", ceiling.flops}});
  for (const RoofPoint& point : roofline.points) {
    points.push_back({{"name", point.name},
                      {"flops", point.flops},
                      {"bytes", point.bytes},
                      {"us", point.us > 0 ? nlohmann::json(point.us) : nlohmann::json()},
                      {"attainable_flops_per_second", roofline.Attainable(At(point))},
                      {"bound", point.bound}});
  }
  return {{"device", roofline.device},
          {"datasheet", roofline.datasheet},
          {"bytes_per_second", roofline.bandwidth},
          {"ceilings", std::move(ceilings)},
          {"points", std::move(points)}};
}

}  // namespace hone
