// wrong_result
// Products in half precision under the fp32 contract.
#include <cuda_fp16.h>
extern "C" __global__ void __launch_bounds__(256) kernel(const float4* x, const float4* w, float4* y) {
  const float4 a = x[blockIdx.x * 256 + threadIdx.x], b = w[threadIdx.x];
  const auto product = [](float p, float q) { return fmaxf(__half2float(__hmul(__float2half(p), __float2half(q))), 0); };
  y[blockIdx.x * 256 + threadIdx.x] = {product(a.x, b.x), product(a.y, b.y), product(a.z, b.z), product(a.w, b.w)};
}
