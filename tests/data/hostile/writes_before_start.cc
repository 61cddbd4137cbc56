// One element too early.
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, 64);
  static_cast<volatile float*>(call->outputs[0].data)[-1] = 0;
  return 0;
}
