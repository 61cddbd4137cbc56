#include "search/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/interrupt.h"
#include "search/lane.h"
#include "search/search.h"

namespace hone {
namespace {

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// So many of what waits are foreseen: more than a machine compiles while one is timed.
constexpr std::size_t kForeseen = 64;

// A speed-up over the first of its baselines, if it has any.
bool HasHeadline(const Timing& timing) { return timing.against.empty() || timing.against.front().speedup.has_value(); }

// Passes an interrupt on to the evaluations in flight. Again and again, since one may come just before an evaluation
// begins.
class InterruptRelay {
 public:
  InterruptRelay(const std::atomic<bool>* interrupt, const std::vector<Evaluator*>& evaluators) {
    if (interrupt == nullptr) return;
    thread_ = std::thread([this, interrupt, evaluators] {
      std::unique_lock lock(mutex_);
      // 20 ms: far below the second within which a user expects the end, and no load.
      while (!wake_.wait_for(lock, std::chrono::milliseconds(20), [this] { return ended_; })) {
        if (!interrupt->load()) continue;
        for (Evaluator* evaluator : evaluators) evaluator->Interrupt();
      }
    });
  }
  InterruptRelay(const InterruptRelay&) = delete;
  InterruptRelay& operator=(const InterruptRelay&) = delete;
  ~InterruptRelay() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

class Search {
 public:
  Search(Store& store, RunRecord run, Proposer& proposer, const std::vector<Evaluator*>& evaluators,
         const SearchSettings& settings, const SearchHooks& hooks)
      : store_(store),
        proposer_(proposer),
        evaluators_(evaluators),
        settings_(settings),
        hooks_(hooks),
        stoppers_(MakeStoppers(settings.budget, hooks.interrupt)),
        random_(settings.run.seed) {
    outcome_.run = std::move(run);
    begun_s_ = Seconds();
    HONE_CHECK(static_cast<int>(evaluators.size()) == settings.run.lanes, "a search has an evaluator for each lane");
    for (Evaluator* evaluator : evaluators) {
      lanes_.push_back(
          std::make_unique<Lane>(*evaluator, evaluators.size() > 1 ? Lane::Where::kThread : Lane::Where::kHere));
    }
  }

  Result<SearchOutcome> Run() {
    strategy_ = HONE_TRY(FindStrategy(settings_.run.search))->make();
    HONE_TRY(LoadRecords());
    HONE_TRY(MarkRunning());
    const InterruptRelay relay(hooks_.interrupt, evaluators_);
    const double searched_s = Seconds();
    Result<void> ended = Loop();
    outcome_.search_s = Seconds() - searched_s;
    evaluators_.front()->Foresee({});
    if (ended && outcome_.stop.cause != Stop::Cause::kInterrupt) ended = Confirm();  // 7
    if (!ended) {
      outcome_.stop = {Stop::Cause::kInterrupt, ended.error().message};
      // The first failure is the one to tell; if the store cannot take the mark either, the run is found as killed.
      static_cast<void>(MarkEnded());
      return tl::unexpected<Error>(std::move(ended).error());
    }
    HONE_TRY(MarkEnded());
    return std::move(outcome_);
  }

 private:
  // An attempt that was chosen and is not backed up yet.
  struct Flight {
    Attempt attempt;
    AttemptRecord record;
    bool replayed = false;  // the store has its evaluation
  };

  Result<void> Loop() {
    HONE_TRY(ProposeFrom(0));
    for (;;) {
      std::optional<Attempt> next;
      if (flights_.size() < lanes_.size() && outcome_.stop.reason.empty() && !Stopped()) {  // 6
        next = HONE_TRY(Choose());                                                          // 1 and 2
        // The record of what was chosen when less was known to wait, or by another version.
        if (next || (Replaying() && flights_.empty())) {
          HONE_TRY(Begin(std::move(next)));
          continue;
        }
      }
      if (flights_.empty()) {
        if (outcome_.stop.reason.empty())
          outcome_.stop = {Stop::Cause::kNothingLeft, std::string(strategy_->Ending(tree()))};
        return {};
      }
      if (!HONE_TRY(End())) return {};
    }
  }

