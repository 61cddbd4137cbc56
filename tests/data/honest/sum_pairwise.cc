// Row sums by halves.
static float Sum(const float* x, int n) {
  if (n <= 8) return std::accumulate(x, x + n, 0.0f);
  return Sum(x, n / 2) + Sum(x + n / 2, n - n / 2);
}

extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 8; ++row) Out(call)[row] = Sum(In(call, 0) + row * 20000, 20000);
  return 0;
}
