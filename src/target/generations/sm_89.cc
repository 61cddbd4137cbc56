// Ada: L4, L40S, RTX 4090.
#include "target/generation.h"

namespace hone::generation_sm_89 {

HONE_ROW(Generation){.arch = "sm_89",
                     .major = 8,
                     .minor = 9,
                     .l1_bytes = 128 << 10,
                     .limits = {.warps = 48, .blocks = 24, .shared_bytes = 100 << 10, .block_shared_bytes = 99 << 10},
                     .has = {}};

}  // namespace hone::generation_sm_89
