// A layer norm in one pass, by Welford's recurrence.
extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 32; ++row) {
    const float* x = In(call, 0) + row * 512;
    float mean = 0, squares = 0;
    for (int i = 0; i < 512; ++i) {
      const float before = x[i] - mean;
      mean += before / static_cast<float>(i + 1);
      squares += before * (x[i] - mean);
    }
    const float scale = 1 / std::sqrt(squares / 512 + 1e-5f);
    for (int i = 0; i < 512; ++i) Out(call)[row * 512 + i] = (x[i] - mean) * scale;
  }
  return 0;
}
