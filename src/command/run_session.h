// A session of a search that tries something, for `hone optimize` and `hone evaluate RUN --pending`: how attempts are
// measured here, what is said meanwhile, and what is answered.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "command/command.h"
#include "command/workbench.h"
#include "diagnose/insight.h"
#include "search/loop.h"
#include "search/record.h"

namespace hone {

class Ledger;

// All of it outlives the call; the evaluators are as many as settings.run.lanes.
struct RunSession {
  Workbench& bench;
  Store& store;
  OpenedRun& opened;
  Proposer& proposer;
  const Ledger& ledger;
  const SearchSettings& settings;
  double spent_s = 0;  // of the budget's time, before the search
};

// How attempts and winners are measured on this bench: lanes, baselines, bounds.
void MeasureBy(const Workbench& bench, bool certify, SearchSettings& settings);

// SearchHooks::doubt on a CUDA device; `looked` outlives it.
std::function<std::string(const Candidate&, const Attempt&)> DoubtByBuild(const InsightSetting& looked);

// Of a search with these settings, for OpenRun: what was learned before is the caller's to add.
RunRecord WantedRun(const Workbench& bench, std::string_view target, const SearchSettings& settings);

// The search. Then others have the devices: the bench's evaluators are gone. A run that is new and was interrupted
// before anything was judged is deleted: then kInterrupted.
Result<SearchOutcome> SearchIn(VerbCall& call, const RunSession& session);

// What came of it, for `hone optimize --json` and in words.
Answer AnswerOf(const RunSession& session, const SearchOutcome& outcome);

}  // namespace hone
