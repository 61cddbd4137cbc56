// crash: ILLEGAL_ADDRESS
__global__ void Scribble(float* y) { y[size_t{1} << 40] = 1; }
extern "C" int32_t hone_run(const HoneCall* call) {
  Scribble<<<1, 1, 0, Stream(call)>>>(Y(call));
  return cudaGetLastError();
}
