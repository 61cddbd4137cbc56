// accepted
// timed
// Waits for its own work: allowed, and it pays for that.
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, Stream(call));
  return cudaStreamSynchronize(Stream(call));
}
