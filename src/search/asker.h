// Puts a run's questions to its proposer, one at a time, and answers those from the run store that were answered
// before.
//
//   Ask --> Take: not yet ... Take: the answer, which is in the store by then
//
// A prompt proposer has answered by the first Take. A slow one thinks in a thread; when its answer came is chance, so
// the store has that, too: as the number of events before it (loop.h). A run that goes on gives the answer at the same
// point again, and so decides what it decided.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "propose/proposer.h"
#include "search/errand.h"
#include "search/tree.h"
#include "store/store.h"

namespace hone {

// Used by the search's thread. All arguments outlive it.
class Asker {
 public:
  Asker(Store& store, const Tree& tree, Proposer& proposer, std::uint64_t seed, Bell& bell);

  // The answers of earlier sessions; the first `known` of them were taken already, and are not read.
  Result<void> Load(const std::string& run, int known = 0);

  // About the parent's next turn, or about crossing it with a mate. There is no question now.
  void Ask(int parent, int mate = 0);
  bool asking() const { return asked_.has_value(); }
  // Whether somebody thinks about it: the bell rings when he is done.
  bool thinking() const { return errand_.begun(); }
  bool Done() const { return errand_.Done(); }  // he is
  int recorded() const { return recorded_; }    // so many answers are of earlier sessions
  // Why the question will have no answer in this session (ErrorKind::kSpent); empty: it may have one.
  const std::string& withheld() const { return withheld_; }

  struct Now {
    std::int64_t events = 0;  // so many were before this
    bool replaying = false;   // attempts of earlier sessions are still to come: a slow proposer is not asked anew
    bool idle = false;        // nothing else is left to do: an answer that came later is taken now
  };
  struct Answer {
    int parent = 0, mate = 0;
    int round = 0;
    std::vector<Proposal> proposals;
    std::vector<std::string> notes = {};
  };
  // Nothing while there is no answer. Fails when the proposer does, or the store.
  Result<std::optional<Answer>> Take(const Now& now);

  // Takes the question back. An answer that comes all the same is kept in the store.
  Result<void> Cancel(const Now& now);

 private:
  struct Asked {
    int parent = 0, mate = 0, turn = 0;
    std::int64_t asked_ms = 0;
  };
  void PutQuestion();
  Result<Answer> Keep(Round round, const Now& now);

  Store& store_;
  const Tree& tree_;
  Proposer& proposer_;
  const std::uint64_t seed_;
  std::string run_;
  int known_ = 0;
  std::vector<RoundRecord> rounds_;                 // of all sessions, but the known
  std::map<std::pair<int, int>, int> recorded_at_;  // in them, those of earlier sessions: by parent and turn
  Question question_;                               // while somebody thinks about it, his
  int recorded_ = 0;
  std::optional<Asked> asked_;
  std::string withheld_;
  Errand<Round> errand_;
};

}  // namespace hone
