// When a search ends. Small objects that are asked after each attempt; the first that says yes ends the run, with its
// reason.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// An attempt brings progress when it is faster than what brought progress before it by more than this fraction: less is
// what measuring the same again may bring.
inline constexpr double kProgress = 0.01;

// What a user is willing to spend.
struct Budget {
  int attempts = 100;      // > 0
  double seconds = 0;      // of wall time, confirmation included, over all sessions of the run; 0 = no limit
  double headroom = 0.02;  // stop when this fraction of the best time, or less, lies above the bound; < 0 = never
  int idle = 0;            // stop when so many attempts in a row brought no progress; 0 = never
  double joules = 0;       // of the device's energy, that judging and timing attempts used; 0 = any amount
  // What language models may cost, over all sessions; 0 = any amount. Kept by the ledger (model/ledger.h).
  std::int64_t tokens = 0;
  double dollars = 0;
  // Of the seconds, by the sessions that the run has had: as it was when its store heard of it last, so that a session
  // that was killed is charged, too. 0 = nothing is known of that.
  double spent_s = 0;
};

// When the best value (Objective, its first measure; smaller is better) last came down by more than kProgress.
class Progress {
 public:
  // The attempt with this number has ended; 0 = it has no value.
  void Note(int number, double value) {
    if (value <= 0 || (value_ > 0 && value >= (1 - kProgress) * value_)) return;
    value_ = value;
    at_ = number;
  }
  // The attempts since; 0 while there was none.
  int Idle(int attempts) const { return at_ > 0 ? attempts - at_ : 0; }

 private:
  double value_ = 0;
  int at_ = 0;
};

// What a stopper may look at.
struct SearchState {
  int attempts = 0;
  int idle = 0;          // of those that have ended, since one brought progress; 0 while nothing was accepted
  double elapsed_s = 0;  // over all sessions of the run
  double joules = 0;     // that the attempts' evaluations used, over all sessions
  double reserve_s = 0;  // what confirming the fastest few will probably take
  double confirm_s = 0;  // what confirming one of them will
  double least_s = 0;    // one attempt more and the briefest confirmation after it
  double best_us = 0;    // 0 = none yet
  double bound_us = 0;   // 0 = not known
  double sure_us = 0;    // what no data spare of it; 0 = all of it
};

// The fraction of the best time that lies above the bound: 0 = at the hardware's limit, 0.5 = could be twice as fast. 1
// while nothing was accepted or the bound is not known.
double Headroom(const SearchState& state);

struct Stop {
  enum class Cause {
    kBudget,
    kLimit,
    kNothingLeft,
    kInterrupt,
    kWithheld
  };  // kWithheld: the proposer may not be asked
  Cause cause = Cause::kBudget;
  std::string reason;  // one line: "all 100 attempts are made"
};

std::string_view Name(Stop::Cause cause);  // "budget", "limit", "nothing-left", "interrupt"

class Stopper {
 public:
  virtual ~Stopper() = default;
  virtual std::optional<Stop> Ask(const SearchState& state) const = 0;
};

// The interrupt comes first. It may be nullptr; else it must outlive the stoppers. One that comes since the time is up
// (base/interrupt.h) ends the run by its budget.
std::vector<std::unique_ptr<Stopper>> MakeStoppers(const Budget& budget, const std::atomic<bool>* interrupt);

}  // namespace hone
