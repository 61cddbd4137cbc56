// out_of_bounds: past the end of output 'y'
__global__ void Scribble(float* y) { y[512 * 1024] = 1; }
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, Stream(call));
  Scribble<<<1, 1, 0, Stream(call)>>>(Y(call));
  return cudaGetLastError();
}
