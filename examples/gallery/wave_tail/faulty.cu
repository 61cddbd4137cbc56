// A hundred blocks go over all of it: 32 multiprocessors of an H200 have nothing to do.
// hone: launch relu grid=100 block=1024 args=x,y,i32:n/4
extern "C" __global__ void __launch_bounds__(1024) relu(const float4* x, float4* y, int n) {
  for (int i = blockIdx.x * 1024 + threadIdx.x; i < n; i += gridDim.x * 1024) {
    const float4 v = x[i];
    y[i] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
  }
}
