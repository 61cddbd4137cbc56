#include "oracle/whole_output.h"

#include <fmt/format.h>

#include "oracle/oracle.h"

namespace hone {
namespace {

constexpr double kFewest = 16;         // elements of which a mean and a deviation say something
constexpr double kLeastSpread = 1e-6;  // of the mean: less is not seen in sums of squares
constexpr double kHonestSpread = 2;    // honest deviations are within this factor, or the spread says nothing
constexpr double kSpread = 4;          // and a candidate's within this one

bool SpreadsAs(const ExpectedWhole& expected, const Totals& got, double factor) {
  const double deviation = got.Deviation();
  return deviation <= factor * expected.deviation && factor * deviation >= expected.deviation &&
         std::abs(got.Mean() - expected.mean) <= (factor - 1) / 2 * expected.deviation;
}

}  // namespace

void HonestRuns::Add(const UndecidedPart& run) {
  worst = std::max(worst, run.worst);
  expected = run.expected;
  honest.push_back(run.honest);
}

std::optional<ExpectedWhole> WholeOf(const HonestRuns& runs) {
  ExpectedWhole whole{.mean = runs.expected.Mean(), .deviation = runs.expected.Deviation()};
  for (const Totals& run : runs.honest) {
    if (!(run.count >= kFewest) || !std::isfinite(run.RootError())) return std::nullopt;
    whole.error = std::max(whole.error, run.RootError());
  }
  if (!std::isfinite(whole.mean) || !std::isfinite(whole.deviation)) return std::nullopt;
  whole.spread_holds = whole.deviation > kLeastSpread * std::abs(whole.mean);
  for (const Totals& run : runs.honest) whole.spread_holds &= SpreadsAs(whole, run, kHonestSpread);
  return whole;
}

std::optional<std::string> UnlikeWhole(const ExpectedWhole& expected, const Totals& got) {
  const double size = std::hypot(expected.mean, expected.deviation);
  const double most = kBudgetFactor * UndecidedScale(expected.error / (1 + size), size);
  if (got.count > 0 && got.RootError() > most) {
    return fmt::format(
        "its error is {:.3g} in the root mean square, an honest implementation's {:.3g}, allowed are {:.3g}",
        got.RootError(), expected.error, most);
  }
  if (expected.spread_holds && !SpreadsAs(expected, got, kSpread)) {
    return fmt::format("its elements are {:.3g} +- {:.3g}, expected are {:.3g} +- {:.3g}", got.Mean(), got.Deviation(),
                       expected.mean, expected.deviation);
  }
  return std::nullopt;
}

}  // namespace hone
