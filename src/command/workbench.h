// What every verb that evaluates candidates sets up first: the problem with its graph, this machine, and an evaluator
// with the baselines that can be had here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "base/interrupt.h"
#include "base/result.h"
#include "candidate/candidate.h"
#include "command/command.h"
#include "evaluate/local_evaluator.h"
#include "graph/graph.h"
#include "problem/problem.h"
#include "target/bound.h"
#include "target/cuda/device_lock.h"
#include "target/device_model.h"

namespace hone {

struct WorkbenchOptions {
  std::string python;  // interpreter with PyTorch; empty = FindPython()
  bool torch = true;   // time PyTorch beside candidates where the problem is a .py file and torch is here
  std::vector<std::string> baselines =
      {};                 // those that are asked for: names, and FILE.py[:CLASS]; none = the usual ones
  int threads = 0;        // 0 = all cores
  std::string dice;       // of EvaluatorOptions
  bool cuda = false;      // candidates and baselines run on a CUDA device
  std::string devices;    // on cuda: "all", UUIDs with commas between them, or empty for one that is free
  int jobs = 0;           // on cuda: threads that compile ahead; < 0 = all cores but two
  bool flags = false;     // whether it is asked what is degenerate about the problem
  bool calibrate = true;  // measure this machine if that was never done; else work without its ceilings
  bool at_once = false;   // on cuda: the device is taken here, and not when the first candidate is judged
  // Paused while somebody else has the device, and while this machine is measured; outlives the workbench.
  TimeLimit* limit = nullptr;
};

struct Workbench {
  Problem problem;
  Graph graph;
  DeviceModel machine;
  double measuring_s = 0;  // what measuring the machine took, which is done once and no run's time
  Bound bound;
  std::vector<Flag> flags;             // where they are asked for
  std::vector<std::string> baselines;  // to be timed, by their names; speed-ups are over the first
  // Ours alone from the first candidate that is judged, or earlier, to LeaveDevices, or as long as this lives, but for
  // what they are left in between; null on the processor.
  std::unique_ptr<cuda::DeviceHold> devices;
  // Called before a device is left to others who wait while nothing can be judged: whoever has something on it, beside
  // evaluators, ends that. Never null.
  std::shared_ptr<std::function<void()>> when_leaving = std::make_shared<std::function<void()>>();
  // One a device, or one for the processor. The first is the one that the machine and its bound are of.
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  Evaluator& evaluator() { return *evaluators.front(); }
  // Of the threads that compiled ahead for all of them.
  CompilersUse compilers;
  // Ends the evaluators, after which `compilers` is known, and lets others have the devices.
  void LeaveDevices();
};

// `path`: whatever Import takes. Says through `call` what takes long. Fails with kUsage when a baseline that is asked
// for cannot be had. A device that somebody else has is waited for when it is needed (InterruptFlag ends that): all
// that needs none comes before.
Result<Workbench> OpenWorkbench(VerbCall& call, const std::string& path, const WorkbenchOptions& options);
// Of a problem that was imported before.
Result<Workbench> OpenWorkbench(VerbCall& call, Problem problem, const WorkbenchOptions& options);

// Of a CUDA candidate on a machine without a device: why it is refused, or kNotFound, and what is missing to run it.
Result<Evaluation> EvaluateWithoutDevice(const std::string& path, const std::string& python,
                                         const Candidate& candidate);

}  // namespace hone
