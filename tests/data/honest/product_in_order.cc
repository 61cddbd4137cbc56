// A product, a sum in order for each result.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *a = In(call, 0), *b = In(call, 1);
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 64; ++j) {
      float sum = 0;
      for (int k = 0; k < 256; ++k) sum += a[i * 256 + k] * b[k * 64 + j];
      Out(call)[i * 64 + j] = sum;
    }
  }
  return 0;
}
