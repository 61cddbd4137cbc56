// What it should be: y = max(x + b, 0) over [64, 1000]. Accepted before and after each of the others.
#include <hone/module.h>

extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }

extern "C" int32_t hone_run(const HoneCall* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  const float* b = static_cast<const float*>(call->parameters[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
#pragma omp parallel for num_threads(call->threads)
  for (int row = 0; row < 64; ++row) {
    for (int i = 0; i < 1000; ++i) {
      const float sum = x[row * 1000 + i] + b[i];
      y[row * 1000 + i] = sum > 0 ? sum : 0;
    }
  }
  return 0;
}
