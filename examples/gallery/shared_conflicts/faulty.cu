// Turned in tiles whose columns lie in one bank of shared memory.
// hone: launch turned grid=256,256 block=32,8 args=x,y
extern "C" __global__ void __launch_bounds__(256) turned(const float* x, float* y) {
  __shared__ float tile[32][32];
  const int column = blockIdx.x * 32, row = blockIdx.y * 32;
#pragma unroll
  for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = x[(row + i) * 8192 + column + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.y; i < 32; i += 8)
    y[(column + i) * 8192 + row + threadIdx.x] = fmaxf(tile[threadIdx.x][i], 0.0f);
}
