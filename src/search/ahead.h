// Asking and trying apart: a machine with a network asks, one with a device tries, over one store or copies of it
// (docs/machines.md).
//
//   ProposeAhead:  replay what is recorded --> ask for so many more --> they wait in the store
//   RunSearch with AskedElsewhere:  replay --> try what waits --> the question that nobody here answers --> confirm
//
// A proposer that is prompt is asked what the search asks, no more, and a session that tries ends at the first question
// without an answer: so the sessions together decide what one process decides. A slow one is asked ahead as well, and
// what waits is all tried; when its answers come is chance in one process, too.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "propose/proposer.h"
#include "search/loop.h"

namespace hone {

// Stands in for a run's proposer where it cannot be asked: each question is withheld, and comes again.
class AskedElsewhere final : public Proposer {
 public:
  // `pace`: that of the proposer. `why`: the line that becomes the run's reason to stop.
  AskedElsewhere(Pace pace, std::string why) : pace_(pace), why_(std::move(why)) {}
  Pace pace() const override { return pace_; }
  Result<Round> Propose(const Question& question) override;

 private:
  const Pace pace_;
  const std::string why_;
};

// Asks for at least `proposals` more, in whole answers, or until there is nothing to ask before something is tried;
// SearchOutcome::proposed says how many came. Fails as RunSearch does; the caller holds what it has to hold there.
Result<SearchOutcome> ProposeAhead(Store& store, RunRecord run, Proposer& proposer, SearchSettings settings,
                                   int proposals, const SearchHooks& hooks = {});

int Pending(const Tree& tree);  // proposals that wait to be tried

// Whom a slow proposer is asked about where the search does not ask anything: among what greedy would improve, the
// attempt that had the fewest answers, the faster of two. Nothing: all of them are exhausted.
std::optional<int> NextToAsk(const Tree& tree);

}  // namespace hone
