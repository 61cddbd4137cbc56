// The honest computation, y = max(x * w, 0) over [512, 1024], for modules that cheat or fail elsewhere. Pasted before
// each of them: a module is one file.
#include <hone/module.h>

__global__ void Honest(const float* x, const float* w, float* y) {
  const int i = blockIdx.x * 1024 + threadIdx.x;
  y[i] = fmaxf(x[i] * w[threadIdx.x], 0.0f);
}

// Takes its time before.
__global__ void Slow(const float* x, const float* w, float* y) {
  long long begin = clock64();
  while (clock64() - begin < 400000) {
  }
  const int i = blockIdx.x * 1024 + threadIdx.x;
  y[i] = fmaxf(x[i] * w[threadIdx.x], 0.0f);
}

static const float* X(const HoneCall* call) { return static_cast<const float*>(call->inputs[0].data); }
static const float* W(const HoneCall* call) { return static_cast<const float*>(call->parameters[0].data); }
static float* Y(const HoneCall* call) { return static_cast<float*>(call->outputs[0].data); }
static cudaStream_t Stream(const HoneCall* call) { return static_cast<cudaStream_t>(call->stream); }

[[maybe_unused]] static void Compute(const HoneCall* call, cudaStream_t stream) {
  Honest<<<512, 1024, 0, stream>>>(X(call), W(call), Y(call));
}
[[maybe_unused]] static void ComputeSlowly(const HoneCall* call, cudaStream_t stream) {
  Slow<<<512, 1024, 0, stream>>>(X(call), W(call), Y(call));
}

extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }
