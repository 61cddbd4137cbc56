#include "search/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <future>
#include <list>
#include <set>
#include <string_view>

#include "base/check.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "search/headroom.h"

namespace hone {
namespace {

void Take(Standing& standing, const Helping& helping) {
  standing.retried = false;
  ++standing.helpings;
  standing.seconds += helping.seconds;
  standing.began_with += HeadroomOf(helping.before_us, helping.bound_us);
  if (helping.before_us > 0 && helping.best_us > 0)
    standing.gained += std::max(0.0, std::log(helping.before_us / helping.best_us));
  standing.last = helping;
}

// May it have another, on this device?
bool Open(const Standing& standing, const SuiteBudget& budget, std::string_view device) {
  if (standing.busy || standing.withheld) return false;
  if (standing.at_home && standing.last->device != device) return false;
  if (!standing.last || standing.retried) return true;
  return standing.last->failure.empty() && !standing.last->ended && standing.last->attempts < budget.attempts;
}

// What a helping may take of the time that those in work leave. A problem that nobody has looked at yet has its share,
// so that each is looked at; later ones share it among `room` lanes, but one that could make no attempt in its share
// may take as long as it did before.
double SecondsFor(const std::vector<Standing>& standings, const Standing& chosen, const SuiteBudget& budget,
                  double spent, int room) {
  double left = budget.seconds - spent;
  for (const Standing& one : standings) left -= one.busy ? one.most_seconds : 0;
  if (chosen.last && !chosen.retried) return std::max(left / room, std::min(left, chosen.UsualSeconds()));
  const auto waiting = std::count_if(standings.begin(), standings.end(),
                                     [](const Standing& one) { return !one.busy && (!one.last || one.retried); });
  return left / static_cast<double>(std::max<std::ptrdiff_t>(1, waiting));
}

// What language models may take of the suite's caps for one more helping beside those in work: its share, so that those
// at work together stay within them.
struct Allowance {
  std::int64_t tokens = 0;
  double dollars = 0;
};
Allowance Left(const std::vector<Standing>& standings, const SuiteBudget& budget) {
  Allowance left{budget.tokens, budget.dollars};
  for (const Standing& one : standings) {
    const std::int64_t tokens = one.last ? one.last->tokens : 0;
    const double dollars = one.last ? one.last->dollars : 0;
    left.tokens -= one.busy ? std::max(tokens, one.most_tokens) : tokens;
    left.dollars -= one.busy ? std::max(dollars, one.most_dollars) : dollars;
  }
  return left;
}

// Why no language model may be asked any more; empty: one may.
std::string WhyNone(const Allowance& left, const SuiteBudget& budget) {
  if (budget.tokens > 0 && left.tokens <= 0) return fmt::format("the {} tokens are spent", budget.tokens);
  if (budget.dollars > 0 && left.dollars <= 0) return fmt::format("the {:.2f} dollars are spent", budget.dollars);
  return {};
}

// Where helpings are made, one a lane. Where there is but one lane, that is in the caller's thread, by Wait; else each
// in a thread of its own.
class Kitchen {
 public:
  struct Served {
    std::size_t index = 0;
    Portion portion;
    Result<Helping> helping;
  };
  Kitchen(const Serve& serve, std::size_t lanes) : serve_(serve), taken_(lanes, false) {}

  bool Idle() const { return orders_.empty(); }
  int Room() const { return static_cast<int>(taken_.size() - orders_.size()); }  // for so many more
  bool Taken(std::size_t lane) const { return taken_[lane]; }
  // On portion.lane, which is not taken. `problem` outlives it.
  void Begin(std::size_t index, const SuiteProblem& problem, const Portion& portion) {
    taken_[static_cast<std::size_t>(portion.lane)] = true;
    const auto policy = taken_.size() == 1 ? std::launch::deferred : std::launch::async;
    orders_.push_back({index, portion, std::async(policy, [this, &problem, portion] {
                         Result<Helping> helping = serve_(problem, portion);
                         const MutexLock lock(mutex_);
                         done_.push_back(portion.lane);
                         changed_.NotifyAll();
                         return helping;
                       })});
  }
  // One that is done; blocks until there is one.
  Served Wait() {
    if (taken_.size() == 1) orders_.front().helping.wait();
    int lane = 0;
    {
      const MutexLock lock(mutex_);
      while (done_.empty()) changed_.Wait(mutex_);
      lane = done_.front();
      done_.pop_front();
    }
    const auto order =
        std::find_if(orders_.begin(), orders_.end(), [&](const Order& one) { return one.portion.lane == lane; });
    Served served{order->index, order->portion, order->helping.get()};
    taken_[static_cast<std::size_t>(lane)] = false;
    orders_.erase(order);
    return served;
  }

