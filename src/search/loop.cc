// One file because it is one loop, whose steps share all of their state; they stand in the order of loop.h's numbers.
#include "search/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/interrupt.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "search/ahead.h"
#include "search/asker.h"
#include "search/earlier.h"
#include "search/errand.h"
#include "search/journal.h"
#include "search/search.h"

namespace hone {
namespace {

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool IsOneOf(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// So many of what waits are foreseen: more than a machine compiles while one is timed.
constexpr std::size_t kForeseen = 64;

// How often the stoppers are asked while the search waits for a proposer: far below the seconds that users count in.
constexpr std::chrono::milliseconds kLook{50};

// Passes an interrupt on to what is in work. Again and again, since one may come just before some work begins.
class InterruptRelay {
 public:
  InterruptRelay(const std::atomic<bool>* interrupt, const std::vector<Evaluator*>& evaluators, Proposer& proposer) {
    if (interrupt == nullptr) return;
    thread_ = std::thread([this, interrupt, evaluators, &proposer] {
      const MutexLock lock(mutex_);
      while (!ended_) {
        // 20 ms: far below the second within which a user expects the end, and no load.
        const auto next = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        while (!ended_ && wake_.WaitUntil(mutex_, next)) continue;
        if (ended_ || !interrupt->load()) continue;
        for (Evaluator* evaluator : evaluators) evaluator->Interrupt();
        proposer.Interrupt();
      }
    });
  }
  InterruptRelay(const InterruptRelay&) = delete;
  InterruptRelay& operator=(const InterruptRelay&) = delete;
  ~InterruptRelay() {
    if (!thread_.joinable()) return;
    {
      const MutexLock lock(mutex_);
      ended_ = true;
    }
    wake_.NotifyOne();
    thread_.join();
  }

 private:
  Mutex mutex_;
  Condition wake_;
  bool ended_ HONE_GUARDED_BY(mutex_) = false;
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
        random_(settings.run.seed),
        earlier_(store),
        journal_(store),
        outcome_{.run = std::move(run)},
        asker_(store, outcome_.tree, proposer, settings.run.seed, bell_) {
    begun_s_ = Seconds();
    if (settings.run.objective.IsTime())
      outcome_.tree.SetBound(settings.sure_us > 0 ? settings.sure_us : outcome_.run.bound_us);
    HONE_CHECK(static_cast<int>(evaluators.size()) == settings.run.lanes, "a search has an evaluator for each lane");
    LookWhoIsReady();
    // Where one thing alone is in work, it is in work here.
    const bool threads = evaluators.size() > 1 || proposer.pace() == Pace::kSlow;
    for (Evaluator* evaluator : evaluators) {
      const bool energy = settings.run.objective.NeedsEnergy() || settings.budget.joules > 0;
      HONE_CHECK(!energy || evaluator->WhyNoEnergy().empty(), "a search by energy that its evaluators do not measure");
      lanes_.push_back(std::make_unique<Lane>(bell_, threads ? Lane::Where::kThread : Lane::Where::kHere,
                                              [evaluator] { evaluator->Interrupt(); }));
    }
  }

  Result<SearchOutcome> Run() {
    const Chosen<StrategyRow> chosen = HONE_TRY(ChooseStrategy(settings_.run.search));
    strategy_ = chosen.row->make(chosen.parameters);
    if (settings_.run.memory) strategy_->Recall(HONE_TRY(ParseRecalled(outcome_.run.recalled)).experience);
    HONE_TRY(LoadRecords());
    HONE_TRY(MarkRunning());
    HONE_TRY(TakeUp());
    const InterruptRelay relay(hooks_.interrupt, evaluators_, proposer_);
    const double searched_s = Seconds(), steady_s = SteadySeconds();
    Result<void> ended = Loop();
    Result<void> cancelled = asker_.Cancel(Now());
    outcome_.tree.Unask();
    if (ended) ended = std::move(cancelled);
    outcome_.search_s = Seconds() - searched_s;
    outcome_.own_s = SteadySeconds() - steady_s - bell_.waited_s();
    evaluators_.front()->Foresee({});
    if (settings_.ask_ahead > 0) {
      outcome_.run.best_attempt = recorded_best_;
      outcome_.stop = {Interrupted() ? Stop::Cause::kInterrupt : Stop::Cause::kBudget,
                       fmt::format("{} proposals wait to be tried", Pending(tree()))};
    } else if (ended && outcome_.stop.cause != Stop::Cause::kInterrupt) {
      ended = Confirm();  // 7
    }
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
  using Lane = Errand<Evaluation>;

  // An attempt that was chosen and is not backed up yet.
  struct Flight {
    Attempt attempt;
    AttemptRecord record;
    CandidateKey key;
    std::string log_blob;   // once it has ended, where its evidence has a log
    bool replayed = false;  // the store has its evaluation
    double began_s = 0;     // else
  };

  // --- What the journal has of earlier sessions, in place of deciding it again
  Result<void> TakeUp() {
    std::optional<int> asked;
    int mate = 0;
    while (std::optional<Journal::Piece> piece = HONE_TRY(journal_.Next())) {
      for (JournalEvent& event : piece->events) {
        if (auto* one = std::get_if<JournalAsked>(&event)) {
          outcome_.tree.Ask(one->parent, one->mate);
          asked = one->parent;
          mate = one->mate;
        } else if (auto* answer = std::get_if<JournalAnswered>(&event)) {
          outcome_.tree.AddWaiting(answer->parent, std::move(answer->fresh), answer->none, answer->mate);
          asked.reset();
        } else if (auto* dropped = std::get_if<JournalDropped>(&event)) {
          outcome_.tree.Drop(dropped->candidate);
          ++outcome_.dropped;
        } else if (auto* begun = std::get_if<JournalBegun>(&event)) {
          Flight flight = HONE_TRY(FlightOf(std::move(*begun)));
          outcome_.tree.Begin(flight.attempt.parent, flight.key);
          flights_.push_back(std::move(flight));
        } else {
          auto& ended = std::get<JournalEnded>(event);
          if (flights_.empty()) return DamagedJournal();
          flights_.front().attempt.evaluation = std::move(ended.evaluation);
          flights_.front().attempt.insight = std::move(ended.insight);
          if (!ended.log_blob.empty()) {
            flights_.front().attempt.evaluation.verdict.evidence->log = HONE_TRY(store_.Blob(ended.log_blob));
          }
          HONE_TRY(End(Journaled::kYes));
          continue;  // which is an event of its own
        }
        ++events_;
      }
      if (events_ != piece->place.events || tree().attempts() != piece->place.attempts) return DamagedJournal();
      random_ = Random(piece->place.random);
      outcome_.diverged |= piece->place.diverged;
      outcome_.joules = piece->place.joules;  // few of its evaluations say so
      taken_up_ = piece->place;
    }
    earlier_.GoOnAfter(taken_up_.attempts);
    // Where some of these answers were not asked for yet, all are looked at.
    const bool all_taken = taken_up_.answered == taken_up_.rounds;
    HONE_TRY(asker_.Load(outcome_.run.id, all_taken ? taken_up_.rounds : 0));
    if (asked) asker_.Ask(*asked, mate);
    return {};
  }

  Result<Flight> FlightOf(JournalBegun begun) {
    Flight flight{.replayed = true};
    Attempt& attempt = flight.attempt;
    if (begun.attempt) {
      attempt = std::move(*begun.attempt);
      flight.key = CandidateKey::Of(attempt.proposal.candidate);
    } else {
      if (begun.parent > tree().attempts()) return DamagedJournal();
      const TreeNode& parent = tree().node(begun.parent);
      if (begun.waiting >= parent.waiting.size()) return DamagedJournal();
      const WaitingProposal& chosen = parent.waiting[begun.waiting];
      attempt = {.parent = begun.parent, .mate = chosen.mate, .round = chosen.round};
      attempt.proposal = parent.Offered(chosen);
      attempt.proposal.doubt = std::move(begun.doubt);
      flight.key = chosen.candidate();
    }
    attempt.number = Begun() + 1;
    return flight;
  }

  tl::unexpected<Error> DamagedJournal() const {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("the journal of run {} in {} is damaged; `DELETE FROM journal` mends it: its rows are kept",
                            outcome_.run.id, store_.path()));
  }

  // What was in flight where the journal ends.
  Result<void> GoOnWithFlights() {
    std::deque<Flight> begun = std::exchange(flights_, {});
    for (Flight& one : begun) {
      const CandidateKey key = one.key;
      Flight flight = HONE_TRY(Prepare(std::move(one.attempt), key));
      if (!(flight.key == key)) return DamagedJournal();
      Launch(std::move(flight));
    }
    return {};
  }

  // A piece of the journal, now and then. A session that only asks does not come to what it would write. How what is in
  // flight ends once a session ends follows from its budget, and a longer one would have begun more before.
  Result<void> WriteJournal() {
    if (settings_.ask_ahead > 0 || !outcome_.stop.reason.empty()) return {};
    if (tree().attempts() - journal_.written() < settings_.journal_every) return {};
    return journal_.Write({.attempts = tree().attempts(),
                           .events = events_,
                           .joules = outcome_.joules,
                           .diverged = outcome_.diverged,
                           .random = random_.state()});
  }

  Result<void> Loop() {
    if (taken_up_.attempts > 0) {
      outcome_.started = settings_.start.has_value();
      auto gone_on = GoOnWithFlights();
      if (!gone_on && Interrupted() && Stopped()) return {};
      HONE_TRY(std::move(gone_on));
    } else if (!HONE_TRY(BeginRun())) {
      return {};
    }
    for (;;) {
      HONE_TRY(WriteJournal());
      if (AsksAhead() && asker_.asking()) {
        if (!HONE_TRY(AwaitAnswer())) return {};
        continue;
      }
      if (HONE_TRY(TakeAnswer(false))) continue;
      // Whoever answers at once has answered before anything else is decided, so nothing is decided without.
      const bool prompt = proposer_.pace() == Pace::kPrompt;
      if (prompt && !asker_.withheld().empty() && !Replaying() && outcome_.stop.reason.empty())
        outcome_.stop = {Stop::Cause::kWithheld, asker_.withheld()};
      if (flights_.size() < lanes_.size() && outcome_.stop.reason.empty() && !Stopped()) {  // 6
        auto chosen = Choose();                                                             // 1 and 2
        if (!chosen && Interrupted() && Stopped()) continue;                                // before it began
        if (HONE_TRY(std::move(chosen))) continue;
      }
      if (flights_.empty() && !asker_.withheld().empty() && outcome_.stop.reason.empty())
        outcome_.stop = {Stop::Cause::kWithheld, asker_.withheld()};
      if (AsksAhead() && (would_try_ || flights_.empty())) return AskAhead();
      if (flights_.empty() && (!asker_.asking() || !outcome_.stop.reason.empty())) {
        if (outcome_.stop.reason.empty())
          outcome_.stop = {Stop::Cause::kNothingLeft, std::string(strategy_->Ending(tree()))};
        return {};
      }
      if (!HONE_TRY(Await())) return {};
    }
  }

  // What comes before anything is chosen. False when the run ends with it.
  Result<bool> BeginRun() {
    if (settings_.start) {
      if (settings_.ask_ahead > 0 && !Replaying()) return false;  // what is proposed follows from what comes of it
      if (!HONE_TRY(TryStart())) return false;
    }
    const bool stands = settings_.start && !tree().ranked().empty();
    Ask(stands ? 1 : 0);
    // Beginnings that cost nothing may compete with the start; a slow proposer thinks about them when the strategy says
    // that it is worth its while.
    if (stands && proposer_.pace() == Pace::kPrompt && HONE_TRY(TakeAnswer(false))) Ask(0);
    return true;
  }

  // The kernel to start from, alone, since all else follows from what comes of it. False when the run was interrupted
  // meanwhile.
  Result<bool> TryStart() {
    outcome_.started = true;
    Attempt attempt{.number = 1};
    attempt.proposal = *settings_.start;
    const CandidateKey key = CandidateKey::Of(attempt.proposal.candidate);
    auto begun = Begin(std::move(attempt), key);
    if (!begun && Interrupted() && Stopped()) return false;
    HONE_TRY(std::move(begun));
    return End();
  }

  // 1 select a node and begin one of its proposals, 2 or ask the proposer for more where none waits. False when nothing
  // is worth it, or not yet.
  Result<bool> Choose() {
    // What was drawn for nothing is drawn again: how often we are here without consequence is chance.
    Random random = random_;
    if (!asker_.asking()) {
      if (const auto pair = strategy_->SelectPair(tree(), random)) {
        random_ = random;
        Ask(pair->parent, pair->mate);
        return true;
      }
    }
    const std::optional<int> selected = strategy_->SelectNode(tree(), random);
    if (!selected) {
      // The record of what was chosen when less was known to wait, or by another version.
      if (!Replaying() || !flights_.empty()) return false;
      HONE_TRY(Begin(std::nullopt, {}));
      return true;
    }
    const TreeNode& node = tree().node(*selected);
    HONE_CHECK(tree().Open(node), "a strategy selected a node that has nothing to try");
    if (node.waiting.empty()) {
      random_ = random;
      Ask(*selected);
      return true;
    }
    would_try_ = AsksAhead();
    if (would_try_) return false;
    const std::size_t index = strategy_->SelectProposal(node, random);
    HONE_CHECK(index < node.waiting.size(), "a strategy selected a proposal that is not there");
    random_ = random;
    Attempt attempt;
    attempt.number = Begun() + 1;
    attempt.parent = *selected;
    const WaitingProposal& chosen = node.waiting[index];
    attempt.round = chosen.round;
    attempt.mate = chosen.mate;
    attempt.proposal = node.Offered(chosen);
    const CandidateKey key = chosen.candidate();
    if (!HONE_TRY(Dropped(attempt, key))) HONE_TRY(Begin(std::move(attempt), key));
    return true;
  }

  // Whether what was chosen is dropped instead of tried, since its build speaks against it. In the store before
  // anything else is chosen; a run that goes on drops it at the same point.
  Result<bool> Dropped(Attempt& chosen, const CandidateKey& key) {
    Proposal& proposal = chosen.proposal;
    // It may have been chosen before, by a session that ended before the journal had it: its row knows.
    if (chosen.round > 0 && chosen.round <= taken_up_.rounds) HONE_TRY(ReadDoubt(chosen));
    if (!proposal.dropped) {
      if (!hooks_.doubt || !proposal.doubt.empty()) return false;  // the second: it is tried all the same
      if (Replaying() && HONE_TRY(earlier_.NextIs(chosen.parent, key))) return false;
      const std::string why = hooks_.doubt(proposal.candidate, tree().node(chosen.parent).attempt);
      if (why.empty()) return false;
      proposal.doubt = std::string(kBuildDoubt) + why;
      // By the candidate, not by what was drawn before: whether something is doubted changes no other decision.
      proposal.dropped = Random(Random::Mix(settings_.run.seed) ^ Random::Mix(key.high)).Uniform() >= kDoubtedAndTried;
      HONE_TRY(store_.SetDoubt(outcome_.run.id, chosen.round, proposal.key, proposal.doubt, proposal.dropped));
      if (!proposal.dropped) return false;
    }
    outcome_.tree.Drop(key);
    ++outcome_.dropped;
    ++events_;
    journal_.Dropped(key);
    return true;
  }

  Result<void> ReadDoubt(Attempt& chosen) {
    for (ProposalRecord& row : HONE_TRY(store_.Proposals(outcome_.run.id, chosen.round))) {
      if (row.key != chosen.proposal.key || !row.doubt.starts_with(kBuildDoubt)) continue;
      chosen.proposal.doubt = std::move(row.doubt);
      chosen.proposal.dropped = row.dropped;
    }
    return {};
  }

  void Ask(int number, int mate = 0) {
    outcome_.tree.Ask(number, mate);
    asker_.Ask(number, mate);
    if (ahead_) return;
    ++events_;
    journal_.Asked(number, mate);
  }

  // What the search asks is answered, and now it would try something. Where waiting for an answer takes long, ask what
  // it may come to ask.
  Result<void> AskAhead() {
    while (!flights_.empty()) HONE_TRY(End());
    ahead_ = true;
    while (outcome_.proposed < settings_.ask_ahead && proposer_.pace() == Pace::kSlow) {
      const std::optional<int> parent = NextToAsk(tree());
      if (!parent) return {};
      Ask(*parent);
      if (!HONE_TRY(AwaitAnswer())) return {};
    }
    return {};
  }

  // False when there is none in this session.
  Result<bool> AwaitAnswer() {
    for (;;) {
      const int heard = bell_.rings();
      if (HONE_TRY(TakeAnswer(true))) return true;
      if (!asker_.withheld().empty() || Interrupted()) return false;
      if (!asker_.Done()) bell_.Wait(heard, kLook);
    }
  }

  // 2 the proposer's answer, if it is there. False when it is not.
  Result<bool> TakeAnswer(bool idle) {
    const bool thinking = asker_.thinking();
    Result<std::optional<Asker::Answer>> taken = asker_.Take(Now(idle));
    if (!thinking && asker_.thinking())
      Tell(SearchProgress::Phase::kAsking, &tree().node(*tree().asked()).attempt, false);
    if (!taken && Interrupted() && Stopped()) return false;
    std::optional<Asker::Answer> answer = HONE_TRY(std::move(taken));
    if (!answer) return false;
    if (!ahead_) ++events_;
    if (answer->round > asker_.recorded()) {
      outcome_.proposed += static_cast<int>(answer->proposals.size());
      if (proposer_.pace() == Pace::kSlow) HONE_TRY(store_.UpdateRun(Charged()));  // it may have thought for minutes
    }
    if (hooks_.note) std::ranges::for_each(answer->notes, hooks_.note);
    outcome_.tree.AddProposals(answer->parent, answer->round, answer->proposals, answer->mate);
    if (!ahead_) journal_.Answered(tree().node(answer->parent), answer->round, answer->mate, answer->proposals.empty());
    return true;
  }

  // 3 until the attempt that is in flight for longest has ended, or the proposer has answered. False when the run was
  // interrupted meanwhile.
  Result<bool> Await() {
    if (!flights_.empty() && (flights_.front().replayed || !asker_.thinking())) return End();
    if (!asker_.thinking()) {  // an answer of the record whose time has not come, and nothing is left to make it come
      HONE_TRY(TakeAnswer(true));
      return true;
    }
    const int heard = bell_.rings();
    if (!flights_.empty() && LaneOf(flights_.front()).Done()) return End();
    if (asker_.Done()) return true;
    Rest();
    bell_.Wait(heard, kLook);
    if (flights_.empty() && outcome_.stop.reason.empty()) static_cast<void>(Stopped());
    return true;
  }

  // Whoever thinks for long keeps nobody from a device.
  void Rest() {
    if (!flights_.empty()) return;
    const Bell::Waiting waiting(bell_);
    for (Evaluator* evaluator : evaluators_) evaluator->Rest();
  }

  // The store's next attempt, or else `chosen`, is in flight from here on. `key`: of what was chosen.
  Result<void> Begin(std::optional<Attempt> chosen, CandidateKey key) {
    Flight flight = HONE_TRY(Prepare(std::move(chosen), key));
    journal_.Begun(tree().node(flight.attempt.parent), flight.attempt, flight.key);
    outcome_.tree.Begin(flight.attempt.parent, flight.key);
    ++events_;
    Launch(std::move(flight));
    return {};
  }

  // That attempt, with what the store has of it, or begun there.
  Result<Flight> Prepare(std::optional<Attempt> chosen, CandidateKey key) {
    Flight flight;
    if (Replaying()) {
      EarlierAttempts::One one = HONE_TRY(earlier_.Next());
      flight.replayed = true;
      if (chosen && chosen->parent == one.record.parent && key == CandidateKey::OfIdentity(one.record.identity)) {
        flight.attempt = std::move(*chosen);
      } else {
        flight.attempt = HONE_TRY(ReadTried(store_, one.record));
        key = CandidateKey::Of(flight.attempt.proposal.candidate);
        outcome_.diverged = true;
      }
      flight.attempt.evaluation = std::move(one.evaluation);
      flight.attempt.insight = std::move(one.insight);
      flight.log_blob = std::move(one.record.log_blob);
    } else {
      flight.attempt = std::move(*chosen);
      if (!ready_) {  // whoever waits for a device has compiled by then what comes first
        Foresee();
        const Bell::Waiting waiting(bell_);
        HONE_TRY(evaluators_.front()->GetReady(flight.attempt.proposal.candidate));
        ready_ = true;
      }
      flight.record = StartedRecord(outcome_.run.id, flight.attempt);
      HONE_TRY(store_.BeginAttempt(flight.record, flight.attempt.proposal.candidate.text));
      Tell(SearchProgress::Phase::kTrying, &flight.attempt, false);
    }
    flight.key = key;
    return flight;
  }

  void Launch(Flight flight) {
    if (!flight.replayed) {
      EvaluateRequest request = settings_.evaluate;
      request.best_us = tree().best_us();
      request.first_look = settings_.confirm_candidates > 0;
      Foresee();
      flight.began_s = Seconds();
      Evaluator& evaluator = *evaluators_[LaneNumber(flight)];
      LaneOf(flight).Begin([&evaluator, candidate = flight.attempt.proposal.candidate, request] {
        return evaluator.Evaluate(candidate, request);
      });
    }
    flights_.push_back(std::move(flight));
  }

  // 3, 4 and 5 of the attempt that is in flight for longest. False when the run was interrupted meanwhile: what came
  // back is then not a measurement, and what is in flight stays in the store as started.
  // `journaled`: the journal has its end.
  enum class Journaled : std::uint8_t { kNo, kYes };
  Result<bool> End(Journaled journaled = Journaled::kNo) {
    if (flights_.front().replayed) {
      Flight flight = TakeFirst();
      ++outcome_.replayed;
      BackUp(std::move(flight.attempt));
      if (journaled == Journaled::kNo) journal_.Ended(tree().nodes().back().attempt, flight.log_blob);
      Tell(SearchProgress::Phase::kTried, &tree().nodes().back().attempt, true);
      return true;
    }
    Result<Evaluation> evaluation = LaneOf(flights_.front()).End();  // 3
    Flight flight = TakeFirst();
    double& slowest_s = ended_ < lanes_.size() ? first_s_ : slowest_s_;
    slowest_s = std::max(slowest_s, Seconds() - flight.began_s);
    ++ended_;
    if (Interrupted()) {
      static_cast<void>(Stopped());
      return false;
    }
    flight.attempt.evaluation = HONE_TRY(std::move(evaluation));
    Look(flight.attempt);
    Complete(flight.record, flight.attempt.evaluation, flight.attempt.insight);
    if (!flight.attempt.proposal.rule.empty())
      flight.record.brought = Brought(flight.attempt, tree().node(flight.attempt.parent).attempt);
    NoteBaselines(flight.attempt.evaluation, outcome_.run);
    const std::string log = flight.attempt.evaluation.verdict.evidence->log;
    BackUp(std::move(flight.attempt));                                      // 4
    HONE_TRY(store_.EndAttempt(std::move(flight.record), log, Charged()));  // 5
    journal_.Ended(tree().nodes().back().attempt, log.empty() ? "" : Sha256(log));
    Tell(SearchProgress::Phase::kTried, &tree().nodes().back().attempt, false);
    return true;
  }

  void Look(Attempt& attempt) {
    if (!hooks_.look || attempt.time_us() <= 0) return;
    const double began_s = Seconds();
    attempt.insight = hooks_.look(attempt);
    outcome_.look_s += Seconds() - began_s;
  }

  Flight TakeFirst() {
    Flight flight = std::move(flights_.front());
    flights_.pop_front();
    return flight;
  }

  // Of as many attempts in a row as there are lanes, each has another.
  std::size_t LaneNumber(const Flight& flight) const {
    return static_cast<std::size_t>(flight.attempt.number) % lanes_.size();
  }
  Lane& LaneOf(const Flight& flight) { return *lanes_[LaneNumber(flight)]; }

  // What waits: at the fastest, at the start, then at the others, the latest first.
  void Foresee() {
    std::vector<Candidate> likely;
    const auto add = [&](int number) {
      const TreeNode& node = tree().node(number);
      for (const WaitingProposal& waiting : node.waiting) {
        if (likely.size() < kForeseen) likely.push_back(node.Offered(waiting).candidate);
      }
    };
    if (tree().best() != 0) add(tree().best());
    add(0);
    for (int number = tree().attempts(); number > 0 && likely.size() < kForeseen; --number) {
      if (number != tree().best()) add(number);
    }
    evaluators_.front()->Foresee(std::move(likely));
  }

  // 4 back up: the tree, then the strategy, which may keep something of its own.
  void BackUp(Attempt attempt) {
    if (attempt.number > outcome_.replayed) outcome_.evaluated_s += attempt.evaluation.how->stages.total_ms / 1000;
    outcome_.joules += attempt.evaluation.how->joules.value_or(0);
    // It is in the store, and nobody goes by it; of what may win, people are told.
    if (attempt.time_us() <= 0 || (tree().best() != 0 && attempt.time_us() >= tree().best_us()))
      attempt.evaluation.how.Clear();
    outcome_.tree.AddAttempt(std::move(attempt));
    ++events_;
    outcome_.run.best_attempt = tree().best();
    progress_.Note(tree().attempts(), tree().Value(tree().attempts()));
    strategy_->BackUp(tree());
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
    if (settings_.confirm_candidates == 0) return {};
    LookWhoIsReady();
    if (HONE_TRY(AlreadyConfirmed()) || (MoreFollows() && HONE_TRY(ConfirmFastest()))) return ConfirmBesideRest();
    HONE_TRY(LoadKept());
    outcome_.run.best_attempt = 0;
    auto finalists = Finalists(tree(), settings_.run.objective, static_cast<std::size_t>(settings_.confirm_candidates),
                               *evaluators_.front());
    if (finalists && StartHasTime() && std::find(finalists->begin(), finalists->end(), 1) == finalists->end())
      finalists->push_back(1);  // a speed-up over it is one of the same minutes
    if (finalists || !Interrupted()) HONE_TRY(ConfirmThem(HONE_TRY(std::move(finalists))));
    RecallKept();
    const bool time_is_up = InterruptCause() == Interrupt::kTimeIsUp;
    if (Interrupted() && !(time_is_up && outcome_.run.best_attempt != 0)) {
      // The fastest in search that was not refuted stays the answer; the confirmation is made anew on resume.
      if (kept_.empty() || outcome_.run.best_attempt == 0) outcome_.run.best_attempt = FastestUnrefuted();
      static_cast<void>(Stopped());
      return {};
    }
    outcome_.winner_confirmed = outcome_.run.best_attempt != 0;
    return ConfirmBesideRest();
  }

  // 7 once more, beside the baselines that were not ready: those that take long come after the others. A winner that
  // falls here leaves its place to the next of the confirmed. Where the time ends, what was confirmed before stands.
  Result<void> ConfirmBesideRest() {
    std::pair<int, std::vector<std::string>> asked;
    while (outcome_.winner_confirmed) {
      const int winner = outcome_.run.best_attempt;
      const auto word = std::find_if(outcome_.confirmed.rbegin(), outcome_.confirmed.rend(),
                                     [winner](const Confirmed& one) { return one.attempt == winner; });
      if (word == outcome_.confirmed.rend() || !word->evaluation.timing) return {};
      const Confirmed before = *word;
      outcome_.unmeasured = Unmeasured(before.evaluation, settings_.confirm.baselines);
      EvaluateRequest request = settings_.confirm;
      request.baselines = NextBeside(outcome_.unmeasured);
      if (asked == std::pair(winner, request.baselines)) outcome_.unmeasured.clear();  // nobody says what is wrong
      if (outcome_.unmeasured.empty()) return {};
      outcome_.why_unmeasured = "no time was left";
      asked = {winner, request.baselines};
      Brief(request);
      if (settings_.budget.seconds > 0 && SecondsLeft() < ConfirmSeconds(request)) return {};
      if (!HONE_TRY(ConfirmOne(winner, request))) {
        if (InterruptCause() != Interrupt::kTimeIsUp) static_cast<void>(Stopped());
        return {};
      }
      Confirmed& fresh = outcome_.confirmed.back();
      const bool accepted = fresh.evaluation.verdict.accepted();
      if (accepted && !IsUndisturbed(fresh.evaluation) && IsUndisturbed(before.evaluation)) {
        outcome_.confirmed.pop_back();
        outcome_.why_unmeasured = "the machine was not quiet";
        return {};
      }
      if (accepted && fresh.evaluation.timing) fresh.evaluation.timing->energy = before.evaluation.timing->energy;
      if (accepted) NoteBaselines(fresh.evaluation, outcome_.run);
      ready_baselines_.insert(ready_baselines_.end(), request.baselines.begin(), request.baselines.end());
      if (!accepted) outcome_.run.best_attempt = 0;
      outcome_.confirmed = LastWords(std::move(outcome_.confirmed));
      if (!accepted) Crown(settings_.run.objective);
      HONE_TRY(RecordConfirmed(outcome_.confirmed.back()));
      outcome_.winner_confirmed = outcome_.run.best_attempt != 0;
    }
    outcome_.unmeasured.clear();
    if (outcome_.run.best_attempt == 0) outcome_.run.best_attempt = FastestUnrefuted();
    left_open_ |= outcome_.run.best_attempt != 0;
    return {};
  }

  // What the winner is to be measured beside next, of what it was not: all at once where there is time for that.
  std::vector<std::string> NextBeside(const std::vector<std::string>& unmeasured) const {
    const auto slow = [&](const std::string& name) { return IsOneOf(name, settings_.slow_baselines); };
    const bool wait = settings_.budget.seconds > 0 && !std::ranges::all_of(unmeasured, slow);
    std::vector<std::string> names = settings_.confirm.baselines;
    std::erase_if(names, [&](const std::string& name) { return wait && slow(name) && IsOneOf(name, unmeasured); });
    return names;
  }

  // What comes first: nobody waits for these.
  std::vector<std::string> ReadyBaselines() const {
    std::vector<std::string> names = settings_.confirm.baselines;
    if (settings_.budget.seconds > 0) std::erase_if(names, [&](const std::string& name) { return !IsReady(name); });
    return names;
  }
  bool IsReady(const std::string& baseline) const { return IsOneOf(baseline, ready_baselines_); }
  // Nothing is in work.
  void LookWhoIsReady() {
    ready_baselines_ = settings_.evaluate.baselines;
    for (const std::string& name : settings_.confirm.baselines) {
      if (evaluators_.front()->Knows(name)) ready_baselines_.push_back(name);
    }
  }

  // A session that ends for another reason than its attempts may be the last all the same.
  bool MoreFollows() const { return settings_.more_follows && tree().attempts() >= settings_.budget.attempts; }

  // 7 of a session that others follow: what earlier ones found out stands, and the fastest that is not refuted joins
  // them. False where that takes more than its time.
  Result<bool> ConfirmFastest() {
    outcome_.confirmed = HONE_TRY(ConfirmedEarlier());
    outcome_.run.best_attempt = 0;
    int asked = 0, fastest = FastestUnrefuted();
    while (fastest != 0 && fastest != asked && !Stands(fastest)) {
      if (settings_.run.objective.NeedsEnergy()) {
        outcome_.confirmed.clear();
        return false;
      }
      asked = fastest;
      if (!HONE_TRY(ConfirmOne(fastest, ConfirmRequest()))) break;
      Crown(settings_.run.objective);
      HONE_TRY(RecordConfirmed(outcome_.confirmed.back()));
      outcome_.confirmed = LastWords(std::move(outcome_.confirmed));
      fastest = FastestUnrefuted();
    }
    left_open_ = true;
    if (Interrupted() && !Stands(fastest)) {
      outcome_.run.best_attempt = fastest;  // whoever goes on confirms it
      static_cast<void>(Stopped());
      return true;
    }
    Crown(settings_.run.objective);
    outcome_.winner_confirmed = outcome_.run.best_attempt != 0;
    return true;
  }

  // Confirmed with all that the objective asks for, while nothing disturbed it.
  bool Stands(int attempt) const {
    return std::ranges::any_of(outcome_.confirmed, [&](const Confirmed& one) {
      return one.attempt == attempt && one.evaluation.verdict.accepted() && IsWhole(one.evaluation);
    });
  }
  bool IsWhole(const Evaluation& confirmed) const {
    return IsUndisturbed(confirmed) && (confirmed.timing->energy || !settings_.run.objective.NeedsEnergy());
  }

  // The finalists, and if none of them stands the next fastest, until one does.
  Result<void> ConfirmThem(const std::vector<int>& finalists) {
    std::vector<int> order = finalists;
    for (const int number : tree().ranked()) {
      if (std::find(finalists.begin(), finalists.end(), number) == finalists.end()) order.push_back(number);
    }
    const bool energy = settings_.run.objective.NeedsEnergy();
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i >= finalists.size() && outcome_.run.best_attempt != 0) break;
      const double began_s = SessionSeconds();
      if (!HONE_TRY(ConfirmOne(order[i], ConfirmRequest()))) break;
      Confirmed& fresh = outcome_.confirmed.back();
      const Confirmed* kept = KeptInPlaceOf(fresh);
      undisturbed_now_ |= fresh.evaluation.verdict.accepted() && IsUndisturbed(fresh.evaluation);
      if (kept) fresh = *kept;
      Crown(Objective());
      if (!energy && !kept) HONE_TRY(RecordConfirmed(fresh));
      const double took_s = SessionSeconds() - began_s;
      const bool late = settings_.budget.seconds > 0 && SecondsLeft() - EnergySeconds() < took_s;
      if (outcome_.run.best_attempt != 0 && late) break;  // no time for another
    }
    if (!energy) return {};
    if (!Interrupted()) {
      auto measured = MeasureEnergy(outcome_.confirmed, tree(), EnergyRequestNow(), *evaluators_.front());
      if (!measured && !Interrupted()) return measured;
    }
    if (Interrupted() && InterruptCause() != Interrupt::kTimeIsUp) return {};
    Crown(settings_.run.objective);
    for (const Confirmed& one : outcome_.confirmed) HONE_TRY(RecordConfirmed(one));
    return {};
  }

