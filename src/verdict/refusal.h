// How a verdict is given: whatever looks at a candidate returns why it is refused, or nothing.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "verdict/verdict.h"

namespace hone {

// The verdict that refuses a candidate; `draw` names the inputs.
Verdict Refuse(Outcome outcome, std::string reason, std::string draw = {});

// Why a candidate is refused, or that there is nothing against it so far.
using Refusal = std::optional<Verdict>;

}  // namespace hone

// HONE_PASS(expr), in a function that gives a Result<Refusal>: goes on if that of expr has nothing against the
// candidate.
#define HONE_PASS(expr)                                                                   \
  do {                                                                                    \
    if (::hone::Refusal refusal_ = HONE_TRY(expr); refusal_.has_value()) return refusal_; \
  } while (false)
