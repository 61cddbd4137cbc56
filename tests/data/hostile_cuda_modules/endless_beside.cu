// timeout: did not end
// A kernel that stays, on a stream of its own.
__global__ void Spin(volatile int* flag) {
  while (*flag == 0) {
  }
}
extern "C" int32_t hone_run(const HoneCall* call) {
  static cudaStream_t own = nullptr;
  static int* flag;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaMalloc(&flag, 4);
    cudaMemsetAsync(flag, 0, 4, own);
    Spin<<<1, 1, 0, own>>>(flag);
  }
  Compute(call, Stream(call));
  return cudaGetLastError();
}
