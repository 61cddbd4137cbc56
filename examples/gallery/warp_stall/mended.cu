// Each warp adds up its own, and then all of them the 32 sums of the warps.
// hone: launch centred grid=2112 block=1024 args=x,y
extern "C" __global__ void __launch_bounds__(1024, 2) centred(const float4* x, float4* y) {
  constexpr int kPacks = 16384 / 4;
  __shared__ float parts[32];
  const float4* row = x + blockIdx.x * kPacks + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) v[i] = row[1024 * i];
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += (v[i].x + v[i].y) + (v[i].z + v[i].w);
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  float off = parts[threadIdx.x % 32];
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) off += __shfl_xor_sync(~0u, off, lane);
  off /= 16384;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    y[blockIdx.x * kPacks + 1024 * i + threadIdx.x] =
        make_float4(v[i].x - off, v[i].y - off, v[i].z - off, v[i].w - off);
}
