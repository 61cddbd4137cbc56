// A drawing that needs nothing else: SVG in one colour scheme, on white, its texts escaped. Lengths are pixels of its
// own size, y grows downwards. Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

class Svg {
 public:
  Svg(int width, int height);

  enum class Anchor { kStart, kMiddle, kEnd };
  void Label(double x, double y, Anchor anchor, std::string_view text);
  // `style` is attributes, such as stroke="#333".
  void Line(double x1, double y1, double x2, double y2, std::string_view style);
  void Path(const std::vector<std::pair<double, double>>& points, std::string_view style);
  void Circle(double x, double y, double radius, std::string_view style);

  std::string Take() &&;  // the document

 private:
  std::string text_;
};

}  // namespace hone
