// What the expert begins with: the graph cut into kernels in several ways, each cut written in those that may pay on
// the machine.
//
//   everything fused ---- products in TF32 ---- norms between convolutions turned ---- as they are
//   products apart        products of f32       channels last
//                         sums that lie as products do
//                         what comes first of products found in groups of their columns
//   ...
#pragma once

#include <string>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/program.h"
#include "graph/graph.h"
#include "target/device_model.h"

namespace hone::expert {

struct Beginning {
  dsl::Program program;        // without the settings that are chosen for it
  dsl::KernelProgram kernels;  // what the checker made of it, with them
  std::string words;           // how the graph was cut, for people
};

// In no order of merit. Cuts that come to the same pieces are there once; programs may be the same all the same.
// `missing`, if it is not null, is given a line for each cut that no program came of.
std::vector<Beginning> BeginningsIn(const Graph& graph, const DeviceModel& machine,
                                    std::vector<std::string>* missing = nullptr);

}  // namespace hone::expert
