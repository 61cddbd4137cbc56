// A comparison as a picture: how good each arm's best is after each attempt, and how each arm stands to the first one,
// with its interval. Pure; safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "search/comparison.h"

namespace hone {

// One SVG document; of arms beyond the eighth colours repeat.
std::string DrawSvg(const std::vector<Arm>& arms, const Compared& compared, std::size_t problems, std::int64_t seeds);

}  // namespace hone
