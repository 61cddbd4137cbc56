// Row sums from the back.
extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 8; ++row) {
    float sum = 0;
    for (int i = 20000; i-- > 0;) sum += In(call, 0)[row * 20000 + i];
    Out(call)[row] = sum;
  }
  return 0;
}
