// `hone optimize --suite`: many problems in turn, one at a time or one on each of several devices, under one budget
// (search/suite.h).
#pragma once

#include <span>

#include "base/result.h"
#include "command/command.h"

namespace hone {

// `options`: the verb's own, of which those that are not the suite's are handed on to each problem. Interrupts are
// caught already. Exit code kDone where each problem has a confirmed kernel that is faster than its baseline, kNo where
// one has not.
Result<Answer> OptimizeSuite(VerbCall& call, std::span<const Option> options);

}  // namespace hone
