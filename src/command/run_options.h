// What `hone optimize` is told of how to search, read before anything is begun: a suite asks as its problems do, so
// that a mistyped option is one line and not as many failures as there are problems.
#pragma once

#include <string>

#include "base/result.h"
#include "command/command.h"
#include "diagnose/advisers.h"
#include "propose/joint.h"
#include "search/objective.h"
#include "search/search.h"

namespace hone {

struct RunOptions {
  bool cuda = false;
  Chosen<StrategyRow> strategy;
  ChosenProposers proposers;
  Objective objective;
  Advisers advisers;
  std::string profile;  // the name of a CounterSet; empty: nothing is counted
  std::string index;    // a path; empty: there is none
  bool memory = false;
  bool more_follows = false;  // SearchSettings::more_follows
};

// Fails with kUsage and the option's name.
Result<RunOptions> ReadRunOptions(VerbCall& call);

// --threads as RunSettings::threads has it: all cores is what it is without.
int ThreadsOfRun(const VerbCall& call);

// What a run finds out when it begins, of what is the same for all problems: baselines that can be had somewhere, the
// models file, the index. Fails as the run would.
Result<void> CheckBeforeRuns(VerbCall& call, const RunOptions& options);

}  // namespace hone
