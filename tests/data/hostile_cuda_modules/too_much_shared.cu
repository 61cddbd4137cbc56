// launch_error: hone_run returned 1
// More shared memory than a multiprocessor has.
extern "C" int32_t hone_run(const HoneCall* call) {
  Honest<<<512, 1024, 300 << 10, Stream(call)>>>(X(call), W(call), Y(call));
  return cudaGetLastError();
}
