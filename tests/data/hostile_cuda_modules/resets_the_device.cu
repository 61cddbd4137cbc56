// crash
// Takes the context away from under the worker.
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, Stream(call));
  cudaDeviceSynchronize();
  cudaDeviceReset();
  return 0;
}
