// wrong_result
extern "C" __global__ void __launch_bounds__(256) kernel(const float4* x, const float4* w, float4* y) {
  y[blockIdx.x * 256 + threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
}
