// The processors' energy as Linux tells it (Documentation/power/powercap, "RAPL"): files that count microjoules and
// begin again at 0 after a range that another file names.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "target/energy_counter.h"

namespace hone {

// Of all packages together, memory not included. kNotFound where the system has no such files or they may not be read,
// and what would mend that.
Result<std::unique_ptr<EnergyCounter>> OpenRapl(const std::string& folder = "/sys/class/powercap");

}  // namespace hone
