// Rows added where an index says, one after the other.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *x = In(call, 0), *source = In(call, 2);
  const std::int64_t* index = In<std::int64_t>(call, 1);
  float* y = Out(call);
  std::copy(x, x + 200 * 16, y);
  for (int i = 0; i < 3000; ++i) {
    for (int j = 0; j < 16; ++j) y[index[i] * 16 + j] += source[i * 16 + j];
  }
  return 0;
}
