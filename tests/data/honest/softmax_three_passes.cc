// A softmax: the maximum, the sum, the quotients.
extern "C" int32_t hone_run(const HoneCall* call) {
#pragma omp parallel for num_threads(call->threads)
  for (int row = 0; row < 32; ++row) {
    const float* x = In(call, 0) + row * 1000;
    float* y = Out(call) + row * 1000;
    const float most = *std::max_element(x, x + 1000);
    float sum = 0;
    for (int i = 0; i < 1000; ++i) sum += y[i] = std::exp(x[i] - most);
    for (int i = 0; i < 1000; ++i) y[i] /= sum;
  }
  return 0;
}
