// The bins lie in shared memory, a column a thread.
extern "C" __global__ void __launch_bounds__(128) bins(const uint4* x, int* y, int rows) {
  __shared__ int count[16][128];
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= rows) return;
  for (int b = 0; b < 16; ++b) count[b][threadIdx.x] = 0;
  for (int i = 0; i < 64; ++i) {
    const uint4 v = x[row * 64 + i];
    ++count[v.x & 15][threadIdx.x];
    ++count[v.y & 15][threadIdx.x];
    ++count[v.z & 15][threadIdx.x];
    ++count[v.w & 15][threadIdx.x];
  }
  for (int b = 0; b < 16; ++b) y[row * 16 + b] = count[b][threadIdx.x];
}
