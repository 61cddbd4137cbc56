// A problem's tensors on the device, for those who run a candidate once and compare nothing.
#pragma once

#include <vector>

#include "base/result.h"
#include "problem/problem.h"
#include "target/cuda/driver.h"
#include "target/cuda/loaded_plan.h"

namespace hone {

// Every tensor lies in an allocation of its own of exactly its size, so that one byte too far is one too far, and is
// written from the host, so that it counts as written.
struct Placed {
  const Tensor* tensor;
  cuda::Address at;
  cuda::Address gap;  // memory behind it, which is given back before anything runs: what reads there reads nobody's
};

// Inputs and parameters with the problem's own data, then outputs, which hold nothing yet but where they are written
// into inputs: those lie at the same address. The problem outlives them.
Result<std::vector<Placed>> PlaceTensors(cuda::Context& context, const Problem& problem);

void OpenGaps(cuda::Context& context, const std::vector<Placed>& placed);

// As a plan is told where they are: all of them, or the parameters alone.
std::vector<cuda::LoadedPlan::Binding> BindingsOf(const std::vector<Placed>& placed, bool parameters_alone);

}  // namespace hone
