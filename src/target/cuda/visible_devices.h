// What a process that we start is told of CUDA by its environment.
#pragma once

#include <string>
#include <vector>

namespace hone::cuda {

// Which devices it may see, in place of what was said before: `device` alone, a UUID; where that is empty what we see
// ourselves, and nothing where nobody said. A driver takes a fifth of a second for each device that is seen, and one
// process after the other on the whole machine.
void ShowDevices(std::vector<std::string>& environment, const std::string& device = {});

// It asks for all of its work on one stream: a context with one queue opens and closes in half of the time.
void UseOneQueue(std::vector<std::string>& environment);

}  // namespace hone::cuda
