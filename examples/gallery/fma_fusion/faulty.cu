// A polynomial of 64 terms whose products and sums are rounded one by one.
// hone: launch polynomial grid=n/1024 block=256 args=x,y,i32:n/4
extern "C" __global__ void polynomial(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  float4 s = make_float4(1.0f, 1.0f, 1.0f, 1.0f);
#pragma unroll
  for (int k = 0; k < 64; ++k) {
    s.x = __fadd_rn(__fmul_rn(s.x, v.x), 0.5f + k);
    s.y = __fadd_rn(__fmul_rn(s.y, v.y), 0.5f + k);
    s.z = __fadd_rn(__fmul_rn(s.z, v.z), 0.5f + k);
    s.w = __fadd_rn(__fmul_rn(s.w, v.w), 0.5f + k);
  }
  y[i] = s;
}
