// GeForce RTX 5090, from NVIDIA's Blackwell white paper; GeForces make sums in f32 at half of the rate of those in f16.
#include "target/shipped_model.h"

namespace hone::model_rtx5090 {

HONE_ROW(ShippedModel){.key = "rtx5090",
                       .name = "NVIDIA GeForce RTX 5090",
                       .generation = "sm_120",
                       .multiprocessors = 170,
                       .clock_mhz = 2407,
                       .l2_bytes = std::int64_t{96} << 20,
                       .memory_bytes = 32'000'000'000,
                       .memory_bytes_per_second = 1792e9,
                       .f16 = 209.5e12,
                       .tf32 = 104.8e12,
                       .f64 = 1.64e12,
                       .vector_f32 = 104.8e12,
                       .f8 = 419e12,
                       .i8 = 838e12};

}  // namespace hone::model_rtx5090
