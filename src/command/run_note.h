// The line by which a verb says which run it works on, and back: who started it can ask for the run while it lasts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone {

std::string RunNote(std::string_view run, bool resumed);      // "run 3fa2c1 begins", "going on with run 3fa2c1"
std::optional<std::string> RunOfNote(std::string_view line);  // the run, of such a line

}  // namespace hone
