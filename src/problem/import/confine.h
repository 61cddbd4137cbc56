// A file of somebody else's is code, and importing it runs it. Where bubblewrap works, it runs without a network, in
// namespaces of its own, with our files read-only, a /tmp of its own, and one folder that it may write to.
#pragma once

#include <string>
#include <string_view>

#include "base/process.h"

namespace hone {

// Whether Confine can do that here. If not, limits of time and memory are all that holds such code.
bool CanConfine();
inline constexpr std::string_view kNotConfined =
    "the file ran with your rights, under limits of time and memory only: bubblewrap does not work here (`hone "
    "doctor` says why)";

// Makes `command`, which runs `file` with the interpreter `python`, run confined; `writable` is an existing folder. The
// paths are seen inside as they are outside. Its exit is then bubblewrap's: read it with ConfinedExit. CanConfine()
// holds.
void Confine(Command& command, const std::string& file, const std::string& python, const std::string& writable);

// bubblewrap hands on a signal as the status 128 + its number.
Exit ConfinedExit(Exit exit);

}  // namespace hone
