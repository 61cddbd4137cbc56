// The oracle's results (oracle.h) of given inputs as a device computes them, for who wants to look at them.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "oracle/oracle.h"

namespace hone {

// On the first CUDA device. inputs: one pointer a tensor of role input or parameter, in the problem's order, to memory
// of the host. One Expected an output. Fails with kNotFound without a device, kDevice when it has too little memory.
Result<std::vector<Expected>> ComputeOnDevice(const Graph& graph, std::span<const void* const> inputs);

}  // namespace hone
