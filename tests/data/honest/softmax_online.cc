// A softmax whose maximum and sum are found in one pass: a larger maximum scales what was added up.
extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 32; ++row) {
    const float* x = In(call, 0) + row * 1000;
    float most = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int i = 0; i < 1000; ++i) {
      const float next = std::max(most, x[i]);
      sum = sum * std::exp(most - next) + std::exp(x[i] - next);
      most = next;
    }
    for (int i = 0; i < 1000; ++i) Out(call)[row * 1000 + i] = std::exp(x[i] - most) / sum;
  }
  return 0;
}
