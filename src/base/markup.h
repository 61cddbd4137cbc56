// Foreign text in HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// As text there, also within double quotes; what is no character of XML is a space.
std::string MarkupText(std::string_view text);

}  // namespace hone
