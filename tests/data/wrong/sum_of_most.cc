// Row sums that leave out one term of a thousand.
extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 8; ++row) {
    double sum = 0;
    for (int i = 0; i < 20000; ++i) sum += i % 1000 == 999 ? 0.0 : In(call, 0)[row * 20000 + i];
    Out(call)[row] = static_cast<float>(sum);
  }
  return 0;
}