  // Once more, the last of outcome_.confirmed. False where the run was interrupted meanwhile.
  Result<bool> ConfirmOne(int number, const EvaluateRequest& request) {
    if (Interrupted()) return false;
    const Attempt& attempt = tree().node(number).attempt;
    Tell(SearchProgress::Phase::kConfirming, &attempt, false, request.baselines);
    Result<Evaluation> evaluation = evaluators_.front()->Evaluate(attempt.proposal.candidate, request);
    if (Interrupted()) return false;
    outcome_.confirmed.push_back({number, HONE_TRY(std::move(evaluation))});
    outcome_.evaluated_s += outcome_.confirmed.back().evaluation.how->stages.total_ms / 1000;
    return true;
  }

  // What earlier sessions confirmed while nothing disturbed them. Energy is of windows in turn, so none is kept of it.
  Result<void> LoadKept() {
    kept_.clear();
    if (settings_.run.objective.NeedsEnergy()) return {};
    kept_ = HONE_TRY(ConfirmedEarlier());
    std::erase_if(kept_, [](const Confirmed& one) {
      return !one.evaluation.verdict.accepted() || !IsUndisturbed(one.evaluation);
    });
    return {};
  }

  // The earlier confirmation of an attempt that was disturbed this time, or null.
  const Confirmed* KeptInPlaceOf(const Confirmed& fresh) const {
    if (!fresh.evaluation.verdict.accepted() || IsUndisturbed(fresh.evaluation)) return nullptr;
    const auto kept = std::ranges::find(kept_, fresh.attempt, &Confirmed::attempt);
    return kept == kept_.end() ? nullptr : &*kept;
  }

