// What turns the matrix scales it on the way.
// hone: launch turn grid=256,256 block=32,8 args=x,scale,y
extern "C" __global__ void __launch_bounds__(256) turn(const float* x, const float* scale, float* y) {
  __shared__ float tile[32][33];
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    tile[threadIdx.y + i][threadIdx.x] = x[(blockIdx.y * 32 + threadIdx.y + i) * 8192 + blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
  const float by = scale[blockIdx.y * 32 + threadIdx.x];
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    y[(blockIdx.x * 32 + threadIdx.y + i) * 8192 + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + i] * by;
}
