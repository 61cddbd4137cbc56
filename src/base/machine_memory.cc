#include "base/machine_memory.h"

#include <unistd.h>

#include <algorithm>

namespace hone {
namespace {

std::int64_t InBytes(long pages) {
  const long size = sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(pages, 0) * std::max<std::int64_t>(size, 0);
}

}  // namespace

std::int64_t PhysicalMemoryBytes() { return InBytes(sysconf(_SC_PHYS_PAGES)); }
std::int64_t FreeMemoryBytes() { return InBytes(sysconf(_SC_AVPHYS_PAGES)); }

}  // namespace hone
