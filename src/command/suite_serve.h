// A helping of attempts at one problem of a suite: `hone optimize` in a process of its own. One that dies, runs out of
// memory or cannot be ended takes its row with it and nothing else, what imports and oracles hold is given back between
// problems, and its time limit and its Ctrl-C are its own.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "command/slurm_job.h"
#include "search/suite.h"

namespace hone {

// Seconds of a child: that it had its device, and evaluated then; that it searched, and of these what neither
// evaluations nor proposers took; that the threads that compile ahead did so, all together.
struct ChildUse {
  double held_s = 0, evaluating_s = 0, search_s = 0, own_s = 0, compiling_s = 0;
  int compilers = 0;  // threads that compile ahead, of which those on the same processors share their places
};

struct SuiteServe {
  std::string program;                 // ours
  std::string store;                   // where runs are kept
  std::string imported;                // folder for problems that were imported from other kinds of files
  std::vector<std::string> arguments;  // of `hone optimize`, beside those that a portion says
  std::string python;                  // as of --python; empty: as the program finds it
  double shrink_mflop = 0;             // as of `hone import --shrink`
  std::vector<int> processors;         // that the child and all below it use; empty: all of ours
  // Not null: helpings are jobs of Slurm instead, each problem with a folder and a run store of its own in `jobs`; what
  // they found is taken over into `store`. All of these lie where the nodes see them.
  const SlurmOptions* slurm = nullptr;
  std::string jobs;
  // Of its progress, from one thread at a time.
  std::function<void(std::string_view line)> progress;
  // Called before ServeByChild returns, where it is known.
  std::function<void(const ChildUse&)> measured;
};

// On portion.device, where it names one; its lane is the caller's affair. The calling thread is bound to the processors
// meanwhile. While the child waits for a device that another has its time stands still, here as there: it counts
// neither in Helping::seconds nor for its limit. Fails with kInterrupted when this process was asked to stop: the child
// was then asked, too, and has ended. kIo where no child can be started.
Result<Helping> ServeByChild(const SuiteServe& how, const SuiteProblem& problem, const Portion& portion);

// The problem as JSON in how.imported, where it is no such file already and was not imported before: what ServeByChild
// begins with. What is wrong with it is found again there.
void ImportForSuite(const SuiteServe& how, const SuiteProblem& problem);

}  // namespace hone
