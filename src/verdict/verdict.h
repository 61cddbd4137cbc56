// What the judge says of a candidate. A bad candidate is a value with its evidence, never an error: search and agents
// feed on it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/box.h"
#include "base/result.h"

namespace hone {

enum class Outcome : std::uint8_t {
  kAccepted,
  kInvalid,  // not a program or module at all: parse error, missing symbol, wrong ABI version
  kCompileError,
  kLaunchError,  // hone_run or hone_prepare returned an error or threw
  kCrash,        // ended by a signal, or ended itself
  kTimeout,
  kOutOfMemory,
  kWrongResult,
  kNonfinite,    // inf or NaN where the oracle is finite
  kOutOfBounds,  // wrote (or faulted) outside of its tensors
  kInputModified,
  kNondeterministic,  // right once and wrong once on the same inputs
  kSuspicious,        // forbidden system call, lying clock, faster than possible ...
};

std::string_view Name(Outcome outcome);  // "wrong_result"
std::optional<Outcome> ParseOutcome(std::string_view name);

// Why. Only what applies is set.
struct Evidence {
  std::string draw;                             // which inputs: "seed 1", "scale 2^10", "outliers"
  std::string output;                           // tensor name
  std::vector<std::int64_t> index;              // of the worst element
  std::optional<double> expected, got, budget;  // there; the budget is absolute
  std::optional<std::int64_t> wrong_elements, elements;
  std::optional<int> signal, exit_code;
  std::optional<int> line, column;  // of the candidate's text
  std::string detail;               // the compiler's line, the system call, the arithmetic
  std::string log;                  // long text: all of the compiler's output
};

struct Verdict {
  Outcome outcome = Outcome::kInvalid;
  std::string reason;  // one line for a person; empty when accepted
  Seldom<Evidence> evidence;
  // Facts of an accepted candidate.
  double error_over_budget = 0;   // largest |got - expected| / budget over all draws, <= 1 when accepted
  double error_over_honest = 0;   // largest error / the honest implementation's largest error, on the same scale
  std::string range;              // "componentwise" or "normwise": how it fared on draws with outliers, or very wide
  bool bit_reproducible = false;  // two runs on the same inputs gave the same bits
  std::optional<bool> official_allclose;  // the benchmark's own check: |got - reference| <= t + t |reference|,
                                          // t = 1e-4 (1e-2 for 16-bit types), on the problem's own draws
  bool accepted() const { return outcome == Outcome::kAccepted; }
};

struct Interval {
  double low = 0, high = 0;
};

// One quantity measured many times. Times are in microseconds.
struct Samples {
  double median_us = 0;
  std::optional<Interval> interval;  // 95 % confidence interval of the median; below six samples there is none
  double p10_us = 0, p90_us = 0;     // spread of the samples
  int count = 0;
};

// A candidate beside one baseline, measured in turn in the same minute.
struct Comparison {
  std::string baseline;   // "naive", "eager", "compile", or a candidate's identity
  Samples baseline_warm;  // what `speedup` is over
  std::optional<Samples> baseline_cold;
  // On a device: with its stream held until all launches are asked for, and as it is. The first is what a candidate is
  // held against whose launches are asked for so, too.
  std::optional<Samples> baseline_hidden, baseline_dispatched;
  std::optional<double> speedup;     // median over rounds of baseline time / candidate time, warm; 1 = equal
  std::optional<Interval> interval;  // of `speedup`, 95 % confidence; below six rounds there is none
  int rounds = 0;                    // in which both took turns and nothing disturbed them; 0 = not in the same minute
  std::string disturbed;             // why there is no `speedup`
  // Of a baseline that the user brought, held against the oracle once: the largest error of the right elements in
  // budgets, and what is not right, if anything. There is no `speedup` over what is wrong.
  std::optional<double> error_over_budget;
  std::string wrong;
  std::string measured_on;  // the day on which the baseline was timed, when that was in an earlier evaluation