  // Where nothing could be confirmed undisturbed this time, what is known from earlier stays the answer.
  void RecallKept() {
    const auto undisturbed = [](const Confirmed& one) {
      return one.evaluation.verdict.accepted() && IsUndisturbed(one.evaluation);
    };
    if (kept_.empty() || undisturbed_now_) return;
    for (const Confirmed& one : kept_) {
      if (std::ranges::find(outcome_.confirmed, one.attempt, &Confirmed::attempt) == outcome_.confirmed.end())
        outcome_.confirmed.push_back(one);
    }
    std::vector<Confirmed> known = outcome_.confirmed;
    std::erase_if(known, [&](const Confirmed& one) { return !undisturbed(one); });
    if (const int winner = Winner(known, settings_.run.objective); winner != 0) outcome_.run.best_attempt = winner;
  }

  // The winner so far.
  void Crown(const Objective& by) {
    const int winner = Winner(outcome_.confirmed, by);
    if (winner == 0 || winner == outcome_.run.best_attempt) return;
    outcome_.run.best_attempt = winner;
    for (const Confirmed& one : outcome_.confirmed) {
      if (one.attempt == winner) NoteBaselines(one.evaluation, outcome_.run);
    }
  }

  Result<void> RecordConfirmed(const Confirmed& one) {
    return store_.AddConfirmation(ConfirmedRecord(outcome_.run.id, one.attempt, one.evaluation),
                                  one.evaluation.verdict.evidence->log, Charged());
  }

