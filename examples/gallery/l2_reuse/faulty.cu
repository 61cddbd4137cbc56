// All rows of w for one x, then all of them for the next: 256 MiB come between two uses of a row.
// hone: launch distances grid=1024,4 block=256 args=x,w,y
extern "C" __global__ void __launch_bounds__(256) distances(const float4* x, const float4* w, float* y) {
  constexpr int kPacks = 8192 / 4;
  const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float4 *own = w + row * kPacks + lane, *to = x + blockIdx.y * kPacks + lane;
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
  if (lane == 0) y[blockIdx.y * 8192 + row] = sum;
}
