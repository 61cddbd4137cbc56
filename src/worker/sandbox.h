// The second wall around a candidate, inside the worker's own process (the first is bubblewrap, around it): limits, a
// filter of system calls, and handlers that say over the channel why the process ends. Linux on x86-64 and aarch64.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "protocol/protocol.h"

namespace hone {

struct SandboxRules {
  std::string library;                    // a file that may be opened, beside the system's libraries
  std::uint64_t address_space_bytes = 0;  // RLIMIT_AS; 0 = none: a device's driver reserves terabytes
  std::uint64_t data_bytes = 0;           // RLIMIT_DATA; 0 = none
  std::uint64_t allowance_bytes = 0;      // of which the candidate may use this much
  std::uint64_t cpu_seconds = 0;          // RLIMIT_CPU
  bool device = false;                    // the candidate works through a device's driver, which is open by now
};

// Closes it for good: from here on this process, all its threads, and so everything that the candidate does,
//   may: compute, allocate, make threads, read the clock, write to standard output and error (1 MiB), talk over the
//   channel, and
//     open for reading the system's libraries and what describes the processor;
//   may not: open anything else, make processes, sockets, files or shared memory, signal others, change signal
//   handlers.
// With a device it is told what it may not instead, since a driver's calls are its own business: make threads,
// processes, sockets, memory that others see or timers, signal others, change signal handlers, rename or remove, trace,
// open anything for writing but the device's own nodes, and for reading anything but what the driver reads. What it may
// not ends the process with Said::kForbidden, a fatal signal with Said::kFault. `locate` fills a fault's zone, tensor
// and offset from its address; it runs in a signal handler.
Result<void> CloseSandbox(const SandboxRules& rules, void (*locate)(Reply& fault));

// The nonce of the question that is being worked on: reports carry it.
void SetReportNonce(std::uint64_t nonce);

}  // namespace hone
