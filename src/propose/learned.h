// What the promises of findings were worth: each says what share of the time a fault costs, and a move that was to mend
// it has brought something or nothing. Later promises of the same rule are scaled by what earlier ones came to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

struct Attempt;

// Of one rule's moves, all that were tried. Sums of shares of the time that the attempt before took.
struct Kept {
  std::int64_t moved = 0;
  double promised = 0, brought = 0;

  void Add(double promise, double gain);
  // By how much a promise is to be scaled, > 0: brought / promised, drawn towards 1 as if a few moves had kept theirs.
  double Factor() const;
};

// By rule; "settings" are the expert's own changes, by its cost model.
using Learned = std::map<std::string, Kept, std::less<>>;
inline constexpr std::string_view kOwnRule = "settings";

double FactorOf(const Learned& learned, std::string_view rule);  // 1 where nothing is known

// The share of the parent's time that the attempt saved; < 0 = it is slower, 0 = it was refused or not timed.
double Brought(const Attempt& attempt, const Attempt& parent);

std::string ToJson(const Learned& learned);             // {"wave_tail": {"moved": 3, "promised": 0.9, "brought": 0.2}}
Result<Learned> ParseLearned(const std::string& json);  // kCorrupt

}  // namespace hone
