// Turned element by element: neighbouring threads write whole rows apart.
// hone: launch turned grid=256,1024 block=32,8 args=x,y
extern "C" __global__ void __launch_bounds__(256) turned(const float* x, float* y) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  y[column * 8192 + row] = fmaxf(x[row * 8192 + column], 0.0f);
}
