// The second wall around a candidate, inside the worker's own process (the first is bubblewrap, around it): limits, a
// filter of system calls, and handlers that say over the channel why the process ends. Linux on x86-64 and aarch64.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "evaluate/protocol.h"

namespace hone {

struct SandboxRules {
  std::string library;                    // a file that may be opened, beside the system's libraries
  std::uint64_t address_space_bytes = 0;  // RLIMIT_AS
  std::uint64_t allowance_bytes = 0;      // of which the candidate may use this much
  std::uint64_t cpu_seconds = 0;          // RLIMIT_CPU
};

// Closes it for good: from here on this process, all its threads, and so everything that the candidate does,
//   may: compute, allocate, make threads, read the clock, write to standard output and error (1 MiB), talk over the
//   channel, and
//     open for reading the system's libraries and what describes the processor;
//   may not: open anything else, make processes, sockets, files or shared memory, signal others, change signal
//   handlers.
// What it may not ends the process with Said::kForbidden, a fatal signal with Said::kFault. `locate` fills a fault's
// zone, tensor and offset from its address; it runs in a signal handler.
Result<void> CloseSandbox(const SandboxRules& rules, void (*locate)(Reply& fault));

// The nonce of the question that is being worked on: reports carry it.
void SetReportNonce(std::uint64_t nonce);

// "socket" for a number of this machine's.
std::string SystemCallName(int number);

}  // namespace hone
