// A run with all that the store has of it, as values: what a bundle carries, and how two copies of a run become one.
//
//   copy A:  attempts 1 2 3        rounds (0,0) (1,0)
//   copy B:  attempts 1 2 3 4 5    rounds (0,0)        calls 1 2      -->  5 attempts, 2 rounds, 2 calls
//
// Union is a least upper bound: which copy comes first, how they are grouped and how often one is merged makes no
// difference. Of attempts that two machines made of the same run the longer list stays, and where two lists part the
// one whose next attempt ended first, whole: a mixture would be decisions that nobody made.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace hone {

struct RunContents {
  struct Tried {
    AttemptRecord record;
    std::string source, log;
  };
  struct Answered {
    RoundRecord record;
    std::vector<ProposalRecord> proposals;
  };
  struct Called {
    CallRecord record;
    std::string reply;
  };
  struct Confirmed {
    ConfirmationRecord record;
    std::string log;
  };
  RunRecord run;
  std::string problem;                   // problem.json
  std::vector<Tried> attempts;           // by number, those that ended
  std::vector<Answered> rounds;          // by number
  std::vector<Called> calls;             // by number
  std::vector<Confirmed> confirmations;  // in the order of measuring
};

// Whether two records are of one run, whatever the stores call it: made of the same problem, target, machine and
// settings in the same millisecond.
bool SameRun(const RunRecord& a, const RunRecord& b);

// Of two copies of one run; with the id of `ours`.
RunContents Union(const RunContents& ours, const RunContents& theirs);

// All that it holds as one text, without the run's id: equal when they are.
std::string TextOf(const RunContents& contents);

Result<RunContents> ReadContents(Store& store, const RunRecord& run);

// What WriteContents did.
struct Written {
  int created = 0;    // runs that were not there
  int changed = 0;    // that got something
  int unchanged = 0;  // that had all of it
};

// The union of each with the store's copy of it, if it has one, in one transaction: on disk whole when it returns, or
// not at all. A run whose id is another's here gets a longer one. kUsage while a process works on one of them.
Result<Written> WriteContents(Store& store, const std::vector<RunContents>& runs);

}  // namespace hone
