// The evaluator on this machine: compiles a candidate, then asks a judge in a process of its own, which runs it in a
// worker:
//
//   us (never runs candidates) --> judge (holds inputs and expected outputs, decides) --> worker (sandbox; runs the
//   candidate)
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "evaluate/candidate_compiler.h"
#include "evaluate/evaluator.h"
#include "judge/judge.h"
#include "problem/problem.h"
#include "verdict/verdict.h"

namespace hone {

// Beside the judge's own: `threads` may be 0 for the cores that we may use, `program` empty for ourselves; it has the
// verbs "judge", "worker" and "nvrtc". `outside` are baselines beside "naive", by name in EvaluateRequest::baselines;
// of `expected` those whose times are kept are not.
// `stage` is called from the thread that evaluates.
struct EvaluatorOptions : JudgeOptions {
  EvaluatorOptions() { threads = 0; }
  // Where the times of those are kept, which are then not measured with each candidate; empty: nowhere, and they are.
  std::string kept_baselines, kept_about;  // of KeptBaselines
  std::string missing;                     // a note of each timed evaluation: which baselines there should be
  std::string device;                      // UUID of the CUDA device that is meant; empty = the first
  // Where several share the device: called, by the thread that evaluates, before anything of ours touches it, and it
  // returns when it is ours alone. Until then the judge, PyTorch and the compilers get ready. Null: it is ours.
  std::function<Result<void>()> take_device;
  // Whether somebody else waits for it, and that it is his: nothing of ours is left there, and take_device is called
  // before anything is again. Called where nothing can be judged for a while. Null: it stays ours.
  std::function<bool()> device_wanted;
  std::function<void()> leave_device;
  int jobs = 0;    // threads that compile what is foreseen; 0 = nothing is
  Lowering lower;  // without it programs are refused with kUsage
};

// Starts the judge and compiles the oracle: fails when the problem cannot be defined. With take_device it waits for
// neither; GetReady or the first Evaluate does, and fails so. When the evaluator is gone, so is all that it had on the
// device. PDEATHSIG ties the judge to the calling thread: it dies when that thread ends. SIGPIPE is ignored from here
// on, unless it had a handler.
Result<std::unique_ptr<Evaluator>> StartEvaluator(const Problem& problem, EvaluatorOptions options);

// The verdict that a candidate gets before anything runs: it does not parse, fit the problem, or compile. Fails with
// kNotFound, and what is missing, if there is nothing against it but no device to run it on. `lower` and
// `program` as in EvaluatorOptions.
Result<Evaluation> CompileOnly(const Problem& problem, Lowering lower, const Candidate& candidate,
                               std::string program = {});

}  // namespace hone