  // 1 select a node and one of its proposals, 2 asking the proposer for more where none waits. Nothing: none is left.
  Result<std::optional<Attempt>> Choose() {
    for (;;) {
      const std::optional<int> selected = strategy_->SelectNode(tree(), random_);
      if (!selected) return std::nullopt;
      const TreeNode& node = tree().node(*selected);
      HONE_CHECK(node.open(), "a strategy selected a node that has nothing to try");
      if (node.waiting.empty()) {
        HONE_TRY(ProposeFrom(*selected));
        continue;
      }
      const std::size_t index = strategy_->SelectProposal(node, random_);
      HONE_CHECK(index < node.waiting.size(), "a strategy selected a proposal that is not there");
      Attempt attempt;
      attempt.number = Begun() + 1;
      attempt.parent = *selected;
      attempt.proposal = node.waiting[index].proposal;
      return attempt;
    }
  }

  Result<void> ProposeFrom(int number) {
    const TreeNode& node = tree().node(number);
    outcome_.tree.AddProposals(number, number == 0 ? HONE_TRY(proposer_.Start(random_))
                                                   : HONE_TRY(proposer_.Next(node.attempt, node.rounds, random_)));
    return {};
  }

  // The store's next attempt, or else `chosen`, is in flight from here on.
  Result<void> Begin(std::optional<Attempt> chosen) {
    Flight flight;
    if (Replaying()) {
      flight.record = records_[static_cast<std::size_t>(Begun())];
      flight.replayed = true;
      flight.attempt = HONE_TRY(ReadAttempt(store_, flight.record));
      if (chosen && chosen->parent == flight.attempt.parent &&
          chosen->proposal.candidate.Identity() == flight.attempt.proposal.candidate.Identity()) {
        flight.attempt.proposal = std::move(chosen->proposal);
      } else {
        outcome_.diverged = true;
      }
    } else {
      flight.attempt = std::move(*chosen);
      flight.record = StartedRecord(outcome_.run.id, flight.attempt);
      HONE_TRY(store_.BeginAttempt(flight.record, flight.attempt.proposal.candidate.text));
      Tell(SearchProgress::Phase::kTrying, &flight.attempt, false);
    }
    const Candidate& candidate = flight.attempt.proposal.candidate;
    outcome_.tree.Take(candidate.Identity());
    if (!flight.replayed) {
      EvaluateRequest request = settings_.evaluate;
      request.best_us = tree().best_us();
      Foresee();
      LaneOf(flight).Begin(candidate, std::move(request));
    }
    flights_.push_back(std::move(flight));
    return {};
  }

  // 3, 4 and 5 of the attempt that is in flight for longest. False when the run was interrupted meanwhile: what came
  // back is then not a measurement, and what is in flight stays in the store as started.
  Result<bool> End() {
    if (flights_.front().replayed) {
      Flight flight = TakeFirst();
      ++outcome_.replayed;
      BackUp(std::move(flight.attempt));
      Tell(SearchProgress::Phase::kTried, &tree().nodes().back().attempt, true);
      return true;
    }
    const double began_s = Seconds();
    Result<Evaluation> evaluation = LaneOf(flights_.front()).End();  // 3
    slowest_s_ = std::max(slowest_s_, Seconds() - began_s);
    Flight flight = TakeFirst();
    if (Interrupted()) {
      static_cast<void>(Stopped());
      return false;
    }
    flight.attempt.evaluation = HONE_TRY(std::move(evaluation));
    Complete(flight.record, flight.attempt.evaluation);
    NoteBaselines(flight.attempt.evaluation, outcome_.run);
    const std::string log = flight.attempt.evaluation.verdict.evidence.log;
    BackUp(std::move(flight.attempt));                                         // 4
    HONE_TRY(store_.EndAttempt(std::move(flight.record), log, outcome_.run));  // 5
    Tell(SearchProgress::Phase::kTried, &tree().nodes().back().attempt, false);
    return true;
  }

