// Sums of windows of 5 x 5 x 5: for each element of each a place is taken apart and an address is made, in 64 bits.
// hone: launch window grid=1,256,256 block=256 args=x,y,i64:260,i64:260
extern "C" __global__ void window(const float* x, float* y, long long height, long long width) {
  const long long column = threadIdx.x, row = blockIdx.y, level = blockIdx.z;
  float sum = 0.0f;
#pragma unroll 1
  for (long long k = 0; k < 125; ++k) sum += x[((level + k / 25) * height + row + k / 5 % 5) * width + column + k % 5];
  y[(level * (height - 4) + row) * (width - 4) + column] = sum;
}
