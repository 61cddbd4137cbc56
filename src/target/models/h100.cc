// H100 SXM, from NVIDIA's datasheet.
#include "target/shipped_model.h"

namespace hone::model_h100 {

HONE_ROW(ShippedModel){.key = "h100",
                       .name = "NVIDIA H100 80GB HBM3",
                       .generation = "sm_90a",
                       .multiprocessors = 132,
                       .clock_mhz = 1980,
                       .l2_bytes = std::int64_t{50} << 20,
                       .memory_bytes = 80'000'000'000,
                       .memory_bytes_per_second = 3352e9,
                       .f16 = 989.4e12,
                       .tf32 = 494.7e12,
                       .f64 = 66.9e12,
                       .vector_f32 = 66.9e12,
                       .f8 = 1978.9e12,
                       .i8 = 1978.9e12};

}  // namespace hone::model_h100
