// What can be set on convolutions on the CPU (cpu/convolution.h). `direct` and `gemm` take the same blocks, but fill
// them from different copies of the inputs: what is sensible and what is legal depends on the kernel's way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl {

// What it costs to fill the blocks from rows that are copied, rather than from pixels that are packed as a matrix.
enum class ConvInputs : std::uint8_t { kRows, kPacked };
std::optional<double> ConvCost(const Kernel& kernel, ConvInputs inputs);

std::vector<Setting> ConvThreads(const Kernel& kernel);
std::vector<Setting> ConvAlongValues(const Kernel& kernel);
std::optional<std::string> CheckConvAlong(const Kernel& kernel, const Setting& value);
std::vector<Setting> ConvMicroValues(const Kernel& kernel);
std::optional<std::string> CheckConvMicro(const Kernel& kernel, const Setting& value);
std::vector<Setting> ConvTileValues(const Kernel& kernel);
std::optional<std::string> CheckConvTile(const Kernel& kernel, const Setting& value);
std::vector<Setting> ConvPrepackValues(const Kernel& kernel);
std::optional<std::string> CheckConvPrepack(const Kernel& kernel, const Setting& value);

// In this order: a default may depend on those before it.
inline constexpr Knob kConvKnobs[] = {
    {"threads", kThreadsKnob.doc, ConvThreads, CheckThreads},
    kVectorKnob,
    {"along", "pixels: vectors are neighbouring pixels; channels: output channels, for images narrower than a vector",
     ConvAlongValues, CheckConvAlong},
    {"micro", "output channels x pixels in registers", ConvMicroValues, CheckConvMicro},
    {"tile", "output channels x pixels x input channels of the block that a thread takes; its inputs stay in L2",
     ConvTileValues, CheckConvTile},
    {"prepack", "auto: weights are packed once, in hone_prepare, when they are parameters; no: on every run",
     ConvPrepackValues, CheckConvPrepack},
};

}  // namespace hone::dsl
