// wrong_result: right in its first calls only
// Works in its first calls only.
extern "C" int32_t hone_run(const HoneCall* call) {
  static int calls = 0;
  if (++calls <= 14) Compute(call, Stream(call));
  return cudaGetLastError();
}
