// Which CUDA devices a process that we start may see.
#pragma once

#include <string>
#include <vector>

namespace hone::cuda {

// Adds CUDA_VISIBLE_DEVICES to its environment: `device` alone, a UUID; where that is empty what we see ourselves, and
// nothing where nobody said.
void ShowDevices(std::vector<std::string>& environment, const std::string& device = {});

}  // namespace hone::cuda
