// Hopper: H100, H200, GH200.
#include "target/generation.h"

namespace hone::generation_sm_90a {

HONE_ROW(Generation){.arch = "sm_90a",
                     .major = 9,
                     .minor = 0,
                     .l1_bytes = 256 << 10,
                     .limits = {.shared_bytes = 228 << 10, .block_shared_bytes = 227 << 10, .cluster_blocks = 8},
                     .has = {.tensor_maps = true, .wgmma = true, .early_launch = true}};

}  // namespace hone::generation_sm_90a
