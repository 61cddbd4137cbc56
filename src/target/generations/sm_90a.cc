// Hopper: H100, H200, GH200.
#include "target/generation.h"

namespace hone {

HONE_GENERATION(sm_90a){.arch = "sm_90a",
                        .major = 9,
                        .minor = 0,
                        .l1_bytes = 256 << 10,
                        .limits = {.shared_bytes = 228 << 10, .block_shared_bytes = 227 << 10, .cluster_blocks = 8},
                        .has = {.tensor_maps = true, .wgmma = true}};

}  // namespace hone
