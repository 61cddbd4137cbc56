// One float a thread and access.
// hone: launch relu grid=n/256 block=256 args=x,y,i32:n
extern "C" __global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
