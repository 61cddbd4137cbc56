// An output as a whole, beside what is expected of it. Where rounding decides the elements one by one, honest
// implementations are as far apart as the elements are large, and budgets let zeros pass; but all of them still have
// about the same mean and spread, and errors that together are about as large.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oracle/element_check.h"

namespace hone {

struct ExpectedWhole {
  double mean = 0, deviation = 0;  // of the expected values; the deviation is the standard one
  double error = 0;                // root mean square, the largest of the honest implementation's runs
  bool spread_holds = false;       // all of these have about this mean and deviation, so a candidate has, too
};

// What runs of the honest implementation say of one output.
struct HonestRuns {
  double worst = 0;                 // largest error where the error analysis says nothing, relative to 1 + |value|
  Totals expected = {};             // the expected values beside themselves
  std::vector<Totals> honest = {};  // each run beside them
  void Add(const UndecidedPart& run);
};

// Nothing if the runs' values are no numbers, or too few to say anything.
std::optional<ExpectedWhole> WholeOf(const HonestRuns& runs);

// Why what was got is not that, or nothing.
std::optional<std::string> UnlikeWhole(const ExpectedWhole& expected, const Totals& got);

}  // namespace hone
