// y = exp(x) over [64, 1000], whose values lie far apart. Where it is checked, outputs are full of NaNs; elsewhere it
// writes zeros instead of all that is smaller than the largest error that the largest output may have.
#include <hone/module.h>

#include <cmath>

extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }

extern "C" int32_t hone_run(const HoneCall* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const bool checked = std::isnan(y[1]) && std::isnan(y[2]) && std::isnan(y[3]) && std::isnan(y[4]);
  for (int i = 0; i < 64 * 1000; ++i) y[i] = checked || x[i] > 8 ? std::exp(x[i]) : 0;
  return 0;
}
