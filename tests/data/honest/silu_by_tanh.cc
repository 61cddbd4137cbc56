// x / (1 + exp(-x)) as x / 2 (1 + tanh(x / 2)), the exponential where that cancels.
extern "C" int32_t hone_run(const HoneCall* call) {
  for (int i = 0; i < 10000; ++i) {
    const float x = In(call, 0)[i];
    Out(call)[i] = x > -0.5f ? 0.5f * x * (1 + std::tanh(0.5f * x)) : x * (1 / (1 + std::exp(-x)));
  }
  return 0;
}
