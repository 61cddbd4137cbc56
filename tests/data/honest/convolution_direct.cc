// A convolution, seven loops.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *x = In(call, 0), *w = In(call, 1);
  for (int at = 0; at < 2 * 8 * 256; ++at) {
    const int n = at / 2048, o = at / 256 % 8, i = at / 16 % 16, j = at % 16;
    float sum = 0;
    for (int c = 0; c < 8; ++c) {
      for (int k = 0; k < 9; ++k) sum += x[((n * 8 + c) * 18 + i + k / 3) * 18 + j + k % 3] * w[(o * 8 + c) * 9 + k];
    }
    Out(call)[at] = sum;
  }
  return 0;
}
