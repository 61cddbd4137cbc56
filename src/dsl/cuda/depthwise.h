// Writes depthwise convolutions for CUDA: a group has one input channel. The rows of an image that a tile of outputs
// reaches are copied into shared memory once, with zeros where the padding is; each thread then has neighbouring
// columns of the tile and goes down its rows, of which every element is taken for all windows that it is in. Sums are
// made in float or double; the chain ends each output before it is stored.
//
//   rows    outputs of a tile down, all a thread's: the more, the fewer rows are copied twice
//   across  outputs of a thread side by side, stored as one
//   block   threads of a block: those of a tile, or of several narrow ones
//   pack    neighbouring elements that are copied as one
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/cuda/writer.h"
#include "dsl/family.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Whether it is one, and the inputs under a few outputs fit into shared memory.
bool IsDepthwise(const Kernel& kernel);
// Whether neighbouring columns of the input are neighbours in memory.
bool ReadsAlongRows(const Kernel& kernel);

void EmitDepthwiseCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);

// Of `rows`, `across` and `pack`.
std::vector<Setting> DepthwiseRowsValues(const Kernel& kernel);
std::vector<Setting> DepthwiseAcrossValues(const Kernel& kernel);
std::vector<Setting> DepthwisePackValues(const Kernel& kernel);
std::optional<std::string> CheckDepthwiseRows(const Kernel& kernel, const Setting& value);
std::optional<std::string> CheckDepthwiseAcross(const Kernel& kernel, const Setting& value);

}  // namespace hone::dsl
