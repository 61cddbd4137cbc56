// Products of bf16 by the processor's own: two of them, summed in f32, in each lane of an instruction (AVX512_BF16).
// Reals of 8 bits are made bf16, which hold them all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/cpu/matmul_blocks.h"

namespace hone::dsl {

inline constexpr std::string_view kPairsDoc =
    "of bf16 and reals of 8 bits, packed and register-blocked, by the processor's products of pairs (AVX512_BF16)";

// Why A and B cannot be multiplied so.
std::optional<std::string> WhyNoPairs(const Kernel& kernel);

// Way::cost where packing is not what matters: half of what numbers take, or as the processor was measured.
double PairsCost(const Kernel& kernel);

std::vector<Setting> PairsMicroValues(const Kernel& kernel);
std::optional<std::string> CheckPairsMicro(const Kernel& kernel, const Setting& value);
inline constexpr Knob kPairsMicroKnob{"micro", "rows x columns of the result in registers", PairsMicroValues,
                                      CheckPairsMicro};

}  // namespace hone::dsl
