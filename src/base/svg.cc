#include "base/svg.h"

#include <fmt/format.h>

#include "base/markup.h"

namespace hone {

Svg::Svg(int width, int height)
    : text_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
                        "font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
                        width, height)) {}

void Svg::Label(double x, double y, Anchor anchor, std::string_view text) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
                       kAnchors[static_cast<int>(anchor)], MarkupText(text));
}

void Svg::Line(double x1, double y1, double x2, double y2, std::string_view style) {
  text_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

void Svg::Path(const std::vector<std::pair<double, double>>& points, std::string_view style) {
  text_ += "<polyline fill=\"none\" points=\"";
  for (std::size_t i = 0; i < points.size(); ++i)
    text_ += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", points[i].first, points[i].second);
  text_ += fmt::format("\" {}/>\n", style);
}

void Svg::Circle(double x, double y, double radius, std::string_view style) {
  text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:g}\" {}/>\n", x, y, radius, style);
}

std::string Svg::Take() && { return std::move(text_) + "</svg>\n"; }

}  // namespace hone
