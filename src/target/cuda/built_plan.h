// A plan compiled and checked against the problem and against what its kernels turned out to be. No GPU needed.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "candidate/plan.h"
#include "problem/problem.h"
#include "target/cuda/cubin.h"
#include "target/device_model.h"

namespace hone::cuda {

// How many blocks of a kernel one multiprocessor holds, and what ends it.
struct Occupancy {
  int blocks = 0;
  int warps = 0;
  std::string_view limit;  // "registers", "shared memory", "warps" or "blocks"
  // How many blocks each of them would allow.
  int by_registers = 0, by_shared = 0, by_warps = 0, by_blocks = 0;
};
Occupancy OccupancyOf(const KernelFacts& kernel, std::int64_t threads, std::int64_t shared_bytes,
                      const MultiprocessorLimits& limits);

// Of the libraries that a plan's steps call; empty where none does.
struct LibraryPaths {
  std::string cublas_lt, cudnn;
};

struct BuiltPlan {
  Plan plan;                                   // sources whose kernels are apart: in parts (InParts)
  LibraryPaths libraries;                      // filled in by whoever is going to run it: FindLibrariesOf
  std::vector<std::string> cubins;             // one a source
  std::vector<KernelFacts> prepare, launches;  // one a LaunchStep of plan.prepare and plan.steps, in order
  // One a step of plan.steps: whether it begins while the launch before it ends. It is a launch that follows another
  // one, and by its machine code it waits for that one first thing (WaitsFirst): a difference is seen in times alone.
  std::vector<bool> early;
  std::string log;      // what the compiler said
  bool cached = false;  // all of it was compiled before
  double milliseconds = 0;
};

// A built plan as one string of bytes, from one process to another: what loading it needs, without the facts.
std::string Pack(const BuiltPlan& built);
Result<BuiltPlan> Unpack(std::string_view bytes);  // kCorrupt; `prepare` and `launches` have names alone

// Why a plan is refused: the text is at fault, or a step does not fit what it launches.
struct PlanRefusal {
  bool compile_error = false;  // else the plan itself is invalid
  std::string where;           // "/steps/2/arguments/0", or the source's name
  int line = 0;                // of the source, for a compile error
  std::string message;         // one line: what, and the mend
  std::string log;
};

// For `device`, of which a plan that names no architecture is, too. `program` compiles foreign sources in a process of
// its own (CubinRequest); empty: they are ours. Fails when the world does: no NVRTC, no cache.
Result<std::variant<BuiltPlan, PlanRefusal>> BuildPlan(const Plan& plan, const Problem& problem,
                                                       const DeviceModel& device, const std::string& program = {});

}  // namespace hone::cuda
