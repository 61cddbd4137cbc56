// What earlier runs found out of moves (propose/experience.h), for strategies that keep statistics of their own: how
// often a knob was moved, or moved to a value, and how often that helped, whatever the kernel. A strategy knows of a
// move no more than its key.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "propose/experience.h"

namespace hone {

// "y.vector=64" -> "vector": what a knob does it does alike for all statements.
std::string KnobOf(std::string_view key);

class MovePriors {
 public:
  MovePriors() = default;
  explicit MovePriors(const Experience& experience);

  struct Prior {  // sums of lessons' weights
    double tried = 0, helped = 0;
    // As if there had been no more than so many: what holds elsewhere is to be outweighed by what is tried here.
    Prior AtMost(double most) const;
  };
  // Of a move by its key: zeros where nothing is known.
  Prior OfKnob(std::string_view key) const;
  Prior OfValue(std::string_view key) const;  // of its knob with that value

 private:
  std::map<std::string, Prior, std::less<>> known_;  // "vector" and "vector=64"
};

}  // namespace hone
