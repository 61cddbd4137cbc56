// One thread of a block adds up what all threads have, and 1023 of them wait for it at a barrier.
// hone: launch centred grid=2112 block=1024 args=x,y
extern "C" __global__ void __launch_bounds__(1024, 2) centred(const float4* x, float4* y) {
  constexpr int kPacks = 16384 / 4;
  __shared__ float parts[4 * 1024], mean;
  const float4* row = x + blockIdx.x * kPacks + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) v[i] = row[1024 * i];
#pragma unroll
  for (int i = 0; i < 4; ++i) parts[1024 * i + threadIdx.x] = (v[i].x + v[i].y) + (v[i].z + v[i].w);
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0.0f;
#pragma unroll 16
    for (int i = 0; i < 4 * 1024; ++i) sum += parts[i];
    mean = sum / 16384;
  }
  __syncthreads();
  const float off = mean;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    y[blockIdx.x * kPacks + 1024 * i + threadIdx.x] =
        make_float4(v[i].x - off, v[i].y - off, v[i].z - off, v[i].w - off);
}