  // Whether the candidate is faster beyond doubt: the whole interval is above 1. Where there is none, more than chance
  // makes of nothing.
  bool Faster() const;
  std::string WhyNoRatio() const;  // "disturbed: ..." or "wrong: ..."
};

// What is known of a baseline from earlier.
struct KnownBaseline {
  Samples warm;  // on a device with its dispatch hidden
  std::optional<Samples> cold = {}, dispatched = {};
  std::string measured_on;  // "2026-11-21"
};
nlohmann::json ToJson(const KnownBaseline& known);
Result<KnownBaseline> ParseKnownBaseline(const nlohmann::json& json);

// What a device's clocks did while a candidate was timed, looked at after each of its turns.
struct Clocks {
  int sm_mhz_low = 0, sm_mhz_high = 0;
  std::vector<std::string> limits;  // what held them down: "power cap", "heat"
  int discarded_rounds = 0;         // turns of anybody, in which heat or the power supply slowed the device
};

// What one call takes of a device's energy, from windows in which calls follow each other without a pause, in turn with
// those of others (judge/energy_windows.h). Only finalists have it.
struct Energy {
  double joules = 0;                 // of one call, all that the device takes; the windows' median
  std::optional<double> net_joules;  // without what the device takes at rest in that time
  std::optional<double> idle_watts;  // at rest, measured before the windows; nothing where it was not at rest
  double watts = 0;                  // over the windows
  double call_us = 0;                // of the windows' calls, by the judge's clock
  std::vector<double> windows;       // joules of one call in each, in their order
  double window_s = 0;               // the shortest, in whole ticks
  double tick_ms = 0;                // how often the counter moves
  std::string sensor;                // what measured, and how far it can be believed
};

// What came of measuring it.
struct EnergyOrWhy {
  std::optional<Energy> energy;
  std::string why;  // there is none
};

struct Timing {
  Samples warm;           // inputs and code as the last call left them in the caches
  Samples cold;           // tensors flushed from all caches before each call
  Box<Energy> energy;     // of a finalist of a search that asks for it
  double prepare_us = 0;  // hone_prepare, once
  int threads = 1;
  bool ended_early = false;         // clearly slower than the fastest so far, so timed less exactly
  std::string launched;             // a plan's steps: "graph", "stream", whichever is faster; empty for others
  Box<Clocks> clocks;               // of a device that says
  std::string disturbed;            // why `warm` says little, if it does; then there are no speed-ups
  std::vector<Comparison> against;  // the headline's baseline first
  // What to go by: the median, or what a tenth of the calls took where others disturbed the rest.
  double LikelyUs() const { return disturbed.empty() ? warm.median_us : warm.p10_us; }
  const Comparison* OverBest() const;  // with the least speed-up, of those that are right; null where there is none
};

// What one evaluation costs besides the candidate's own running, in milliseconds.
struct StageTimes {
  double compile_ms = 0, check_ms = 0, timing_ms = 0, total_ms = 0;
  bool compile_cached = false;
  // When each began, in milliseconds since 1970; 0 = it did not come to that, or was recorded before begins were.
  std::int64_t compile_begun_ms = 0, check_begun_ms = 0, timing_begun_ms = 0;
};

// How it was evaluated: nothing that a search decides by.
struct Proceedings {
  StageTimes stages;
  std::string sandbox;  // "bubblewrap + seccomp", "seccomp", ...: what held the candidate
  std::string dice;     // what the judge's choices by chance came from (dice.h)
  // That the device used while it was judged and timed, by its own count: with what it takes at rest, with baselines,
  // and with what others did there meanwhile. Nothing where nobody counts.
  std::optional<double> joules;
  // What compute-sanitizer says of it, one line a tool: "memcheck: no accesses out of bounds, 2.1 s".
  std::vector<std::string> certificate;
  std::vector<std::string> notes;  // what is missing in this evaluation: "baseline 'compile': no C compiler"
};

struct Evaluation {
  Verdict verdict;
  Box<Timing> timing;  // accepted ones, when timing was asked for
  Seldom<Proceedings> how;
};

nlohmann::json ToJson(const Energy& energy);
// JSON of docs/evaluation.md: the same in `hone evaluate --json`, the run store and reports.
nlohmann::json ToJson(const Evaluation& evaluation);
Result<Evaluation> ParseEvaluation(const nlohmann::json& json);

}  // namespace hone
