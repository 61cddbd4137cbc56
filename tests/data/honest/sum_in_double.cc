// Row sums in double precision, a thread a row.
extern "C" int32_t hone_run(const HoneCall* call) {
#pragma omp parallel for num_threads(call->threads)
  for (int row = 0; row < 8; ++row) {
    double sum = 0;
    for (int i = 0; i < 20000; ++i) sum += In(call, 0)[row * 20000 + i];
    Out(call)[row] = static_cast<float>(sum);
  }
  return 0;
}