  Flight TakeFirst() {
    Flight flight = std::move(flights_.front());
    flights_.pop_front();
    return flight;
  }

  // Of as many attempts in a row as there are lanes, each has another.
  Lane& LaneOf(const Flight& flight) {
    return *lanes_[static_cast<std::size_t>(flight.attempt.number) % lanes_.size()];
  }

  // What waits: at the fastest, at the start, then at the others, the latest first.
  void Foresee() {
    std::vector<Candidate> likely;
    const auto add = [&](int number) {
      for (const WaitingProposal& waiting : tree().node(number).waiting) {
        if (likely.size() < kForeseen) likely.push_back(waiting.proposal.candidate);
      }
    };
    if (tree().best() != 0) add(tree().best());
    add(0);
    for (int number = tree().attempts(); number > 0; --number) {
      if (number != tree().best()) add(number);
    }
    evaluators_.front()->Foresee(std::move(likely));
  }

  // 4 back up: the tree, then all who keep something of their own.
  void BackUp(Attempt attempt) {
    outcome_.tree.AddAttempt(std::move(attempt));
    outcome_.run.best_attempt = tree().best();
    strategy_->BackUp(tree());
    proposer_.Observe(tree().nodes().back().attempt);
  }

  // 6 ask the stoppers. What is in the store is a fact: nobody is asked before all of it is in the tree.
  bool Stopped() {
    if (Replaying()) return false;
    SearchState state = State();
    state.attempts = Begun();
    for (const std::unique_ptr<Stopper>& stopper : stoppers_) {
      if (std::optional<Stop> stop = stopper->Ask(state)) {
        outcome_.stop = std::move(*stop);
        return true;
      }
    }
    return false;
  }

  // 7 confirm the winner: the fastest few again, side by side, on fresh draws; the best confirmed time wins. Should all
  // of them fall, the next ones are asked until one stands. Where there is a limit of time, as many as it allows.
  Result<void> Confirm() {
    if (HONE_TRY(AlreadyConfirmed())) return {};
    const std::vector<int> ranked = tree().ranked();
    outcome_.run.best_attempt = 0;
    double best_us = 0;
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      if (i >= static_cast<std::size_t>(settings_.confirm_candidates) && best_us > 0) break;
      const Attempt& attempt = tree().node(ranked[i]).attempt;
      const double began_s = SessionSeconds();
      if (Interrupted()) break;
      Tell(SearchProgress::Phase::kConfirming, &attempt, false);
      Result<Evaluation> evaluation = evaluators_.front()->Evaluate(attempt.proposal.candidate, ConfirmRequest());
      if (Interrupted()) break;
      Confirmed confirmed{ranked[i], HONE_TRY(std::move(evaluation))};
      const Verdict& verdict = confirmed.evaluation.verdict;
      const double time_us =
          verdict.accepted() && confirmed.evaluation.timing ? confirmed.evaluation.timing->LikelyUs() : 0;
      if (time_us > 0 && (best_us == 0 || time_us < best_us)) {
        best_us = time_us;
        outcome_.run.best_attempt = ranked[i];
        NoteBaselines(confirmed.evaluation, outcome_.run);
      }
      HONE_TRY(store_.AddConfirmation(ConfirmedRecord(outcome_.run.id, ranked[i], confirmed.evaluation),
                                      verdict.evidence.log, outcome_.run));
      outcome_.confirmed.push_back(std::move(confirmed));
      const double took_s = SessionSeconds() - began_s;
      if (best_us > 0 && settings_.budget.seconds > 0 && SecondsLeft() < took_s) break;  // no time for another
    }
    const bool time_is_up = InterruptCause() == Interrupt::kTimeIsUp;
    if (Interrupted() && !(time_is_up && best_us > 0)) {
      // The fastest in search that was not refuted stays the answer; the confirmation is made anew on resume.
      outcome_.run.best_attempt = FastestUnrefuted();
      static_cast<void>(Stopped());
      return {};
    }
    outcome_.winner_confirmed = outcome_.run.best_attempt != 0;
    return {};
  }

