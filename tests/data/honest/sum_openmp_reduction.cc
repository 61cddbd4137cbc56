// Row sums by OpenMP's reduction, which adds in any order.
extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 8; ++row) {
    const float* x = In(call, 0) + row * 20000;
    float sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(call->threads)
    for (int i = 0; i < 20000; ++i) sum += x[i];
    Out(call)[row] = sum;
  }
  return 0;
}
