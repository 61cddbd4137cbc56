// A tile of 64 x 64: eight blocks.
// hone: launch turned grid=128,128 block=256 shared=17408 args=x,y
extern "C" __global__ void __launch_bounds__(256, 8) turned(const float4* x, float4* y) {
  constexpr int kEdge = 64, kRow = kEdge + 4;
  extern __shared__ float tile[];
#pragma unroll
  for (int i = 0; i < kEdge * kEdge / 4 / 256; ++i) {
    const int at = i * 256 + threadIdx.x, row = at / (kEdge / 4), pack = at % (kEdge / 4);
    const float4 v = x[(blockIdx.y * kEdge + row) * 2048 + blockIdx.x * (kEdge / 4) + pack];
    float* to = tile + 4 * pack * kRow + row;
    to[0] = fmaxf(v.x, 0.0f);
    to[kRow] = fmaxf(v.y, 0.0f);
    to[2 * kRow] = fmaxf(v.z, 0.0f);
    to[3 * kRow] = fmaxf(v.w, 0.0f);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kEdge * kEdge / 4 / 256; ++i) {
    const int at = i * 256 + threadIdx.x, row = at / (kEdge / 4), pack = at % (kEdge / 4);
    y[(blockIdx.x * kEdge + row) * 2048 + blockIdx.y * (kEdge / 4) + pack] = *reinterpret_cast<const float4*>(tile + row * kRow + 4 * pack);
  }
}
