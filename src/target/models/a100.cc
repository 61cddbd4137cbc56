// A100 SXM with 80 GB, from NVIDIA's datasheet.
#include "target/shipped_model.h"

namespace hone::model_a100 {

HONE_ROW(ShippedModel){.key = "a100",
                       .name = "NVIDIA A100-SXM4-80GB",
                       .generation = "sm_80",
                       .multiprocessors = 108,
                       .clock_mhz = 1410,
                       .l2_bytes = std::int64_t{40} << 20,
                       .memory_bytes = 80'000'000'000,
                       .memory_bytes_per_second = 2039e9,
                       .f16 = 312e12,
                       .tf32 = 156e12,
                       .f64 = 19.5e12,
                       .vector_f32 = 19.5e12,
                       .i8 = 624e12};

}  // namespace hone::model_a100
