// Blackwell for workstations: RTX 5090, RTX PRO 6000.
#include "target/generation.h"

namespace hone::generation_sm_120 {

HONE_ROW(Generation){.arch = "sm_120",
                     .major = 12,
                     .minor = 0,
                     .l1_bytes = 128 << 10,
                     .limits = {.warps = 48,
                                .blocks = 24,
                                .shared_bytes = 100 << 10,
                                .block_shared_bytes = 99 << 10,
                                .cluster_blocks = 8},
                     .has = {.tensor_maps = true, .early_launch = true}};

}  // namespace hone::generation_sm_120
