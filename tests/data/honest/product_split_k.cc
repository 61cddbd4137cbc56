// A product whose sums are shared by threads: each adds up a part of the terms.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *a = In(call, 0), *b = In(call, 1);
  std::vector<float> parts(4 * 64 * 64);
#pragma omp parallel for num_threads(call->threads)
  for (int part = 0; part < 4; ++part) {
    for (int i = 0; i < 64; ++i) {
      for (int k = part * 64; k < (part + 1) * 64; ++k) {
        for (int j = 0; j < 64; ++j) parts[(part * 64 + i) * 64 + j] += a[i * 256 + k] * b[k * 64 + j];
      }
    }
  }
  for (int at = 0; at < 64 * 64; ++at)
    Out(call)[at] = (parts[at] + parts[at + 4096]) + (parts[at + 8192] + parts[at + 12288]);
  return 0;
}
