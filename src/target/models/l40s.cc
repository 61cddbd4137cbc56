// L40S, from NVIDIA's datasheet.
#include "target/shipped_model.h"

namespace hone::model_l40s {

HONE_ROW(ShippedModel){.key = "l40s",
                       .name = "NVIDIA L40S",
                       .generation = "sm_89",
                       .multiprocessors = 142,
                       .clock_mhz = 2520,
                       .l2_bytes = std::int64_t{96} << 20,
                       .memory_bytes = 48'000'000'000,
                       .memory_bytes_per_second = 864e9,
                       .f16 = 362e12,
                       .tf32 = 183e12,
                       .f64 = 1.43e12,
                       .vector_f32 = 91.6e12,
                       .f8 = 733e12,
                       .i8 = 733e12};

}  // namespace hone::model_l40s
