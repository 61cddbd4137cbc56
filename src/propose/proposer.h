// A Proposer says what to try. It is asked for candidates to begin with and for improvements on an attempt; each answer
// is a round. The built-in expert (proposers/expert.cc) is one, a language model another.
//
//            begin, turn 0 ----> [A 12 us] [B 15 us]          best predicted first
//                                   |
//   evaluated, accepted          A, turn 0 -> [A1 9 us] [A2 11 us]
//                                               |
//   evaluated, wrong                         A1, turn 0 -> []  or a repair
//
// A round is in the run store before any of it is tried. A run that goes on takes its rounds from there: what was
// answered once is never asked again, whatever it cost and however it would be answered now. So the process that is
// asked next may be another one, and a proposer may keep nothing that it could not have again from the question alone.
//
// To add one, copy proposers/replay.cc: one file is one proposer, its name is the one that --proposer takes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/parameters.h"
#include "base/result.h"
#include "base/row.h"
#include "candidate/candidate.h"
#include "diagnose/advisers.h"
#include "diagnose/insight.h"
#include "graph/graph.h"
#include "propose/learned.h"
#include "propose/past_winner.h"
#include "propose/random.h"
#include "propose/recalled.h"
#include "target/device_model.h"
#include "verdict/verdict.h"

namespace hone {

class Ledger;

struct Proposal {
  Candidate candidate;
  std::string origin;  // who and by which move, for people: "expert: tile 64x256 -> 128x256"
  std::string key;     // the move's name among the proposals of one attempt, for records: "tile_n=256". Unique there.
  double predicted_us = 0;  // the proposer's own estimate of the warm time, in microseconds; 0 = it has none
  std::string rule = {};    // whose finding of the parent it acts on, or kOwnRule; empty: no such thing
  double promised = 0;      // the share of the parent's time that it is to save by that rule, not scaled; see Learned
  // Why it need not be tried: experience says that it will be refused, or, from kBuildDoubt on, what it was compiled to
  // speaks against it. Empty: nothing does.
  std::string doubt = {};
  bool dropped = false;  // for that reason: it is kept in the record of the round, and never tried
};
// What begins the doubts that come when a proposal was chosen and compiled, not when it was made.
inline constexpr std::string_view kBuildDoubt = "build: ";
// Of what is doubted this share is tried all the same, by chance: else nobody would learn that the doubt is wrong.
inline constexpr double kDoubtedAndTried = 0.125;

// What an answer cost beside time. Zeros: nothing.
struct Spent {
  std::int64_t input_tokens = 0, output_tokens = 0;
  double dollars = 0;
};

// One answer.
struct Round {
  std::vector<Proposal> proposals;  // best predicted first; empty: there is nothing more to come for this parent
  Spent cost;
  std::vector<std::string> notes = {};  // what a person should know of how it came about, a line each; not kept
};

// A proposal that was tried.
struct Attempt {
  int number = 0;  // 1, 2, ... in the order of trying
  int parent = 0;  // the attempt that it improves on; 0 = it was there to begin with
  int mate = 0;    // the attempt that its parent was crossed with; 0 = none
  int round = 0;   // of the run, 1, 2, ...: which answer it is from; 0 = recorded before rounds were
  Proposal proposal;
  Evaluation evaluation;
  Seldom<Insight> insight;  // of an accepted one that was timed, where somebody looked

  bool accepted() const { return evaluation.verdict.accepted(); }
  // The warm median in microseconds; 0 when it was refused or not timed.
  double time_us() const { return accepted() && evaluation.timing ? evaluation.timing->LikelyUs() : 0; }
};

// Of what, and what is known by now.
struct Question {
  int parent = 0;   // the attempt to improve on, or to repair when it was refused; 0 = what to begin with
  int turn = 0;     // how many rounds this parent has had, without crossings
  int mate = 0;     // an attempt, slower or faster, to cross it with: what is wanted has something of both; 0 = none
  int crossed = 0;  // how many crossings it has had; see number()
  std::vector<const Attempt*> history;  // all attempts that have ended, number n at n - 1; they outlive the call
  Random random{0};                     // for this question alone: the same whenever it is asked

  // Of all questions about the parent, from 0.
  int number() const { return turn + crossed; }
  const Attempt* from() const { return Numbered(parent); }
  const Attempt* with() const { return Numbered(mate); }
  const Attempt* Numbered(int number) const {
    return number == 0 ? nullptr : history[static_cast<std::size_t>(number) - 1];
  }
};

enum class Pace {
  kPrompt,  // answers within milliseconds: the search waits for each answer, and so decides the same each time
  kSlow,    // thinks: the search goes on with what else there is meanwhile, and takes the answer when it comes
};

// One run, one proposer, one question at a time.
class Proposer {
 public:
  virtual ~Proposer() = default;

  virtual Pace pace() const { return Pace::kPrompt; }

  // Blocks; a slow one is called in a thread of its own, always the same. Turn 0 of a parent comes first; when all that
  // it gave was tried the search may ask for the next. A question with a mate may come in between: who cannot cross
  // answers with nothing, which ends nothing. A candidate that was tried before may be offered again: the search drops
  // it. Fails when the world does (no network for an agent), with kUsage when the problem is beyond this
  // proposer, with kInterrupted after Interrupt, or with kSpent when the run's caps allow no more: what waits is then
  // still tried, and the question comes again when the run goes on.
  virtual Result<Round> Propose(const Question& question) = 0;

  // Asks the Propose in work to end soon; from any thread, at any time, several times. What it answers all the same is
  // kept.
  virtual void Interrupt() {}
};

// What a run wants less of.
enum class Saving { kTime, kEnergy };

// What a proposer is made of.
struct ProposerSetting {
  const Graph& graph;
  const DeviceModel& machine;  // may be one that was never measured: the ranking is then coarser
  Parameters parameters = {};
  // What the promises of findings came to in earlier runs; null: this run does not act on findings.
  const Learned* learned = nullptr;
  // What earlier runs found out; null: this run begins with nothing.
  const Recalled* recalled = nullptr;
  Saving saving = Saving::kTime;
  std::string models = {};   // the models file (model/models_file.h); empty: the usual one
  Ledger* ledger = nullptr;  // of the run, for whoever asks models; null: what they cost is nobody's business
  // For whoever writes texts, or has them written.
  Advisers advisers = {};                // what a question shows of findings, or offers
  std::string index = {};                // a code index that models may look into; empty: none
  std::vector<PastWinner> winners = {};  // of earlier runs, the most alike first
};

struct ProposerRow {
  std::string_view name;  // the file's name
  std::string_view doc;   // one line for --help
  std::span<const Parameter> parameters = {};
  Pace pace = Pace::kPrompt;  // what it will say of itself, for who cannot make one
  // kUsage when the parameters make no sense.
  Result<std::unique_ptr<Proposer>> (*make)(const ProposerSetting& setting) = nullptr;
};

std::span<const ProposerRow* const> AllProposers();  // sorted by name
// "expert", "replay:rounds.jsonl". Fails as Choose and Parameters::Parse do.
Result<Chosen<ProposerRow>> ChooseProposer(std::string_view words);

}  // namespace hone
