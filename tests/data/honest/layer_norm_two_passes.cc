// A layer norm: the mean, then the mean of the squared distances to it.
extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 32; ++row) {
    const float* x = In(call, 0) + row * 512;
    const float mean = std::accumulate(x, x + 512, 0.0f) / 512;
    float squares = 0;
    for (int i = 0; i < 512; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const float scale = 1 / std::sqrt(squares / 512 + 1e-5f);
    for (int i = 0; i < 512; ++i) Out(call)[row * 512 + i] = (x[i] - mean) * scale;
  }
  return 0;
}
