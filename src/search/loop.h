// The loop: a proposer, an evaluator and a strategy in turn, each step in the run store before the next begins.
//
//        .-> 1 select --> 2 propose --> 3 evaluate --> 4 back up --> 5 record --> 6 ask the stoppers --.
//        |   (Strategy)   (Proposer)    (Evaluator)    (Tree)        (Store)      (Stopper)            |
//        '----------------------------------------------------------------------------- no -----------+-- yes --> 7
//        confirm the winner
//
// Where there is a limit of time, what confirming takes is left of it: no attempt begins that would eat into that. The
// winner is confirmed beside the baselines that are ready, and then, in the time that is left, beside the others.
//
// Where there is a kernel to start from (SearchSettings::start), it is tried before anything is asked, alone; it is the
// one to beat, and so confirmed beside the winner.
//
// With several evaluators (lanes, one a device) as many attempts are in flight: attempt n is chosen as soon as attempt
// n - lanes is backed up, knowing of those between only that they are. They are backed up in the order of their
// numbers, so the decisions do not depend on who is done first. Meanwhile the evaluator is told what waits: it may
// compile that ahead.
//
// A proposer that is slow is asked in a thread of its own; meanwhile the lanes go on with what else there is to try.
//
// A run has a time of its own, which counts events: a question, its answer, the begin of an attempt, its end. Decisions
// follow from those alone. A run is resumed by running the same loop: what the store has takes the place of asking the
// proposer and of step 3, each at the event that it came at. So after a resume tree and generator are what they would
// have been, nothing is asked again that was answered, and nothing evaluated again that had ended. Where the decision
// differs from the record (another version of hone decides differently), the record wins, the tree takes it over as it
// is, and the outcome says so. Of thousands of attempts that would take long: their events come from the run's journal
// (journal.h), and only what it does not reach is decided again.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "evaluate/evaluator.h"
#include "propose/proposer.h"
#include "search/finals.h"
#include "search/journal.h"
#include "search/record.h"
#include "search/stopper.h"
#include "search/tree.h"
#include "store/store.h"

namespace hone {

struct SearchSettings {
  RunSettings run;
  // Attempt 1, from nobody; run.start is its candidate's identity. Nothing: the proposer says what to begin with.
  std::optional<Proposal> start = {};
  Budget budget;
  // What no data spare of the run's bound, where that is known: the search may end there, and not before. 0: the bound.
  double sure_us = 0;
  EvaluateRequest evaluate;  // for each attempt; its first baseline is the one that speed-ups are over
  // For the winner: draws that no attempt has seen, all baselines, more timing.
  EvaluateRequest confirm = {.timing_budget = std::chrono::milliseconds(3000), .confidence = 0.01, .fresh_draws = true};
  // So many of the fastest are measured again side by side. The fastest of many noisy measurements is fast by luck too.
  // 0: none; the winner is then the fastest in search, and not confirmed.
  int confirm_candidates = 3;
  // Other sessions follow this one. Where all of its attempts are made, it confirms the fastest alone, and that only
  // where it is not confirmed yet; the run is then left as one that goes on.
  bool more_follows = false;
  // Of confirm's baselines: getting ready takes them long. Where there is a limit of time they are the last that the
  // winner is measured beside.
  std::vector<std::string> slow_baselines = {};
  EnergyRequest energy;               // of those, where the objective asks for it
  int ask_ahead = 0;                  // > 0: nothing is tried; so many proposals more are asked for (search/ahead.h)
  int journal_every = kJournalEvery;  // attempts (search/journal.h)
};

struct SearchProgress {
  enum class Phase { kAsking, kTrying, kTried, kConfirming };  // kAsking: a slow proposer has begun to think
  Phase phase = Phase::kTrying;
  int attempt = 0;                       // in work, just ended, or asked about (0 = what to begin with)
  int attempts_at_most = 0;              // by the budget
  double best_us = 0;                    // 0 = none yet
  double best_speedup = 0;               // over the first baseline; 0 = not known
  double headroom = 1;                   // Headroom()
  double elapsed_s = 0;                  // over all sessions
  double eta_s = 0;                      // until the run ends by its budget; may end sooner; < 0 = not known
  bool replayed = false;                 // taken from the store
  std::vector<std::string> beside = {};  // baselines that it is confirmed beside
  const Attempt* last = nullptr;         // that one, without a verdict while it is in work; valid during the call
};

struct SearchHooks {
  std::function<void(const SearchProgress&)> progress;  // called from Run's thread
  const std::atomic<bool>* interrupt =
      nullptr;  // set by anybody: the evaluation in flight is asked to end, and the run ends
  // A rising clock, which may stand still while the evaluator waits for others; the machine's if empty.
  std::function<double()> seconds;
  double spent_s = 0;  // of the budget's time, by what this session has done before the search
  std::function<void(const std::string&)> note;  // what proposers want a person to know; called from Run's thread
  // Asked about each attempt that was accepted and timed, from Run's thread; empty: nobody looks. The same attempt has
  // to have the same insight, since what is proposed next may follow from it.
  std::function<Insight(const Attempt&)> look;
  // Asked about each candidate that was chosen and has its turn, from Run's thread: what its build says against trying
  // it, beside that of the attempt that it is made from; "" = nothing. Empty: nobody asks. The same question has to
  // have the same answer. Most of what is doubted is dropped (docs/memory.md).
  std::function<std::string(const Candidate& chosen, const Attempt& from)> doubt;
};

struct SearchOutcome {
  RunRecord run;  // as stored; best_attempt is the winner, 0 = none
  Tree tree;
  Stop stop;
  std::vector<Confirmed> confirmed;     // in the order of measuring
  std::vector<std::string> unmeasured;  // baselines that the confirmed winner was not measured beside
  std::string why_unmeasured;           // "no time was left"
  bool winner_confirmed = false;        // false after an interrupt, without time for it, or when nothing was accepted
  int replayed = 0;                     // attempts taken from the store
  double search_s = 0;                  // this session's time from its first choice to its last verdict
  double own_s = 0;                     // of it, what neither evaluators nor the proposer took
  double look_s = 0;                    // of that, what SearchHooks::look took
  double evaluated_s = 0;               // what this session's evaluations took, of several devices all together
  double joules = 0;                    // that judging and timing attempts used, over all sessions; 0 = nobody counted
  bool diverged = false;                // some decision differed from the record
  int proposed = 0;                     // proposals of this session's answers
  int dropped = 0;                      // proposals, since their builds spoke against them
  bool started = false;                 // attempt 1 is the kernel that the run started from (search/start.h)
};

// Blocks. Fails when the world does: the run is then marked interrupted, and calling again goes on. The caller holds
// the run's lock (OpenRun) and all of the arguments. The evaluators measure what the objective needs.
Result<SearchOutcome> RunSearch(Store& store, RunRecord run, Proposer& proposer, Evaluator& evaluator,
                                const SearchSettings& settings, const SearchHooks& hooks = {});
// With as many lanes as settings.run.lanes says; the first confirms the winners.
Result<SearchOutcome> RunSearch(Store& store, RunRecord run, Proposer& proposer,
                                const std::vector<Evaluator*>& evaluators, const SearchSettings& settings,
                                const SearchHooks& hooks = {});

}  // namespace hone
