// The built-in expert: a proposer that needs no model and no network. It partitions the graph into fusion groups,
// writes them as a program of the kernel language (dsl/), and improves programs by moves on their kernels' settings,
// best predicted first: those that findings ask for, and its own.
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
// With `learned` it acts on what was found of the attempt that it improves: the moves of its findings, the largest gain
// that is predicted first, among them its own changes at half of what they predict of themselves. Promises are scaled
// by what those before them came to, in `learned` and in the run itself; a change that made another attempt of the run
// clearly slower comes last. Null: its own changes alone, as they predict. Saving energy it also tries, first of all,
// the settings that are there for that (Knob::saves_energy). With `recalled` it begins with the programs whose pieces
// won in earlier runs, with the settings of those.
std::unique_ptr<Proposer> MakeExpert(Graph graph, DeviceModel machine, const Learned* learned = nullptr,
                                     Saving saving = Saving::kTime, const Recalled* recalled = nullptr);

}  // namespace hone
