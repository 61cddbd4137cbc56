// Of each row of x w the place of the largest, found with each block of columns.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *x = In(call, 0), *w = In(call, 1);
#pragma omp parallel for num_threads(call->threads)
  for (int i = 0; i < 64; ++i) {
    float best = -std::numeric_limits<float>::infinity();
    for (int j0 = 0; j0 < 256; j0 += 32) {
      float even[32] = {}, odd[32] = {};
      for (int k = 0; k < 128; k += 2) {
        for (int j = 0; j < 32; ++j) {
          even[j] += x[i * 128 + k] * w[k * 256 + j0 + j];
          odd[j] += x[i * 128 + k + 1] * w[(k + 1) * 256 + j0 + j];
        }
      }
      for (int j = 0; j < 32; ++j) {
        if (even[j] + odd[j] <= best) continue;
        best = even[j] + odd[j];
        Out<std::int64_t>(call)[i] = j0 + j;
      }
    }
  }
  return 0;
}
