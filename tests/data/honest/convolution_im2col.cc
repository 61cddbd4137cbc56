// A convolution as a product with the input's windows, which are written out first.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *x = In(call, 0), *w = In(call, 1);
  static std::unique_ptr<float[]> windows(new float[72 * 256]);
  for (int n = 0; n < 2; ++n) {
    for (int row = 0; row < 72; ++row) {
      for (int at = 0; at < 256; ++at)
        windows[row * 256 + at] = x[((n * 8 + row / 9) * 18 + at / 16 + row % 9 / 3) * 18 + at % 16 + row % 3];
    }
    for (int o = 0; o < 8; ++o) {
      float* y = Out(call) + (n * 8 + o) * 256;
      std::fill(y, y + 256, 0.0f);
      for (int row = 0; row < 72; ++row) {
        for (int at = 0; at < 256; ++at) y[at] += w[o * 72 + row] * windows[row * 256 + at];
      }
    }
  }
  return 0;
}
