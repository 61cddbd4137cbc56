// A row of 192 KiB is read once for its mean and once more to take that off; eight blocks a multiprocessor do so at a
// time, and L2 does not hold all of their rows.
// hone: launch centred grid=1056 block=256 args=x,y
extern "C" __global__ void __launch_bounds__(256, 8) centred(const float4* x, float4* y) {
  constexpr int kPacks = 49152 / 4;
  __shared__ float parts[8];
  const float4* row = x + blockIdx.x * kPacks;
  float sum = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < kPacks; i += 256) {
    const float4 v = row[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  float mean = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; ++i) mean += parts[i];
  mean /= 49152;
#pragma unroll 4
  for (int i = threadIdx.x; i < kPacks; i += 256) {
    const float4 v = row[i];
    y[blockIdx.x * kPacks + i] = make_float4(v.x - mean, v.y - mean, v.z - mean, v.w - mean);
  }
}
