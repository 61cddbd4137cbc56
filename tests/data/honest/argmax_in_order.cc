// Of each row of x w the place of the largest, whatever the order of the sums.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *x = In(call, 0), *w = In(call, 1);
  for (int i = 0; i < 64; ++i) {
    float row[256] = {};
    for (int k = 128; k-- > 0;) {
      for (int j = 0; j < 256; ++j) row[j] += x[i * 128 + k] * w[k * 256 + j];
    }
    Out<std::int64_t>(call)[i] = std::max_element(row, row + 256) - row;
  }
  return 0;
}
