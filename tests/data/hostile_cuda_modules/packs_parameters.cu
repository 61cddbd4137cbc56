// accepted
// timed
// Work on the parameters that is done once.
__global__ void Double(const float* w, float* packed) { packed[threadIdx.x] = 2 * w[threadIdx.x]; }
__global__ void Scaled(const float* x, const float* packed, float* y) {
  const int i = blockIdx.x * 1024 + threadIdx.x;
  y[i] = fmaxf(x[i] * packed[threadIdx.x] * 0.5f, 0.0f);
}
extern "C" int32_t hone_prepare(const HoneCall* call, void** state) {
  if (const auto status = cudaMalloc(state, 4096)) return status;
  Double<<<1, 1024, 0, Stream(call)>>>(W(call), static_cast<float*>(*state));
  return cudaGetLastError();
}
extern "C" void hone_release(void* state) { cudaFree(state); }
extern "C" int32_t hone_run(const HoneCall* call) {
  Scaled<<<512, 1024, 0, Stream(call)>>>(X(call), static_cast<const float*>(call->state), Y(call));
  return cudaGetLastError();
}
