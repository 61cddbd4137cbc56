// One kernel turns the matrix, another one scales what was turned.
// hone: buffer turned f32 n
// hone: launch turn grid=256,256 block=32,8 args=x,turned
// hone: launch multiply grid=8,8192 block=256 args=turned,scale,y
extern "C" __global__ void __launch_bounds__(256) turn(const float* x, float* turned) {
  __shared__ float tile[32][33];
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    tile[threadIdx.y + i][threadIdx.x] = x[(blockIdx.y * 32 + threadIdx.y + i) * 8192 + blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    turned[(blockIdx.x * 32 + threadIdx.y + i) * 8192 + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + i];
}
extern "C" __global__ void __launch_bounds__(256) multiply(const float4* turned, const float4* scale, float4* y) {
  const int column = blockIdx.x * 256 + threadIdx.x, at = blockIdx.y * 2048 + column;
  const float4 v = turned[at], s = scale[column];
  y[at] = make_float4(v.x * s.x, v.y * s.y, v.z * s.z, v.w * s.w);
}
