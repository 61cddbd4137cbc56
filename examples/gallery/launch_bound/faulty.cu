// Half a microsecond of work in two launches.
// hone: buffer scaled f32 n
// hone: launch multiply grid=2,132 block=256 args=x,scale,scaled
// hone: launch relu grid=2,132 block=256 args=scaled,y
extern "C" __global__ void __launch_bounds__(256) multiply(const float4* x, const float4* scale, float4* scaled) {
  const int column = blockIdx.x * 256 + threadIdx.x, at = blockIdx.y * 512 + column;
  const float4 v = x[at], s = scale[column];
  scaled[at] = make_float4(v.x * s.x, v.y * s.y, v.z * s.z, v.w * s.w);
}
extern "C" __global__ void __launch_bounds__(256) relu(const float4* scaled, float4* y) {
  const int at = blockIdx.y * 512 + blockIdx.x * 256 + threadIdx.x;
  const float4 v = scaled[at];
  y[at] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
}