  bool StartHasTime() const { return outcome_.started && tree().node(1).attempt.time_us() > 0; }

  int FastestUnrefuted() const {
    for (const int number : tree().ranked()) {
      const auto refutes = [number](const Confirmed& one) {
        return one.attempt == number && !one.evaluation.verdict.accepted();
      };
      if (std::none_of(outcome_.confirmed.begin(), outcome_.confirmed.end(), refutes)) return number;
    }
    return 0;
  }

  EvaluateRequest ConfirmRequest() const {
    EvaluateRequest request = settings_.confirm;
    request.baselines = ReadyBaselines();
    Brief(request);
    return request;
  }

  // Timed for no longer than there is time; not so briefly that it would say nothing.
  static constexpr double kBriefest = 0.2;
  void Brief(EvaluateRequest& request) const {
    if (settings_.budget.seconds <= 0) return;
    const double timing_s = TimingSeconds(request);
    const double share = (SecondsLeft() - (ConfirmSeconds(request) - timing_s)) / timing_s;
    request.timing_budget = std::chrono::milliseconds(static_cast<std::int64_t>(
        static_cast<double>(request.timing_budget.count()) * std::clamp(share, kBriefest, 1.0)));
  }

  // As many windows as there is time for, one at least.
  EnergyRequest EnergyRequestNow() const {
    EnergyRequest request = settings_.energy;
    if (settings_.budget.seconds <= 0) return request;
    const double each_s = WindowSeconds(request) * static_cast<double>(outcome_.confirmed.size());
    const int fit = static_cast<int>(std::max(0.0, SecondsLeft() - kIdleSeconds) / each_s);
    request.windows = std::clamp(fit, 1, request.windows);
    return request;
  }

