// suspicious: before its stream came to it
// Forgets the stream, in a kernel so short that nothing is left when anybody looks.
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, 0);
  return cudaGetLastError();
}
