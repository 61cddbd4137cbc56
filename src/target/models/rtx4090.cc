// GeForce RTX 4090, from NVIDIA's Ada white paper; GeForces make sums in f32 at half of the rate of those in f16.
#include "target/shipped_model.h"

namespace hone::model_rtx4090 {

HONE_ROW(ShippedModel){.key = "rtx4090",
                       .name = "NVIDIA GeForce RTX 4090",
                       .generation = "sm_89",
                       .multiprocessors = 128,
                       .clock_mhz = 2520,
                       .l2_bytes = std::int64_t{72} << 20,
                       .memory_bytes = 24'000'000'000,
                       .memory_bytes_per_second = 1008e9,
                       .f16 = 165.2e12,
                       .tf32 = 82.6e12,
                       .f64 = 1.29e12,
                       .vector_f32 = 82.6e12,
                       .f8 = 330.3e12,
                       .i8 = 660.6e12};

}  // namespace hone::model_rtx4090
