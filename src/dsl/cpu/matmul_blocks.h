// The blocks in which a product is made, which what is made of numbers and of pairs have in common: their knobs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/knobs.h"

namespace hone::dsl {

// Why the product is not made in blocks, or nothing.
std::optional<std::string> WhyNoBlocksOfProducts(const Kernel& kernel);

// Rows x columns in registers, the best first. `unpacked`: rows of A are read where they lie.
std::vector<Setting> MicroBlocks(const Kernel& kernel, bool unpacked);
std::optional<std::string> CheckMicro(const Kernel& kernel, const Setting& value);

std::vector<Setting> PackedMicroValues(const Kernel& kernel);
inline constexpr Knob kPackedMicroKnob{"micro", "rows x columns of the result in registers", PackedMicroValues,
                                       CheckMicro};

std::vector<Setting> TileValues(const Kernel& kernel);
std::optional<std::string> CheckTile(const Kernel& kernel, const Setting& value);
inline constexpr Knob kTileKnob{"tile",
                                "rows x columns x depth of the block that a thread takes; rows x depth of A stay in L2",
                                TileValues, CheckTile};

std::vector<Setting> PrepackValues(const Kernel& kernel);
std::optional<std::string> CheckPrepack(const Kernel& kernel, const Setting& value);
inline constexpr Knob kPrepackKnob{"prepack",
                                   "auto: B is packed once, in hone_prepare, when it is a parameter; no: on every run",
                                   PrepackValues, CheckPrepack};

}  // namespace hone::dsl
