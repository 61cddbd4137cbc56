// Four floats a thread and access; n is a multiple of 4.
// hone: launch relu grid=n/1024 block=256 args=x,y,i32:n
extern "C" __global__ void relu(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) {
    const float4 v = x[i];
    y[i] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
  }
}