  Result<std::vector<Confirmed>> ConfirmedEarlier() {
    std::vector<Confirmed> all;
    for (const ConfirmationRecord& record : HONE_TRY(store_.Confirmations(outcome_.run.id)))
      all.push_back({record.attempt, HONE_TRY(ReadConfirmation(store_, record))});
    return LastWords(std::move(all));
  }

  // A run that was done before and that got no new attempt keeps its winner.
  Result<bool> AlreadyConfirmed() {
    if (!was_done_ || outcome_.replayed != tree().attempts()) return false;
    outcome_.confirmed = HONE_TRY(ConfirmedEarlier());
    // One that was disturbed, or for whose energy there was no time, is made again: the machine may be quiet now.
    for (const Confirmed& earlier : outcome_.confirmed) {
      if (earlier.attempt != recorded_best_ || !earlier.evaluation.timing) continue;
      if (IsWhole(earlier.evaluation)) continue;
      outcome_.confirmed.clear();
      return false;
    }
    outcome_.run.best_attempt = recorded_best_;
    outcome_.winner_confirmed = recorded_best_ != 0;
    return true;
  }

  Result<void> LoadRecords() {
    HONE_TRY(journal_.Load(outcome_.run.id));
    const JournalPlace known = journal_.end();
    HONE_TRY(earlier_.Load(outcome_.run.id, {known.attempts, known.attempts, known.seconds}));
    was_done_ = outcome_.run.state == RunState::kDone;
    recorded_best_ = outcome_.run.best_attempt;
    const double spent_s = SpentSeconds(outcome_.run);
    earlier_s_ = spent_s > 0 ? spent_s : earlier_.seconds();  // of a run from before that was kept
    return {};
  }

