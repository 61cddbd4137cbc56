#include "evaluate/trial.h"

namespace hone {
namespace {

constexpr int kWideExponent = 20;  // factors from 2^-20 to 2^20: beyond the 24 bits of f32 within one sum

// 2^10: far enough to overflow what squares in f16 or relies on a range, near enough for exp to stay finite on small
// inputs.
const DrawSpec kSpecs[kDraws] = {
    {"seed 1", 1, {}},
    {"seed 2", 2, {}},
    {"seed 3", 3, {}},
    {"scale 2^-10", 4, {.name = "scale 2^-10", .scale = 0x1p-10, .outliers = false}},
    {"scale 2^10", 5, {.name = "scale 2^10", .scale = 0x1p10, .outliers = false}},
    {"outliers", 6, {.name = "outliers", .scale = 1, .outliers = true}},
    {"very wide", 7, {.name = "very wide", .scale = 1, .outliers = false, .widen = kWideExponent}},
    {"seed 4, after timing", 8, {}},
};

}  // namespace

const DrawSpec& DrawSpecOf(std::size_t which) { return kSpecs[which]; }

}  // namespace hone
