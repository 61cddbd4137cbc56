// Row sums with Kahan's compensation.
extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 8; ++row) {
    volatile float sum = 0, lost = 0;
    for (int i = 0; i < 20000; ++i) {
      const float term = In(call, 0)[row * 20000 + i] - lost;
      const float next = sum + term;
      lost = (next - sum) - term;
      sum = next;
    }
    Out(call)[row] = sum;
  }
  return 0;
}
