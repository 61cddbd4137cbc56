// The honest computation, for modules that cheat or fail elsewhere. Pasted before each of them: a module is one file.
#include <hone/module.h>

static void Compute(const HoneCall* call, int rows) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  const float* b = static_cast<const float*>(call->parameters[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < 1000; ++i) {
      const float sum = x[row * 1000 + i] + b[i];
      y[row * 1000 + i] = sum > 0 ? sum : 0;
    }
  }
}

extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }
