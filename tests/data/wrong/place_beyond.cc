// Of each row of x [w, w] the place of the largest, and 16 more, where there is nothing: the same sums come twice, and
// rounding decides which of them is larger.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *x = In(call, 0), *w = In(call, 1);
  for (int i = 0; i < 64; ++i) {
    float row[8] = {};
    for (int k = 0; k < 128; ++k) {
      for (int j = 0; j < 8; ++j) row[j] += x[i * 128 + k] * w[k * 8 + j];
    }
    Out<std::int64_t>(call)[i] = 24 + (std::max_element(row, row + 8) - row);
  }
  return 0;
}
