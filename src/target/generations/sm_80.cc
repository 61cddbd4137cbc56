// Ampere for data centres: A100.
#include "target/generation.h"

namespace hone::generation_sm_80 {

HONE_ROW(Generation){.arch = "sm_80", .major = 8, .minor = 0, .l1_bytes = 192 << 10, .limits = {}, .has = {}};

}  // namespace hone::generation_sm_80
