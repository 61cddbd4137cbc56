// Many problems under one budget. First each problem has a helping of attempts, in the order of the list; then the
// helping goes each time to the problem with the most reachable gain a second:
//
//   reachable gain = headroom x yield
//   headroom = ln(best time / bound), of a problem without a bound ln 2
//   yield = (kFirstYield + what its helpings gained) / (1 + the headroom that they began with), gains as ln(before /
//   after)
//
// so a problem far from its bound is tried until attempts have shown that they bring little there. Seconds are those
// that its helpings took. What follows from the ledger's rows alone is the same after a kill as without it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/suite_ledger.h"

namespace hone {

struct SuiteProblem {
  std::string key;    // of its content: the same problem is the same row in a later session
  std::string name;   // "level1/12_softmax"
  std::string group;  // "level1"; what geometric means are over
  std::string path;
};

struct SuiteBudget {
  int attempts = 40;   // of a problem, > 0
  int helping = 8;     // attempts of a helping, > 0
  double seconds = 0;  // of all helpings, over all sessions; 0 = no limit
  // Of language models, by all helpings over all sessions; 0 = no limit. The suite ends where a problem's proposer may
  // not be asked any more for want of them.
  std::int64_t tokens = 0;
  double dollars = 0;
};

// What a helping may be.
struct Portion {
  int number = 0;                 // as of Helping
  int attempts = 0;               // of the problem at most, with those of earlier helpings
  double seconds = 0;             // at most, this session; 0 = no limit
  std::int64_t tokens = 0;        // of the problem's run at most, with those of earlier helpings; 0 = no limit
  double dollars = 0;             // likewise
  bool more_follow = false;       // the problem may have other attempts after these
  const Helping* last = nullptr;  // the problem's helping before; valid during the call
  int lane = 0;                   // of SuiteHooks::lanes; no two in work have the same
  std::string device;             // that the lane holds
};

// Makes a helping: `problem`, `number` are filled in after it. What is wrong with the problem is Helping::failure; an
// error ends the suite. So does an interrupt: Helping::interrupted with what there was, or kInterrupted.
using Serve = std::function<Result<Helping>(const SuiteProblem&, const Portion&)>;

struct SuiteHooks {
  const std::atomic<bool>* interrupt = nullptr;
  bool retry_failures = false;  // those that were in the ledger before this session
  // So many helpings at a time, each of another problem and from a thread of its own: who is next is then decided
  // without what is in work, so the order of helpings is chance where there are several. A lane is named by the device
  // that it holds, or not at all; several may have the same, which one of them uses at a time. A problem stays on the
  // device that it began on while that is here: times of two devices are not compared, and a run is of one.
  std::vector<std::string> lanes = {""};
};

// How a problem stands.
struct Standing {
  SuiteProblem problem;
  std::optional<Helping> last;  // nothing: it had no helping
  std::optional<Helping> cut;   // the one that an interrupt ended
  int helpings = 0;
  double gained = 0, began_with = 0;  // sums of ln, over its helpings
  double seconds = 0;                 // of all of them
  bool retried = false;               // its last failure counts as none
  bool busy = false;                  // a helping of it is in work
  bool withheld = false;              // it waits for a session with larger caps
  bool at_home = false;               // a lane holds the device that its last helping was made on
  double most_seconds = 0;            // that the helping in work may take
  std::int64_t most_tokens = 0;       // that it may have taken then, with those before
  double most_dollars = 0;

  bool failed() const { return last && !last->failure.empty() && !retried; }
  double Headroom() const;      // ln(best / bound), >= 0
  double GainASecond() const;   // reachable, of the next helping; only where there was one
  double UsualSeconds() const;  // of its helpings, the mean; 0 where there was none
};

// The problem that the next helping on this device goes to; nothing: all have had what the budget allows, or more
// brings nothing.
inline constexpr double kFirstYield = 0.1;
std::optional<std::size_t> NextHelping(const std::vector<Standing>& standings, const SuiteBudget& budget,
                                       std::string_view device = {});

// By the helpings that a ledger has of them.
std::vector<Standing> StandingsOf(const std::vector<SuiteProblem>& problems, const std::vector<Helping>& helpings);

struct SuiteOutcome {
  std::vector<Standing> standings;  // in the order of the problems
  double seconds = 0;               // that all helpings took, with those that an interrupt ended
  std::string stop;                 // why it ended, one line
  bool complete = false;            // each problem has a row
  bool interrupted = false;
  std::string signature;  // of what was decided and found, times of ours left out: 12 hex digits
};

// Blocks. Fails when the ledger cannot be written or `serve` fails otherwise than by an interrupt.
Result<SuiteOutcome> RunSuite(const std::vector<SuiteProblem>& problems, SuiteLedger& ledger, const SuiteBudget& budget,
                              const Serve& serve, const SuiteHooks& hooks = {});

}  // namespace hone
