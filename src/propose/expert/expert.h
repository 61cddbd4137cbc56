// The built-in expert: a proposer that needs no model and no network. It partitions the graph into fusion groups,
// writes them as a program of the kernel language (dsl/), and improves programs by moves on their kernels' settings,
// best predicted first.
#pragma once

#include <memory>
#include <string_view>

#include "graph/graph.h"
#include "propose/proposer.h"
#include "target/device_model.h"

namespace hone {

// Proposal::key of the definitions' loop nests as they stand: right for every graph, and no improvement on anything.
inline constexpr std::string_view kLoopNestKey = "loop nest";

// `machine` may be uncalibrated (LoadCalibration failed, DescribeMachine served): the ranking is then coarser.
std::unique_ptr<Proposer> MakeExpert(Graph graph, DeviceModel machine);

}  // namespace hone
