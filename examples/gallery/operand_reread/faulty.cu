// Each result has a kernel of its own, which reads all of x.
// hone: launch positive grid=n/4096 block=1024 args=x,up
// hone: launch negated grid=n/4096 block=1024 args=x,down
extern "C" __global__ void __launch_bounds__(1024) positive(const float4* x, float4* up) {
  const int i = blockIdx.x * 1024 + threadIdx.x;
  const float4 v = x[i];
  up[i] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
}
extern "C" __global__ void __launch_bounds__(1024) negated(const float4* x, float4* down) {
  const int i = blockIdx.x * 1024 + threadIdx.x;
  const float4 v = x[i];
  down[i] = make_float4(-v.x, -v.y, -v.z, -v.w);
}
