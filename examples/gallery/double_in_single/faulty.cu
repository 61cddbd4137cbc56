// Literals without an f: each float becomes a double and back.
// hone: launch smooth grid=n/1024 block=256 args=x,y,i32:n/4
extern "C" __global__ void smooth(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  y[i] = make_float4(v.x * (0.7 * v.x + 0.1) - 0.3, v.y * (0.7 * v.y + 0.1) - 0.3, v.z * (0.7 * v.z + 0.1) - 0.3,
                     v.w * (0.7 * v.w + 0.1) - 0.3);
}
