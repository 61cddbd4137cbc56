// What the run store keeps, as plain values. Long texts (problems, sources, logs) are blobs: a record names them by the
// SHA-256 of their bytes. JSON is kept as text: what it means is known to those who wrote it (search/record.h). Times
// of day are milliseconds since 1970 in UTC, times of kernels are microseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

enum class RunState : std::uint8_t {
  kRunning,      // or killed: then nobody holds its lock (Store::Lock)
  kDone,         // ended by a stopper other than the user
  kInterrupted,  // ended by the user, by a failure of the world or as one of several sessions; the same command goes on
};

std::string_view Name(RunState state);  // "running"

// One search over one problem.
struct RunRecord {
  std::string id;  // six hex digits or more, unique in its store; given by Store::CreateRun
  std::string problem_name;
  std::string problem_identity;  // Identity(problem)
  std::string problem_blob;      // problem.json
  std::string target;            // "cpu"
  std::string machine;           // DeviceModel::id
  std::string settings;          // JSON: all that the decisions follow from (seed, search, proposer, objective ...)
  std::string budget;            // JSON: when to stop; a larger one continues the same run
  RunState state = RunState::kRunning;
  std::string stop_reason;  // one line; empty while it runs
  std::int64_t created_ms = 0;
  std::int64_t updated_ms = 0;
  int best_attempt = 0;   // the winner so far, 0 = none; after confirmation the confirmed one
  double bound_us = 0;    // speed of light of this problem on this machine, 0 = not known
  std::string baselines;  // JSON: baseline name -> median warm time in microseconds; "{}" until one was timed
  std::string flags;      // JSON array: what is degenerate about the problem (analysis/analysis.h); "[]" for nothing
  std::string note;       // a person's; written by Store::SetNote alone
  std::string learned =
      "{}";  // JSON: what earlier runs knew of rules' promises when it began; decisions follow from it
  std::string recalled = "{}";  // JSON: what earlier runs had found out when it began; likewise
};

// How a piece of a problem was computed by a program that won a run and was confirmed. It stays when the run goes.
struct ProvenRecord {
  std::string piece;  // what it is known by: PieceKey
  std::string target;
  std::string machine;
  std::string run;       // an id, maybe of another store
  std::string text;      // of the piece
  std::string settings;  // JSON: by knob, as the language writes them
  double share = 0;      // of the program's time, as predicted, 0 to 1
  double gain = 1;       // how many times as fast the program was as the start that it came from
  double speedup = 0;    // of the program, confirmed, over its run's first baseline; 0 = not known
  std::string problem_name;
  std::string problem_identity;
  std::string version;  // of hone
  std::int64_t at_ms = 0;
};

// What a proposer answered to one question; what it proposed are rows of their own.
struct RoundRecord {
  std::string run;
  int number = 0;           // 1, 2, ... without gaps, in the order of the answers
  int parent = 0;           // the attempt that was asked about, 0 = the start
  int mate = 0;             // the attempt to cross it with; 0 = none
  int turn = 0;             // of that parent: 0, 1, ...
  std::int64_t moment = 0;  // how many events of the search came before the answer (search/loop.h)
  std::int64_t asked_ms = 0;
  std::int64_t answered_ms = 0;
  std::int64_t input_tokens = 0;  // what it cost
  std::int64_t output_tokens = 0;
  double dollars = 0;
};

// A piece of a run's journal, without its bytes.
struct JournalRecord {
  int attempts = 0;  // of the run, that had ended where it ends
  std::string head;  // JSON, of whoever keeps the journal
};

// One call of a language model: a line of a run's ledger (model/ledger.h says what the fields mean).
struct CallRecord {
  std::string run;
  int number = 0;  // 1, 2, ... without gaps
  int parent = 0;  // the attempt that it was about; 0 = the start
  int turn = 0;
  int step = 0;
  std::string role;
  std::string model;
  std::string served;
  std::int64_t begun_ms = 0;
  std::int64_t ended_ms = 0;  // 0: was being made when the program ended, or is
  std::int64_t estimated_tokens = 0;
  std::optional<double> estimated_dollars = {};
  std::optional<std::int64_t> input_tokens = {}, cached_tokens = {}, written_tokens = {}, output_tokens = {};
  std::optional<double> dollars = {};
  int tries = 0;
  int untold = 0;
  std::string failure;
  std::string reply_blob = {};  // its reply as JSON; empty where there is none
};

