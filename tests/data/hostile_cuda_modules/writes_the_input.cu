// input_modified: wrote to input 'x'
__global__ void Scribble(float* x) { x[7] = 1; }
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, Stream(call));
  Scribble<<<1, 1, 0, Stream(call)>>>(const_cast<float*>(X(call)));
  return cudaGetLastError();
}
