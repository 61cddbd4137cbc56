// Blackwell for data centres: B200, GB200. Its products of tiles (tcgen05) are not wgmma's.
#include "target/generation.h"

namespace hone::generation_sm_100a {

HONE_ROW(Generation){.arch = "sm_100a",
                     .major = 10,
                     .minor = 0,
                     .l1_bytes = 256 << 10,
                     .limits = {.shared_bytes = 228 << 10, .block_shared_bytes = 227 << 10, .cluster_blocks = 8},
                     .has = {.tensor_maps = true, .early_launch = true}};

}  // namespace hone::generation_sm_100a
