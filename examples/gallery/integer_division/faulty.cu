// Where an element is, by divisions by numbers that are known only when it runs.
// hone: launch lower grid=n/1024 block=256 args=x,y,u32:extent(x,1),u32:extent(x,2)
extern "C" __global__ void lower(const float4* x, float4* y, unsigned rows, unsigned columns) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 v = x[i];
  const float in[4] = {v.x, v.y, v.z, v.w};
  float out[4];
#pragma unroll
  for (unsigned e = 0; e < 4; ++e) {
    const unsigned at = 4 * i + e;
    out[e] = at % columns <= at / columns % rows ? fmaxf(in[e], 0.0f) : 0.0f;
  }
  y[i] = make_float4(out[0], out[1], out[2], out[3]);
}
