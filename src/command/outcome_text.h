// What came of a search, in words and as a document: the last lines of `hone optimize`.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hone {

class Objective;
struct Bound;
struct DeviceModel;
struct Comparison;
struct SearchOutcome;
struct Timing;

std::string Microseconds(double us);  // "12.3 us", "4.56 ms", "1.2 s"

// Of a comparison that was disturbed, where even the fastest calls of the baseline took twice as long as nearly all of
// the candidate's: how far they are apart, to be put behind why there is no ratio. Else "".
std::string FarApart(const Timing& timing, const Comparison& disturbed);

// Whether the winner is one: measured again, faster than the baseline that speed-ups are over, and than the kernel that
// the run started from. Where there is no baseline (--no-torch on a device) there is nothing to be faster than.
bool IsWin(const SearchOutcome& outcome);

// `store`: its path.
nlohmann::json OutcomeDocument(const SearchOutcome& outcome, const Bound& bound, const DeviceModel& machine,
                               const std::string& store, std::size_t lanes);
std::string OutcomeText(const SearchOutcome& outcome, const Bound& bound, const DeviceModel& machine,
                        const std::string& store, const Objective& objective);

}  // namespace hone
