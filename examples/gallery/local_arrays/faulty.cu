// Tables of 16 values, looked up 64 times: the index is data, so each thread has its own in memory.
// hone: launch look_up grid=n/256 block=128 args=x,at,y,i32:n/2
extern "C" __global__ void __launch_bounds__(128) look_up(const float2* x, const longlong2* at, float2* y, int pairs) {
  float left[16], right[16];
  const int pair = blockIdx.x * 128 + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const float2 v = x[i * pairs + pair];
    left[i] = v.x, right[i] = v.y;
  }
  float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll 8
  for (int i = 0; i < 64; ++i) {
    const longlong2 a = at[i * pairs + pair];
    sum.x += left[a.x & 15];
    sum.y += right[a.y & 15];
  }
  y[pair] = sum;
}
