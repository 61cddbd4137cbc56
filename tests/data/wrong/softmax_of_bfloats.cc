// A softmax of numbers rounded to eight bits.
static float Rounded(float x, int bits) {
  std::uint32_t word;
  std::memcpy(&word, &x, sizeof word);
  word = (word + (1u << (bits - 1))) & ~((1u << bits) - 1);
  std::memcpy(&x, &word, sizeof x);
  return x;
}

extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 32; ++row) {
    const float* x = In(call, 0) + row * 1000;
    float* y = Out(call) + row * 1000;
    const float most = *std::max_element(x, x + 1000);
    float sum = 0;
    for (int i = 0; i < 1000; ++i) sum += y[i] = std::exp(Rounded(x[i] - most, 16));
    for (int i = 0; i < 1000; ++i) y[i] /= sum;
  }
  return 0;
}
