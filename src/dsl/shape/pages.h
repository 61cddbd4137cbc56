// Attention whose keys and values are found by pages: families/attention.cc says how they lie in its space.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "dsl/kernel.h"

namespace hone::dsl {

bool ReadsPages(const Kernel& kernel);
std::size_t AttentionBatchDims(const Kernel& kernel);
// Why a way that reads none does not take the kernel; or nothing.
std::optional<std::string> CheckNoPages(const Kernel& kernel);

}  // namespace hone::dsl