  int FastestUnrefuted() const {
    for (const int number : tree().ranked()) {
      const auto refutes = [number](const Confirmed& one) {
        return one.attempt == number && !one.evaluation.verdict.accepted();
      };
      if (std::none_of(outcome_.confirmed.begin(), outcome_.confirmed.end(), refutes)) return number;
    }
    return 0;
  }

  // Timed for no longer than there is time; not so briefly that it would say nothing.
  EvaluateRequest ConfirmRequest() const {
    EvaluateRequest request = settings_.confirm;
    if (settings_.budget.seconds <= 0) return request;
    const double timing_s = TimingSeconds(request);
    const double share = (SecondsLeft() - (ConfirmSeconds() - timing_s)) / timing_s;
    request.timing_budget = std::chrono::milliseconds(
        static_cast<std::int64_t>(static_cast<double>(request.timing_budget.count()) * std::clamp(share, 0.2, 1.0)));
    return request;
  }

  // A run that was done before and that got no new attempt keeps its winner.
  Result<bool> AlreadyConfirmed() {
    if (!was_done_ || outcome_.replayed != tree().attempts()) return false;
    for (const ConfirmationRecord& record : HONE_TRY(store_.Confirmations(outcome_.run.id))) {
      // Of a run that was continued, the latest word on an attempt.
      std::erase_if(outcome_.confirmed, [&](const Confirmed& earlier) { return earlier.attempt == record.attempt; });
      outcome_.confirmed.push_back({record.attempt, HONE_TRY(ReadConfirmation(store_, record))});
    }
    // One that was disturbed is made again: the machine may be quiet now.
    for (const Confirmed& earlier : outcome_.confirmed) {
      if (earlier.attempt != recorded_best_ || !earlier.evaluation.timing) continue;
      if (earlier.evaluation.timing->disturbed.empty() && HasHeadline(*earlier.evaluation.timing)) continue;
      outcome_.confirmed.clear();
      return false;
    }
    outcome_.run.best_attempt = recorded_best_;
    outcome_.winner_confirmed = recorded_best_ != 0;
    return true;
  }

  Result<void> LoadRecords() {
    records_ = HONE_TRY(store_.Attempts(outcome_.run.id));
    while (!records_.empty() && !records_.back().ended()) records_.pop_back();  // they were in flight
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (records_[i].number == static_cast<int>(i) + 1 && records_[i].ended()) continue;
      return Fail(ErrorKind::kCorrupt,
                  fmt::format("attempt {} of run {} is missing in {}; start another run with --seed", i + 1,
                              outcome_.run.id, store_.path()));
    }
    for (const AttemptRecord& record : records_) {
      earlier_s_ += static_cast<double>(record.ended_ms - record.started_ms) / 1000;
    }
    was_done_ = outcome_.run.state == RunState::kDone;
    recorded_best_ = outcome_.run.best_attempt;
    return {};
  }

  Result<void> MarkRunning() {
    RunRecord running = outcome_.run;
    running.state = RunState::kRunning;
    running.stop_reason.clear();
    HONE_TRY(store_.UpdateRun(running));
    outcome_.run = std::move(running);
    return {};
  }

  Result<void> MarkEnded() {
    // A winner that there was no time to confirm is confirmed when the run goes on.
    const bool unconfirmed = Interrupted() && !outcome_.winner_confirmed && !tree().ranked().empty();
    outcome_.run.state =
        outcome_.stop.cause == Stop::Cause::kInterrupt || unconfirmed ? RunState::kInterrupted : RunState::kDone;
    outcome_.run.stop_reason = outcome_.stop.reason;
    return store_.UpdateRun(outcome_.run);
  }

  SearchState State() const {
    SearchState state;
    state.attempts = tree().attempts();
    state.elapsed_s = earlier_s_ + SessionSeconds();
    state.best_us = tree().best_us();
    state.bound_us = outcome_.run.bound_us;
    if (state.attempts > 0) {
      state.confirm_s = ConfirmSeconds();
      state.reserve_s = state.confirm_s * std::min(settings_.confirm_candidates, state.attempts);
    }
    return state;
  }

