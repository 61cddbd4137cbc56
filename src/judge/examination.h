// One candidate before the judge: where it runs, the worker that it runs in, and what has been found of it so far. The
// judge goes through an examination step by step; gates (gate.h) look on, and may ask something themselves.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/trial.h"
#include "judge/worker.h"
#include "verdict/refusal.h"

namespace hone {

inline constexpr int kCheckViews = 5;  // addresses of each slot in a worker

// What lies in the outputs of a slot, beside what is expected of a draw.
struct SeenOutputs {
  Refusal refusal;  // written outside of an output, or not what is expected
  double error_over_budget = 0, error_over_honest = 0;
  bool normwise = false;  // right, but only by the norm of the error
  std::optional<bool> official_allclose;
  bool right() const { return !refusal; }
};

// Of a candidate that was right so far.
struct Findings {
  bool reproducible = true, official = true;
  bool componentwise = true;  // not by the norm of the error only
  double error_over_budget = 0, error_over_honest = 0;
  double call_us = 0;            // of the latest draw, by the worker's clock
  std::vector<double> after_us;  // what went on after the return of each run that was looked at
  void Add(const SeenOutputs& seen);
};

// Not thread-safe. What it points at outlives it.
struct Examination {
  struct Settings {
    Form form = Form::kModule;
    int threads = 1;
    bool full_range = false;                // being right by the norm of the error is not enough
    std::chrono::milliseconds call_wall{};  // for one call
  };

  // --- What it is examined with
  Trial& trial;
  Worker& worker;
  const Settings settings;

  // --- What was found
  Findings found{};
  // When the last Call came back, and what processor time the worker had used by then.
  std::chrono::steady_clock::time_point returned_at{};
  std::uint64_t returned_ns = 0;

  // The answer, or the verdict with the draw (its name; may be empty) on which it came about. The time allowed is that
  // of so many calls.
  Result<WorkerAnswer> Ask(const Request& question, const std::string& draw, std::uint32_t calls = 1);
  Result<Refusal> Tell(const Request& question, const std::string& draw);  // Ask, of which the reply does not matter
  // Asks for a call on what is loaded, and has all gates look at it (Gate::called).
  Result<WorkerAnswer> Call(const Request& question, const DrawnInputs& inputs);
  // Loads a draw into slot 0, poisons the outputs of slots 0 and 1, each in its own way, and prepares the candidate.
  Result<Refusal> Prepare(const DrawnInputs& inputs);
  Result<Refusal> Release(const DrawnInputs& inputs);

  Result<SeenOutputs> Look(const DrawnInputs& inputs, std::size_t slot, std::uint16_t poison);

  // Waits for `least`, then until no thread of the worker wants a processor; false if that does not come to pass. On a
  // busy machine a thread that only wants to lie down may have to wait for its turn.
  bool AwaitQuiet(std::chrono::milliseconds least) const;
};

}  // namespace hone