// One of a round, tried or not. The fields mean what they mean of an attempt.
struct ProposalRecord {
  std::string kind;
  std::string source;
  std::string identity;
  std::string origin;
  std::string key;
  double predicted_us = 0;
  std::string rule;
  double promised = 0;
  std::string doubt = {};  // why it need not be tried; empty: nothing spoke against it
  bool dropped = false;    // for that reason, and never tried
};

// One candidate that was tried, or that was being tried when the program ended.
struct AttemptRecord {
  std::string run;
  int number = 0;           // 1, 2, ... without gaps
  int parent = 0;           // 0 = from the start
  int mate = 0;             // that the parent was crossed with; 0 = none
  int round = 0;            // which answer it is from; 0 = recorded before rounds were (schema 3)
  std::string kind;         // "program" or "module"
  std::string source_blob;  // the candidate's text
  std::string identity;     // Candidate::Identity
  std::string origin;       // who and by which move
  std::string key;          // Proposal::key
  double predicted_us = 0;  // the proposer's estimate, 0 = none
  std::string rule;         // whose finding it acts on; empty = none's
  double promised = 0;      // the share of the parent's time that it was to save by that rule
  std::int64_t started_ms = 0;
  // From here on empty until it has ended.
  std::int64_t ended_ms = 0;
  std::string outcome;     // Name(Outcome): "accepted"
  std::string evaluation;  // JSON without the log
  std::string log_blob;    // the evidence's log; empty if there is none
  double median_us = 0;    // warm; 0 = not timed
  double cold_us = 0;
  double speedup = 0;             // over the run's first baseline, warm; 0 = not known, 1 = equal
  std::optional<double> joules;   // of one call, warm; nothing where it was not measured
  std::string findings = "[]";    // JSON array: what a diagnosis says of it
  std::string limits = "{}";      // JSON: what limits it, as the diagnosis has it; "{}" = nobody looked
  std::optional<double> brought;  // the share that it saved, of one with a rule; < 0 = slower, 0 = refused
  bool ended() const { return ended_ms != 0; }
};

// Of a run, those that ended.
struct AttemptCount {
  int ended = 0;
  int last = 0;        // number; more than `ended`: one before it has not ended, or is missing
  double seconds = 0;  // that they took, all together
};

// An attempt that was evaluated once more at the end of a run, on fresh draws; the last one of an attempt counts.
struct ConfirmationRecord {
  std::string run;
  int attempt = 0;
  std::int64_t ended_ms = 0;
  std::string outcome;
  std::string evaluation;
  std::string log_blob;
  double median_us = 0;
  double cold_us = 0;
  double speedup = 0;
  std::optional<double> joules;
};

// One thing that was tried in a run, and what came of it, as far as it may hold elsewhere: a setting of one kernel that
// was changed, or a program to begin with (propose/experience.h says what the fields mean). It stays when the run goes.
struct LessonRecord {
  std::string run;  // an id, maybe of another store
  int attempt = 0;
  std::string target;
  std::string machine;
  std::string problem_name;
  std::string problem_identity;
  std::string family;
  std::string knob;
  std::string before;
  std::string after;
  std::string dtype;
  int size = 0;
  std::string limited_by;  // what limited the program before; empty: not known
  std::string rule;        // whose finding it acted on; empty: none's
  double share = 1;        // of the program's time
  double gain = 0;         // ln(time before / time after)
  std::string outcome;     // Name(Outcome)
  std::string version;     // of hone
  std::int64_t at_ms = 0;
};

// What became of proposals that something spoke against.
struct DoubtRecord {
  std::int64_t dropped = 0;
  std::int64_t tried = 0;     // all the same, by chance
  std::int64_t accepted = 0;  // of those
  std::int64_t better = 0;    // of those: among the faster half of what their runs accepted
};
struct Doubts {
  DoubtRecord experience;  // said that they would be refused
  DoubtRecord builds;      // what they were compiled to
};

// What the moves of one rule came to, over several runs: sums of shares of the time that was there before.
struct RuleOutcome {
  std::string rule;
  std::int64_t moved = 0;
  double promised = 0;
  double brought = 0;  // without what made it slower
};

// A run in a few figures.
struct RunSummary {
  int attempts = 0;  // that ended
  int accepted = 0;
  // Of the run's best attempt: its latest confirmation's, of those with a speed-up where there is one, else its own.
  // 0 = there is none.
  double best_us = 0;
  double best_speedup = 0;
  bool confirmed = false;
  // What its rounds cost.
  int rounds = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  double dollars = 0;
};

}  // namespace hone