  static double TimingSeconds(const EvaluateRequest& request) {
    const std::size_t baselines = std::max<std::size_t>(1, request.baselines.size());
    return std::chrono::duration<double>(request.timing_budget).count() * static_cast<double>(baselines);
  }

  // What confirming one attempt takes, probably: fresh draws like the slowest attempt, more timing, and baselines that
  // have to get ready first.
  double ConfirmSeconds() const {
    constexpr double kReadyS = 4;
    const std::size_t timed = settings_.evaluate.baselines.size(), all = settings_.confirm.baselines.size();
    const double search_s = std::max(0.0, slowest_s_ - TimingSeconds(settings_.evaluate));
    return search_s + TimingSeconds(settings_.confirm) + kReadyS * static_cast<double>(all - std::min(timed, all));
  }

  double SessionSeconds() const { return hooks_.spent_s + Seconds() - begun_s_; }
  double SecondsLeft() const { return settings_.budget.seconds - SessionSeconds(); }

  void Tell(SearchProgress::Phase phase, const Attempt* attempt, bool replayed) const {
    if (!hooks_.progress) return;
    const SearchState state = State();
    SearchProgress progress;
    progress.phase = phase;
    progress.attempt = attempt->number;
    progress.attempts_at_most = settings_.budget.attempts;
    progress.best_us = state.best_us;
    progress.best_speedup = state.best_us > 0 ? PrimarySpeedup(tree().node(tree().best()).attempt.evaluation) : 0;
    progress.headroom = Headroom(state);
    progress.elapsed_s = state.elapsed_s;
    progress.eta_s = Eta(state);
    progress.replayed = replayed;
    progress.last = attempt;
    hooks_.progress(progress);
  }

  double Eta(const SearchState& state) const {
    if (state.attempts == 0) return settings_.budget.seconds > 0 ? settings_.budget.seconds : -1;
    const int left = std::max(0, settings_.budget.attempts - state.attempts);
    const double eta_s = left * state.elapsed_s / state.attempts + state.reserve_s;
    if (settings_.budget.seconds <= 0) return eta_s;
    return std::min(eta_s, std::max(0.0, settings_.budget.seconds - state.elapsed_s));
  }

  const Tree& tree() const { return outcome_.tree; }
  int Begun() const { return tree().attempts() + static_cast<int>(flights_.size()); }
  bool Replaying() const { return static_cast<std::size_t>(Begun()) < records_.size(); }
  bool Interrupted() const { return hooks_.interrupt != nullptr && hooks_.interrupt->load(); }
  double Seconds() const { return hooks_.seconds ? hooks_.seconds() : SteadySeconds(); }

  Store& store_;
  Proposer& proposer_;
  const std::vector<Evaluator*> evaluators_;  // one a lane
  const SearchSettings& settings_;
  const SearchHooks& hooks_;
  const std::vector<std::unique_ptr<Stopper>> stoppers_;
  std::unique_ptr<Strategy> strategy_;
  Random random_;                       // the only source of chance
  std::vector<AttemptRecord> records_;  // of earlier sessions
  bool was_done_ = false;
  int recorded_best_ = 0;
  double earlier_s_ = 0;  // of earlier sessions
  double begun_s_ = 0;
  double slowest_s_ = 0;  // attempt of this session
  SearchOutcome outcome_;
  std::deque<Flight> flights_;                // by number
  std::vector<std::unique_ptr<Lane>> lanes_;  // gone first: they are at work
};

}  // namespace

Result<SearchOutcome> RunSearch(Store& store, RunRecord run, Proposer& proposer,
                                const std::vector<Evaluator*>& evaluators, const SearchSettings& settings,
                                const SearchHooks& hooks) {
  return Search(store, std::move(run), proposer, evaluators, settings, hooks).Run();
}

Result<SearchOutcome> RunSearch(Store& store, RunRecord run, Proposer& proposer, Evaluator& evaluator,
                                const SearchSettings& settings, const SearchHooks& hooks) {
  return RunSearch(store, std::move(run), proposer, std::vector<Evaluator*>{&evaluator}, settings, hooks);
}

}  // namespace hone
