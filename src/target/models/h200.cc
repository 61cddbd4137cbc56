// H200 SXM, from NVIDIA's datasheet.
#include "target/shipped_model.h"

namespace hone::model_h200 {

HONE_ROW(ShippedModel){.key = "h200",
                       .name = "NVIDIA H200",
                       .generation = "sm_90a",
                       .multiprocessors = 132,
                       .clock_mhz = 1980,
                       .l2_bytes = std::int64_t{60} << 20,
                       .memory_bytes = 141'000'000'000,
                       .memory_bytes_per_second = 4800e9,
                       .f16 = 989.4e12,
                       .tf32 = 494.7e12,
                       .f64 = 66.9e12,
                       .vector_f32 = 66.9e12,
                       .f8 = 1978.9e12,
                       .i8 = 1978.9e12};

}  // namespace hone::model_h200
