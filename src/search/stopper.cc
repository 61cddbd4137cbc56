#include "search/stopper.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/interrupt.h"

namespace hone {
namespace {

Stop TimeIsSpent(double seconds) { return {Stop::Cause::kBudget, fmt::format("the {:.0f} s are spent", seconds)}; }

class InterruptStopper final : public Stopper {
 public:
  InterruptStopper(const std::atomic<bool>* interrupt, double seconds) : interrupt_(interrupt), seconds_(seconds) {}
  std::optional<Stop> Ask(const SearchState&) const override {
    if (!interrupt_->load()) return std::nullopt;
    if (InterruptCause() == Interrupt::kTimeIsUp) return TimeIsSpent(seconds_);
    return Stop{Stop::Cause::kInterrupt,
                fmt::format("stopped by {}; the same command goes on",
                            InterruptCause() == Interrupt::kTerminated ? "SIGTERM" : "Ctrl-C")};
  }

 private:
  const std::atomic<bool>* interrupt_;
  double seconds_;
};

class HeadroomStopper final : public Stopper {
 public:
  explicit HeadroomStopper(double headroom) : headroom_(headroom) {}
  std::optional<Stop> Ask(const SearchState& state) const override {
    const double end_us = state.sure_us > 0 ? state.sure_us : state.bound_us;
    if (state.best_us <= 0 || end_us <= 0 || 1 - end_us / state.best_us > headroom_) return std::nullopt;
    return Stop{Stop::Cause::kLimit, fmt::format("the best is within {:.1f} % of the bound", 100 * headroom_)};
  }

 private:
  double headroom_;
};

class AttemptsStopper final : public Stopper {
 public:
  explicit AttemptsStopper(int attempts) : attempts_(attempts) {}
  std::optional<Stop> Ask(const SearchState& state) const override {
    if (state.attempts < attempts_) return std::nullopt;
    return Stop{Stop::Cause::kBudget, fmt::format("all {} attempts are made", attempts_)};
  }

 private:
  int attempts_;
};

class IdleStopper final : public Stopper {
 public:
  explicit IdleStopper(int idle) : idle_(idle) {}
  std::optional<Stop> Ask(const SearchState& state) const override {
    if (state.idle < idle_) return std::nullopt;
    return Stop{Stop::Cause::kBudget, fmt::format("{} attempts in a row brought no progress", idle_)};
  }

 private:
  int idle_;
};

class JoulesStopper final : public Stopper {
 public:
  explicit JoulesStopper(double joules) : joules_(joules) {}
  std::optional<Stop> Ask(const SearchState& state) const override {
    if (state.joules < joules_) return std::nullopt;
    return Stop{Stop::Cause::kBudget, fmt::format("the {} J are used", joules_)};
  }

 private:
  double joules_;
};

class TimeStopper final : public Stopper {
 public:
  explicit TimeStopper(double seconds) : seconds_(seconds) {}
  std::optional<Stop> Ask(const SearchState& state) const override {
    // The reserve is an estimate from few attempts at first: it may not eat the search.
    const double reserve_s = std::min(state.reserve_s, std::max(state.confirm_s, seconds_ / 4));
    if (state.elapsed_s + std::max(state.least_s, std::min(reserve_s, seconds_ / 2)) < seconds_) return std::nullopt;
    return TimeIsSpent(seconds_);
  }

 private:
  double seconds_;
};

}  // namespace

std::string_view Name(Stop::Cause cause) {
  switch (cause) {
    case Stop::Cause::kBudget: return "budget";
    case Stop::Cause::kLimit: return "limit";
    case Stop::Cause::kNothingLeft: return "nothing-left";
    case Stop::Cause::kInterrupt: return "interrupt";
    case Stop::Cause::kWithheld: return "withheld";
  }
  return "budget";
}

double Headroom(const SearchState& state) {
  if (state.best_us <= 0 || state.bound_us <= 0) return 1;
  return std::max(0.0, 1 - state.bound_us / state.best_us);
}

std::vector<std::unique_ptr<Stopper>> MakeStoppers(const Budget& budget, const std::atomic<bool>* interrupt) {
  std::vector<std::unique_ptr<Stopper>> stoppers;
  if (interrupt != nullptr) stoppers.push_back(std::make_unique<InterruptStopper>(interrupt, budget.seconds));
  if (budget.headroom >= 0) stoppers.push_back(std::make_unique<HeadroomStopper>(budget.headroom));
  stoppers.push_back(std::make_unique<AttemptsStopper>(budget.attempts));
  if (budget.idle > 0) stoppers.push_back(std::make_unique<IdleStopper>(budget.idle));
  if (budget.joules > 0) stoppers.push_back(std::make_unique<JoulesStopper>(budget.joules));
  if (budget.seconds > 0) stoppers.push_back(std::make_unique<TimeStopper>(budget.seconds));
  return stoppers;
}

}  // namespace hone
