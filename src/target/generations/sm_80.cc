// Ampere for data centres: A100.
#include "target/generation.h"

namespace hone {

HONE_GENERATION(sm_80){.arch = "sm_80", .major = 8, .minor = 0, .l1_bytes = 192 << 10, .limits = {}, .has = {}};

}  // namespace hone
