// Computes in place first, as if the input were scratch memory.
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, 64);
  static_cast<volatile float*>(call->inputs[0].data)[7] = 0;
  return 0;
}
