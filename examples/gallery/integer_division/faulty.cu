// A bias a column: the column is a remainder by a number that is known only when it runs.
// hone: launch add_bias grid=n/1024 block=256 args=x,bias,y,u32:n/4,u32:count(bias)/4
extern "C" __global__ void add_bias(const float4* x, const float4* bias, float4* y, unsigned n, unsigned columns) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i], b = bias[i % columns];
  y[i] = make_float4(v.x + b.x, v.y + b.y, v.z + b.z, v.w + b.w);
}
