// What a problem's module does and its kernels do not.
#pragma once

#include <string>

#include "problem/problem.h"

namespace hone {

// One line on what forward writes into its inputs and buffers, which are no results, or "".
std::string WritesLeftOut(const Problem& problem);

}  // namespace hone