  // The run, for its store, with what its time is spent by now. Who only asks spends none of it.
  const RunRecord& Charged() {
    if (settings_.ask_ahead > 0) return outcome_.run;
    Budget budget = settings_.budget;
    budget.spent_s = std::round((earlier_s_ + SessionSeconds()) * 1000) / 1000;
    outcome_.run.budget = ToJson(budget);
    return outcome_.run;
  }

  Result<void> MarkRunning() {
    RunRecord running = Charged();
    running.state = RunState::kRunning;
    running.stop_reason.clear();
    HONE_TRY(store_.UpdateRun(running));
    outcome_.run = std::move(running);
    return {};
  }

  Result<void> MarkEnded() {
    // A winner that there was no time to confirm, or that was confirmed alone, is confirmed when the run goes on.
    const bool unconfirmed = settings_.ask_ahead > 0 || left_open_ ||
                             (Interrupted() && !outcome_.winner_confirmed && !tree().ranked().empty());
    outcome_.run.state =
        outcome_.stop.cause == Stop::Cause::kInterrupt || unconfirmed ? RunState::kInterrupted : RunState::kDone;
    outcome_.run.stop_reason = outcome_.stop.reason;
    return store_.UpdateRun(Charged());
  }

  SearchState State() const {
    SearchState state;
    state.attempts = tree().attempts();
    state.idle = progress_.Idle(state.attempts);
    state.elapsed_s = earlier_s_ + SessionSeconds();
    state.joules = outcome_.joules;
    state.best_us = tree().best_us();
    // The bound is one of time: who is at it may still take less energy.
    if (settings_.run.objective.IsTime()) {
      state.bound_us = outcome_.run.bound_us;
      state.sure_us = settings_.sure_us;
    }
    if (state.attempts > 0) {
      EvaluateRequest first = settings_.confirm;
      first.baselines = ReadyBaselines();
      state.confirm_s = ConfirmSeconds(first);
      const int finalists = settings_.confirm_candidates + (outcome_.started ? 1 : 0);
      state.reserve_s = state.confirm_s * std::min(finalists, state.attempts) + EnergySeconds();
      if (first.baselines != settings_.confirm.baselines) state.reserve_s += ConfirmSeconds(settings_.confirm);
      if (settings_.confirm_candidates > 0)
        state.least_s = AttemptSeconds() + state.confirm_s - (1 - kBriefest) * TimingSeconds(first);
    }
    return state;
  }

