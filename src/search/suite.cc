#include "search/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <list>
#include <set>
#include <string_view>

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

// May it have another?
bool Open(const Standing& standing, const SuiteBudget& budget) {
  if (standing.busy || standing.withheld) return false;
  if (!standing.last || standing.retried) return true;
  return standing.last->failure.empty() && !standing.last->ended && standing.last->attempts < budget.attempts;
}

// A problem that nobody has looked at yet has its share of what is left, so that each is looked at; later ones may have
// all of it.
double SecondsFor(const std::vector<Standing>& standings, const Standing& chosen, const SuiteBudget& budget,
                  double spent) {
  if (budget.seconds <= 0) return 0;
  const double left = budget.seconds - spent;
  if (chosen.last && !chosen.retried) return left;
  const auto waiting =
      std::count_if(standings.begin(), standings.end(), [](const Standing& one) { return !one.last || one.retried; });
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

// Where helpings are made. One at a time is made in the caller's thread, by Wait; several each in a thread of their
// own.
class Kitchen {
 public:
  struct Served {
    std::size_t index = 0;
    Portion portion;
    Result<Helping> helping;
  };
  Kitchen(const Serve& serve, int at_once) : serve_(serve), at_once_(at_once) {}

  bool Idle() const { return orders_.empty(); }
  int Room() const { return at_once_ - static_cast<int>(orders_.size()); }  // for so many more
  bool HasRoom() const { return Room() > 0; }
  // `problem` outlives it.
  void Begin(std::size_t index, const SuiteProblem& problem, const Portion& portion) {
    const auto policy = at_once_ == 1 ? std::launch::deferred : std::launch::async;
    orders_.push_back(
        {index, portion, std::async(policy, [this, &problem, portion] { return serve_(problem, portion); })});
  }
  // One that is done; blocks until there is one.
  Served Wait() {
    for (;;) {
      for (auto order = orders_.begin(); order != orders_.end(); ++order) {
        constexpr auto kLook = std::chrono::milliseconds(20);
        if (order->helping.wait_for(kLook) == std::future_status::timeout) continue;
        Served served{order->index, order->portion, order->helping.get()};
        orders_.erase(order);
        return served;
      }
    }
  }

 private:
  struct Order {
    std::size_t index = 0;
    Portion portion;
    std::future<Result<Helping>> helping;  // the destructor waits for its end
  };
  const Serve& serve_;
  const int at_once_;
  std::list<Order> orders_;
};

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
  return Headroom() * yield / std::max(1e-3, seconds / std::max(1, helpings));
}

std::optional<std::size_t> NextHelping(const std::vector<Standing>& standings, const SuiteBudget& budget) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    if (!Open(standings[i], budget)) continue;
    if (!standings[i].last || standings[i].retried) return i;
    if (!best || standings[i].GainASecond() > standings[*best].GainASecond()) best = i;
  }
  return best;
}

Result<SuiteOutcome> RunSuite(const std::vector<SuiteProblem>& problems, SuiteLedger& ledger, const SuiteBudget& budget,
                              const Serve& serve, const SuiteHooks& hooks) {
  SuiteOutcome outcome;
  for (const SuiteProblem& problem : problems) {
    Standing standing;
    standing.problem = problem;
    for (const Helping& helping : ledger.helpings()) {
      if (helping.problem == problem.key) Take(standing, helping);
    }
    outcome.seconds += standing.seconds;
    standing.retried = hooks.retry_failures && standing.failed();
    outcome.standings.push_back(std::move(standing));
  }
  const auto interrupted = [&] { return hooks.interrupt != nullptr && hooks.interrupt->load(); };
  Kitchen kitchen(serve, std::max(1, hooks.at_once));
  for (;;) {
    const std::optional<std::size_t> next = NextHelping(outcome.standings, budget);
    if (outcome.stop.empty() && next && interrupted()) outcome.stop = "interrupted";
    if (outcome.stop.empty() && budget.seconds > 0 && outcome.seconds >= budget.seconds && next)
      outcome.stop = fmt::format("the {:.0f} s are spent", budget.seconds);
    const Allowance left = Left(outcome.standings, budget);
    const std::string spent = WhyNone(left, budget);
    if (outcome.stop.empty() && next && kitchen.Idle()) outcome.stop = spent;
    if (outcome.stop.empty() && next && spent.empty() && kitchen.HasRoom()) {
      Standing& standing = outcome.standings[*next];
      Portion portion;
      portion.number = standing.helpings + 1;
      portion.last = standing.last && !standing.failed() && !standing.retried ? &*standing.last : nullptr;
      portion.attempts = std::min(budget.attempts, (portion.last ? portion.last->attempts : 0) + budget.helping);
      portion.seconds = SecondsFor(outcome.standings, standing, budget, outcome.seconds);
      if (budget.tokens > 0) {
        const std::int64_t share = std::max<std::int64_t>(1, left.tokens / kitchen.Room());
        portion.tokens = standing.most_tokens = (standing.last ? standing.last->tokens : 0) + share;
      }
      if (budget.dollars > 0) {
        const double share = left.dollars / kitchen.Room();
        portion.dollars = standing.most_dollars = (standing.last ? standing.last->dollars : 0) + share;
      }
      standing.busy = true;
      kitchen.Begin(*next, standing.problem, portion);
      continue;
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
    made.problem = standing.problem.key;
    made.number = portion.number;
    if (standing.last) {  // one that failed may not have got as far as to know
      made.tokens = std::max(made.tokens, standing.last->tokens);
      made.dollars = std::max(made.dollars, standing.last->dollars);
    }
    // Alone it might have had all that is left, and others would be left with no more. One of several had a share.
    standing.withheld = made.withheld;
    if (made.withheld && outcome.stop.empty() && hooks.at_once <= 1)
      outcome.stop = "the caps leave less than the next call of a language model may take";
    // A helping that made no attempt would make none the next time.
    if (made.failure.empty() && !made.withheld && made.attempts <= (portion.last ? portion.last->attempts : 0))
      made.ended = true;
    HONE_TRY(ledger.Add(made));
    outcome.seconds += made.seconds;
    Take(standing, made);
  }
  if (outcome.stop.empty()) outcome.stop = "every problem has had its attempts";
  outcome.interrupted = outcome.stop == "interrupted";
  outcome.complete = std::all_of(outcome.standings.begin(), outcome.standings.end(),
                                 [](const Standing& one) { return one.last.has_value(); });
  outcome.signature = SignatureOf(ledger.helpings(), problems);
  return outcome;
}

}  // namespace hone
