// A layer norm from the sum and the sum of squares, both in double precision.
extern "C" int32_t hone_run(const HoneCall* call) {
#pragma omp parallel for num_threads(call->threads)
  for (int row = 0; row < 32; ++row) {
    const float* x = In(call, 0) + row * 512;
    double sum = 0, squares = 0;
    for (int i = 0; i < 512; ++i) {
      sum += x[i];
      squares += static_cast<double>(x[i]) * x[i];
    }
    const double mean = sum / 512, scale = 1 / std::sqrt(squares / 512 - mean * mean + 1e-5);
    for (int i = 0; i < 512; ++i) Out(call)[row * 512 + i] = static_cast<float>((x[i] - mean) * scale);
  }
  return 0;
}
