// suspicious: before its stream came to it
// Forgets the stream.
extern "C" int32_t hone_run(const HoneCall* call) {
  ComputeSlowly(call, 0);
  return cudaGetLastError();
}
