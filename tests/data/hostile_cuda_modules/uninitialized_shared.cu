// nonfinite
// Adds to shared memory that nobody has set to zero.
__global__ void Sum(const float* x, const float* w, float* y) {
  __shared__ float total[1024];
  const int i = blockIdx.x * 1024 + threadIdx.x;
  total[threadIdx.x] += x[i] * w[threadIdx.x];
  y[i] = total[threadIdx.x] > 0 ? total[threadIdx.x] : 0 * total[threadIdx.x];
  total[threadIdx.x] = 0;
}
extern "C" int32_t hone_run(const HoneCall* call) {
  Sum<<<512, 1024, 0, Stream(call)>>>(X(call), W(call), Y(call));
  return cudaGetLastError();
}
