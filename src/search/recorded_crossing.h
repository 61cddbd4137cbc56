// Crossings in a table of a space (search/table.h). A table has no texts, but the keys of its offers say what they set
// ("output.tile=64x64x64"), so that a candidate is known by the start that it came from and by what was set since. Of
// the candidates that have something of two others those are found that were measured.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "search/table.h"

namespace hone {

class RecordedCrossing {
 public:
  explicit RecordedCrossing(const SpaceTable& table);  // which outlives it

  // The names of what has each statement's settings of one or of the other, or each setting where the two differ in a
  // single statement. Sorted; none where the two are of different starts.
  std::vector<std::string> Of(std::string_view one, std::string_view other) const;

 private:
  struct Made {
    std::string_view start;
    std::map<std::string_view, std::string_view> settings;  // "output.tile" -> "64x64x64", of what was set since
    auto operator<=>(const Made&) const = default;
  };
  std::map<std::string_view, Made> made_;   // by name, in the fewest steps
  std::map<Made, std::string_view> named_;  // the other way round
};

}  // namespace hone
