// The host's part of an exported kernel: C++ that launches a plan's steps, for PyTorch's extensions through CUDA's
// runtime, or on its own through the driver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "candidate/plan.h"
#include "problem/problem.h"
#include "report/export.h"

namespace hone {

// A function `hone_launch(at, prepare, on)` and what it needs: `at` are the addresses of the problem's inputs,
// parameters and outputs and of the plan's buffers, in this order. Stands behind the plan's source; where steps call
// libraries, the text of target/cuda/library_calls.h has to stand before it. An output that updates an input lies where
// that does.
std::string HostText(const Plan& plan, const Problem& problem);

// The functions of the runtime that it calls, ahead of it.
std::string RuntimeText(bool maps, bool libraries);

// kernel.cc of a plan that is compiled: a function `hone_launch`, which it documents, around the cubins, files of its
// folder named CubinFile(0) and so on. Buffers lie as PlacesOf says.
std::string KernelText(const Plan& plan, const Problem& problem, const CompiledPlan& compiled);
std::string CubinFile(std::size_t source);

// The plan's buffers in two pieces of memory: what preparing writes or reads stays, the others are scratch for the time
// of a run.
struct BufferPlaces {
  std::vector<bool> kept;            // one a buffer
  std::vector<std::int64_t> begins;  // bytes from the beginning of its piece
  std::int64_t kept_bytes = 0, scratch_bytes = 0;
};
BufferPlaces PlacesOf(const Plan& plan);

// As a string of Python's and of C++'s.
std::string Quoted(std::string_view text);

}  // namespace hone
