// The host's part of an exported kernel: C++ that launches a plan's steps, for PyTorch's extensions.
#pragma once

#include <string>
#include <string_view>

#include "candidate/plan.h"
#include "problem/problem.h"

namespace hone {

// A function `hone_launch(at, prepare, on)` and what it needs: `at` are the addresses of the problem's inputs,
// parameters and outputs and of the plan's buffers, in this order. Stands behind the plan's source; where steps call
// libraries, the text of target/cuda/library_calls.h has to stand before it.
std::string HostText(const Plan& plan, const Problem& problem);

// As a string of Python's and of C++'s.
std::string Quoted(std::string_view text);

}  // namespace hone