  static double TimingSeconds(const EvaluateRequest& request) {
    const std::size_t baselines = std::max<std::size_t>(1, request.baselines.size());
    return std::chrono::duration<double>(request.timing_budget).count() * static_cast<double>(baselines);
  }

  // What confirming one attempt takes, probably: all that the slowest attempt took, whose timing may have been brief,
  // the timing, and baselines that have to get ready first.
  double ConfirmSeconds(const EvaluateRequest& request) const {
    constexpr double kReadyS = 4;
    const auto unready = std::ranges::count_if(request.baselines, [&](const auto& name) { return !IsReady(name); });
    return AttemptSeconds() + TimingSeconds(request) + kReadyS * static_cast<double>(unready);
  }

  // What an attempt takes at most, by those of this session. A lane's first one waits for its baseline to get ready,
  // which none after it does.
  double AttemptSeconds() const { return slowest_s_ > 0 ? slowest_s_ : first_s_; }

  // A window of one candidate: a worker that is loaded and warmed, two ticks for nothing, and the window.
  static double WindowSeconds(const EnergyRequest& request) {
    constexpr double kReadyS = 1.5;
    return kReadyS + std::chrono::duration<double>(request.window).count();
  }
  static constexpr double kIdleSeconds = 3;  // the device at rest is measured, too

