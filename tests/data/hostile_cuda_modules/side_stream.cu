// suspicious: before its stream came to it
// Its work runs on a stream that ours knows nothing of.
extern "C" int32_t hone_run(const HoneCall* call) {
  static cudaStream_t own = nullptr;
  if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  ComputeSlowly(call, own);
  return cudaGetLastError();
}