 private:
  struct Order {
    std::size_t index = 0;
    Portion portion;
    std::future<Result<Helping>> helping;  // the destructor waits for its end
  };
  const Serve& serve_;
  std::vector<bool> taken_;
  Mutex mutex_;
  Condition changed_;
  std::deque<int> done_ HONE_GUARDED_BY(mutex_);  // lanes
  std::list<Order> orders_;                       // the last: their threads end before the rest goes
};

// Does a lane hold the device that its last helping was made on? Where devices have no names there is no such.
bool IsHere(const Standing& standing, const std::vector<std::string>& lanes) {
  return standing.last && !standing.last->device.empty() &&
         std::find(lanes.begin(), lanes.end(), standing.last->device) != lanes.end();
}

// Who is next, and on which lane; nothing: no lane is free, or none has anything to do.
struct Turn {
  std::size_t problem = 0;
  std::size_t lane = 0;
};
std::optional<Turn> NextTurn(const std::vector<Standing>& standings, const SuiteBudget& budget,
                             const std::vector<std::string>& lanes, const Kitchen& kitchen) {
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (kitchen.Taken(lane)) continue;
    if (const auto problem = NextHelping(standings, budget, lanes[lane])) return Turn{*problem, lane};
  }
  return std::nullopt;
}

// `left`: of what language models may take; `room`: free lanes.
Portion PortionFor(const SuiteOutcome& outcome, const Standing& standing, const SuiteBudget& budget,
                   const Allowance& left, const Turn& turn, const std::vector<std::string>& lanes, int room) {
  Portion portion;
  portion.lane = static_cast<int>(turn.lane);
  portion.device = lanes[turn.lane];
  portion.number = standing.helpings + 1;
  portion.last = standing.last && !standing.failed() && !standing.retried ? &*standing.last : nullptr;
  portion.attempts = std::min(budget.attempts, (portion.last ? portion.last->attempts : 0) + budget.helping);
  portion.more_follow = portion.attempts < budget.attempts;
  if (budget.seconds > 0) portion.seconds = SecondsFor(outcome.standings, standing, budget, outcome.seconds, room);
  if (budget.tokens > 0) {
    const std::int64_t share = std::max<std::int64_t>(1, left.tokens / room);
    portion.tokens = (standing.last ? standing.last->tokens : 0) + share;
  }
  if (budget.dollars > 0) portion.dollars = (standing.last ? standing.last->dollars : 0) + left.dollars / room;
  return portion;
}

// Of the helpings in their order: other suites with the same settings may have rows in the ledger, too.
std::string SignatureOf(const std::vector<Helping>& helpings, const std::vector<SuiteProblem>& problems) {
  std::set<std::string_view> ours;
  for (const SuiteProblem& problem : problems) ours.insert(problem.key);
  std::string text;
  for (const Helping& one : helpings) {
    if (!ours.contains(one.problem)) continue;
    text += fmt::format("{} {} {} {:.6g} {:.6g} {} {} {}\n", one.problem, one.number, one.attempts, one.before_us,
                        one.best_us, one.ended, one.won, one.failure);
  }
  return Sha256(text).substr(0, 12);
}

}  // namespace

double Standing::Headroom() const { return last ? HeadroomOf(last->best_us, last->bound_us) : kUnknownHeadroom; }

double Standing::GainASecond() const {
  const double yield = (kFirstYield + gained) / (1 + began_with);
  // Milliseconds at least: scripted helpings may take no time at all.
  return Headroom() * yield / std::max(1e-3, UsualSeconds());
}

double Standing::UsualSeconds() const { return seconds / std::max(1, helpings); }

std::optional<std::size_t> NextHelping(const std::vector<Standing>& standings, const SuiteBudget& budget,
                                       std::string_view device) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    if (!Open(standings[i], budget, device)) continue;
    if (!standings[i].last || standings[i].retried) return i;
    if (!best || standings[i].GainASecond() > standings[*best].GainASecond()) best = i;
  }
  return best;
}

