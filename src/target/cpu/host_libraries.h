// Libraries that modules for a processor load by their names when they run.
#pragma once

#include <optional>
#include <string>

#include "target/device_model.h"

namespace hone {

// Where the loader finds a library, by its name or path; nothing where it does not, or outside of the system's folders:
// a module that is being judged may read those alone (worker/sandbox.cc). Loads it for a moment.
std::optional<std::string> FindHostLibrary(const std::string& name);

// oneDNN; nothing if it is not here. Looks once a process. Thread-safe.
const std::optional<std::string>& FindOneDnn();

// This machine's processor, as DescribeMachine says, with the libraries that are found.
DeviceModel DescribeHost();

}  // namespace hone