  // What measuring the finalists takes, probably.
  double EnergySeconds() const {
    if (!settings_.run.objective.NeedsEnergy()) return 0;
    const int finalists = std::min(static_cast<int>(kEnergyFinalists), tree().attempts());
    return kIdleSeconds + WindowSeconds(settings_.energy) * settings_.energy.windows * finalists;
  }

  double SessionSeconds() const { return hooks_.spent_s + Seconds() - begun_s_; }
  double SecondsLeft() const { return settings_.budget.seconds - SessionSeconds(); }

  void Tell(SearchProgress::Phase phase, const Attempt* attempt, bool replayed,
            const std::vector<std::string>& beside = {}) const {
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
    progress.beside = beside;
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
  bool Replaying() const { return Begun() < earlier_.count(); }
  Asker::Now Now(bool idle = false) const { return {.events = events_, .replaying = Replaying(), .idle = idle}; }
  bool AsksAhead() const { return settings_.ask_ahead > 0 && !Replaying(); }
  bool Interrupted() const { return hooks_.interrupt != nullptr && hooks_.interrupt->load(); }
  double Seconds() const { return hooks_.seconds ? hooks_.seconds() : SteadySeconds(); }

  Store& store_;
  Proposer& proposer_;
  const std::vector<Evaluator*> evaluators_;  // one a lane
  const SearchSettings& settings_;
  const SearchHooks& hooks_;
  const std::vector<std::unique_ptr<Stopper>> stoppers_;
  std::unique_ptr<Strategy> strategy_;
  Random random_;  // of the strategy's choices
  EarlierAttempts earlier_;
  Journal journal_;
  JournalPlace taken_up_;  // where the journal of earlier sessions ends
  bool was_done_ = false;
  int recorded_best_ = 0;
  std::vector<Confirmed> kept_;   // by earlier sessions, undisturbed
  bool undisturbed_now_ = false;  // a confirmation of this session was
  std::vector<std::string> ready_baselines_;
  bool left_open_ = false;  // more is confirmed when the run goes on
  double begun_s_ = 0;
  double earlier_s_ = 0;                // of the budget's seconds, by earlier sessions
  std::size_t ended_ = 0;               // attempts of this session
  double first_s_ = 0, slowest_s_ = 0;  // what the slowest of the lanes' first ones took, and of those after them
  Progress progress_;
  SearchOutcome outcome_;
  bool ready_ = false;          // the evaluators are, since somebody had something to try
  bool would_try_ = false;      // a search that only asks has come to where it would try something
  bool ahead_ = false;          // what is asked now the search has not come to: no event of its time
  std::int64_t events_ = 0;     // questions, answers, begins and ends of attempts: the run's own time
  std::deque<Flight> flights_;  // by number
  Bell bell_;                   // of whoever is at work
  Asker asker_;
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
