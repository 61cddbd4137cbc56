// How much memory the machine has. Asked of the system at each call; safe from any thread.
#pragma once

#include <cstdint>

namespace hone {

std::int64_t PhysicalMemoryBytes();
std::int64_t FreeMemoryBytes();  // what nobody uses, caches of files not among it; 0 where the system does not say

}  // namespace hone
