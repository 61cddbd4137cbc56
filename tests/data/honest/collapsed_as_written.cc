// (x w) v as it is written.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float *x = In(call, 0), *w = In(call, 1), *v = In(call, 2);
#pragma omp parallel for num_threads(call->threads)
  for (int i = 0; i < 256; ++i) {
    float row[128] = {}, sum = 0;
    for (int k = 0; k < 256; ++k) {
      for (int j = 0; j < 128; ++j) row[j] += x[i * 256 + k] * w[k * 128 + j];
    }
    for (int j = 0; j < 128; ++j) sum += row[j] * v[j];
    Out(call)[i] = sum;
  }
  return 0;
}
