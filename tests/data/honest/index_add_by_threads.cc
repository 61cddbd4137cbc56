// Rows added where an index says, by each thread into memory of its own.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *x = In(call, 0), *source = In(call, 2);
  const std::int64_t* index = In<std::int64_t>(call, 1);
  const int parts = call->threads;
  std::vector<float> sums(static_cast<std::size_t>(parts) * 200 * 16);
#pragma omp parallel for num_threads(parts)
  for (int part = 0; part < parts; ++part) {
    float* own = sums.data() + part * 200 * 16;
    for (int i = 3000 * part / parts; i < 3000 * (part + 1) / parts; ++i) {
      for (int j = 0; j < 16; ++j) own[index[i] * 16 + j] += source[i * 16 + j];
    }
  }
  for (int at = 0; at < 200 * 16; ++at) {
    float sum = x[at];
    for (int part = 0; part < parts; ++part) sum += sums[static_cast<std::size_t>(part * 200 * 16 + at)];
    Out(call)[at] = sum;
  }
  return 0;
}
