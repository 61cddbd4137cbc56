// Looks one element to the right of the input; what is there must not matter.
extern "C" int32_t hone_run(const HoneCall* call) {
  Compute(call, 64);
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  volatile int beyond = 64 * 1000;
  y[64 * 1000 - 1] += x[beyond] * 0;
  return 0;
}
