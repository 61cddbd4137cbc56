// A run whose proposer is asked on one machine and whose proposals are tried on another: `hone propose RUN -n N` and
// `hone evaluate RUN --pending`, over one store or copies of it (search/ahead.h).
#pragma once

#include "base/result.h"
#include "command/command.h"

namespace hone {

// Of positional `problem`, a run's id; options number, proposer, models, device, store.
Result<Answer> ProposeMore(VerbCall& call);

// Of positional `problem`, a run's id; options python, no-torch, baseline, threads, certify, store. kUsage on another
// machine than the run's, or with fewer devices than it tries on at a time.
Result<Answer> EvaluatePending(VerbCall& call);

}  // namespace hone
