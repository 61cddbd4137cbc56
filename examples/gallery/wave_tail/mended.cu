// As many blocks as it takes: 124 waves, of which the last is no matter.
// hone: launch relu grid=n/4096 block=1024 args=x,y,i32:n/4
extern "C" __global__ void __launch_bounds__(1024) relu(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * 1024 + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  y[i] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
}
