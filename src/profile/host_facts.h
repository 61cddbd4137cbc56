// What the compiled code of a module for the processor says: which vectors it computes in, and what it does in their
// place. There are no counters here; objdump (binutils) reads the instructions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "target/device_model.h"

namespace hone {

// Who wrote what a module was compiled from: of foreign source, objdump is confined while it reads what became of it.
enum class Source : std::uint8_t { kForeign, kOurs };

// One profile a function that computes reals in a loop, the one with the most of it first. Of an x86-64 module; of
// another there are none. kNotFound without objdump; the message says how to get it.
Result<std::vector<Profile>> HostProfiles(const std::string& library, const DeviceModel& machine,
                                          Source source = Source::kForeign);

// The same of what `objdump -d --no-show-raw-insn` says.
std::vector<Profile> ReadDisassembly(std::string_view text, const DeviceModel& machine);

}  // namespace hone
