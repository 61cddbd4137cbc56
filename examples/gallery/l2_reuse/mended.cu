// The blocks of the four x that read the same rows of w are neighbours: one finds in L2 what another brought.
// hone: launch distances grid=4,1024 block=256 args=x,w,y
extern "C" __global__ void __launch_bounds__(256) distances(const float4* x, const float4* w, float* y) {
  constexpr int kPacks = 8192 / 4;
  const int row = blockIdx.y * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float4 *own = w + row * kPacks + lane, *to = x + blockIdx.x * kPacks + lane;
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < kPacks; i += 8 * 32) {
    float4 v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = own[i + 32 * j];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float4 t = to[i + 32 * j];
      sum += (fabsf(t.x - v[j].x) + fabsf(t.y - v[j].y)) + (fabsf(t.z - v[j].z) + fabsf(t.w - v[j].w));
    }
  }
#pragma unroll
  for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
  if (lane == 0) y[blockIdx.x * 8192 + row] = sum;
}