std::vector<Standing> StandingsOf(const std::vector<SuiteProblem>& problems, const std::vector<Helping>& helpings) {
  std::vector<Standing> standings;
  for (const SuiteProblem& problem : problems) {
    Standing& standing = standings.emplace_back();
    standing.problem = problem;
    for (const Helping& helping : helpings) {
      if (helping.problem == problem.key) Take(standing, helping);
    }
  }
  return standings;
}

Result<SuiteOutcome> RunSuite(const std::vector<SuiteProblem>& problems, SuiteLedger& ledger, const SuiteBudget& budget,
                              const Serve& serve, const SuiteHooks& hooks) {
  SuiteOutcome outcome;
  outcome.standings = StandingsOf(problems, ledger.helpings());
  for (Standing& standing : outcome.standings) {
    outcome.seconds += standing.seconds;
    standing.retried = hooks.retry_failures && standing.failed();
  }
  for (Standing& one : outcome.standings) one.at_home = IsHere(one, hooks.lanes);
  const auto interrupted = [&] { return hooks.interrupt != nullptr && hooks.interrupt->load(); };
  HONE_CHECK(!hooks.lanes.empty(), "a suite has a lane");
  Kitchen kitchen(serve, hooks.lanes.size());
  for (;;) {
    const std::optional<Turn> next = NextTurn(outcome.standings, budget, hooks.lanes, kitchen);
    if (outcome.stop.empty() && next && interrupted()) outcome.stop = "interrupted";
    if (outcome.stop.empty() && budget.seconds > 0 && outcome.seconds >= budget.seconds && next)
      outcome.stop = fmt::format("the {:.0f} s are spent", budget.seconds);
    const Allowance left = Left(outcome.standings, budget);
    const std::string spent = WhyNone(left, budget);
    if (outcome.stop.empty() && next && kitchen.Idle()) outcome.stop = spent;
    if (outcome.stop.empty() && next && spent.empty()) {
      Standing& standing = outcome.standings[next->problem];
      const Portion portion = PortionFor(outcome, standing, budget, left, *next, hooks.lanes, kitchen.Room());
      // Those in work may leave more.
      if (kitchen.Idle() || budget.seconds <= 0 || portion.seconds >= std::max(1e-3, standing.UsualSeconds())) {
        standing.most_seconds = portion.seconds;
        standing.most_tokens = portion.tokens;
        standing.most_dollars = portion.dollars;
        standing.busy = true;
        kitchen.Begin(next->problem, standing.problem, portion);
        continue;
      }
    }
    if (kitchen.Idle()) break;
    auto [index, portion, helping] = kitchen.Wait();
    Standing& standing = outcome.standings[index];
    standing.busy = false;
    if (!helping && helping.error().kind == ErrorKind::kInterrupted) {
      outcome.stop = "interrupted";
      continue;
    }
    Helping made = HONE_TRY(std::move(helping));
    if (made.interrupted) {
      outcome.stop = "interrupted";
      outcome.seconds += made.seconds;
      standing.cut = std::move(made);
      continue;
    }
    made.problem = standing.problem.key;
    made.number = portion.number;
    made.device = portion.device;
    if (standing.last) {  // one that failed may not have got as far as to know
      made.tokens = std::max(made.tokens, standing.last->tokens);
      made.dollars = std::max(made.dollars, standing.last->dollars);
    }
    // Alone it might have had all that is left, and others would be left with no more. One of several had a share.
    standing.withheld = made.withheld;
    if (made.withheld && outcome.stop.empty() && hooks.lanes.size() <= 1)
      outcome.stop = "the caps leave less than the next call of a language model may take";
    // A helping that made no attempt would make none the next time.
    if (made.failure.empty() && !made.withheld && made.attempts <= (portion.last ? portion.last->attempts : 0))
      made.ended = true;
    HONE_TRY(ledger.Add(made));
    outcome.seconds += made.seconds;
    Take(standing, made);
    standing.at_home = IsHere(standing, hooks.lanes);
  }
  if (outcome.stop.empty()) outcome.stop = "every problem has had its attempts";
  outcome.interrupted = outcome.stop == "interrupted";
  outcome.complete = std::all_of(outcome.standings.begin(), outcome.standings.end(),
                                 [](const Standing& one) { return one.last.has_value(); });
  outcome.signature = SignatureOf(ledger.helpings(), problems);
  return outcome;
}

}  // namespace hone
