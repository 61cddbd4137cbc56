// A product in blocks of 16 x 16 x 32, the second operand copied to where it is read in order.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *a = In(call, 0), *b = In(call, 1);
  float* y = Out(call);
  std::fill(y, y + 64 * 64, 0.0f);
  alignas(64) float panel[32 * 16];
  for (int k0 = 0; k0 < 256; k0 += 32) {
    for (int j0 = 0; j0 < 64; j0 += 16) {
      for (int k = 0; k < 32; ++k) std::copy_n(b + (k0 + k) * 64 + j0, 16, panel + k * 16);
      for (int i = 0; i < 64; ++i) {
        float sums[16] = {};
        for (int k = 0; k < 32; ++k) {
          for (int j = 0; j < 16; ++j) sums[j] += a[i * 256 + k0 + k] * panel[k * 16 + j];
        }
        for (int j = 0; j < 16; ++j) y[i * 64 + j0 + j] += sums[j];
      }
    }
  }
  return 0;
}
