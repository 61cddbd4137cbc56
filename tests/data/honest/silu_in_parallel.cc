// x / (1 + exp(-x)) with the compiler's vectors and threads.
extern "C" int32_t hone_run(const HoneCall* call) {
  const float* x = In(call, 0);
  float* y = Out(call);
#pragma omp parallel for simd num_threads(call->threads)
  for (int i = 0; i < 10000; ++i) {
    const float e = std::exp(-std::abs(x[i]));
    y[i] = x[i] * (x[i] < 0 ? e : 1.0f) / (1 + e);
  }
  return 0;
}
