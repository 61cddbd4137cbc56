// Sums of windows of 5 x 5 x 5, mirrored at the edges: for every element all places are mirrored and an address is made.
__device__ long long Mirrored(long long at, long long extent) {
  at = at < 0 ? -at : at;
  return at >= extent ? 2 * extent - 2 - at : at;
}
extern "C" __global__ void window(const float* x, float* y, long long depth, long long height, long long width) {
  const long long column = blockIdx.x * 256ll + threadIdx.x, row = blockIdx.y, level = blockIdx.z;
  float sum = 0.0f;
#pragma unroll 1
  for (long long k = 0; k < 125; ++k) {
    const long long at = Mirrored(level + k / 25 - 2, depth), down = Mirrored(row + k / 5 % 5 - 2, height);
    sum += x[(at * height + down) * width + Mirrored(column + k % 5 - 2, width)];
  }
  y[(level * height + row) * width + column] = sum;
}
