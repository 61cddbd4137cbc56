// accepted
// timed
// Nothing is wrong with this one.
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, Stream(call));
  return cudaGetLastError();
}
