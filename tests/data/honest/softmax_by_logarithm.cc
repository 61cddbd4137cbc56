// A softmax through the logarithm of the sum, in powers of two.
extern "C" int32_t hone_run(const HoneCall* call) {
  constexpr float kLog2E = 1.44269504f;
  for (int row = 0; row < 32; ++row) {
    const float* x = In(call, 0) + row * 1000;
    const float most = *std::max_element(x, x + 1000);
    float sum = 0;
    for (int i = 0; i < 1000; ++i) sum += std::exp2((x[i] - most) * kLog2E);
    const float inverse = 1 / sum;
    for (int i = 0; i < 1000; ++i) Out(call)[row * 1000 + i] = std::exp2((x[i] - most) * kLog2E) * inverse;
  }
  return 0;
}
