// A file of somebody else's is code, and importing it runs it. Where bubblewrap works, it runs without a network, in
// namespaces of its own, with our files read-only and those with keys and passwords hidden, a /tmp of its own, and one
// folder that it may write to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"

namespace hone {

// Whether Confine can do that here. If not, limits of time and memory are all that holds such code.
bool CanConfine();
inline constexpr std::string_view kNotConfined =
    "the file ran with your rights, under limits of time, memory and processes only: bubblewrap does not work here "
    "(`hone doctor` says why)";

// Command::most_processes of who runs such a file: torch.compile has a process for each of up to 32 cores, each of
// which may have a compiler's three.
inline constexpr int kMostProcessesOfAFile = 256;

struct ConfineOptions {
  std::vector<std::string> files;  // that the command runs
  std::string writable = {};       // an existing folder; empty: only the /tmp of its own
  bool device = false;             // the nodes of NVIDIA's devices are seen
};

// Makes `command`, which runs a file with the interpreter argv[0], run confined. The paths are seen inside as they are
// outside. Its exit is then bubblewrap's: read it with ConfinedExit. CanConfine() holds.
void Confine(Command& command, const ConfineOptions& options);

// bubblewrap hands on a signal as the status 128 + its number.
Exit ConfinedExit(Exit exit);

}  // namespace hone
