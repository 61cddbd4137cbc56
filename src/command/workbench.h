// What every verb that evaluates candidates sets up first: the problem with its graph, this machine, and an evaluator
// with the baselines that can be had here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "command/command.h"
#include "evaluate/local_evaluator.h"
#include "graph/graph.h"
#include "problem/problem.h"
#include "target/bound.h"
#include "target/machine.h"

namespace hone {

struct WorkbenchOptions {
  std::string python;      // interpreter with PyTorch; empty = FindPython()
  bool torch = true;       // time PyTorch beside candidates where the problem is a .py file and torch is here
  int threads = 0;         // 0 = all cores
  std::uint64_t seed = 1;  // of the draws
  bool cuda = false;       // candidates and baselines run on a CUDA device
  bool calibrate = true;   // measure this machine if that was never done; else work without its ceilings
};

struct Workbench {
  Problem problem;
  Graph graph;
  Machine machine;
  Bound bound;                         // us = 0 on a machine that was not calibrated
  std::vector<std::string> baselines;  // that the evaluator has; the first is the one that speed-ups are over
  std::unique_ptr<Evaluator> evaluator;
};

// `path`: whatever Import takes. Says through `call` what takes long.
Result<Workbench> OpenWorkbench(VerbCall& call, const std::string& path, const WorkbenchOptions& options);

}  // namespace hone
