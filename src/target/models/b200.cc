// B200 SXM at 1000 W, from NVIDIA's datasheet.
#include "target/shipped_model.h"

namespace hone::model_b200 {

HONE_ROW(ShippedModel){.key = "b200",
                       .name = "NVIDIA B200",
                       .generation = "sm_100a",
                       .multiprocessors = 148,
                       .clock_mhz = 1965,
                       .l2_bytes = std::int64_t{126} << 20,
                       .memory_bytes = 180'000'000'000,
                       .memory_bytes_per_second = 8000e9,
                       .f16 = 2250e12,
                       .tf32 = 1125e12,
                       .f64 = 40e12,
                       .vector_f32 = 80e12,
                       .f8 = 4500e12,
                       .i8 = 4500e12};

}  // namespace hone::model_b200
