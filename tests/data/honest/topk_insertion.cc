// The five largest of each row, kept in order in registers.
static void Write(const HoneCall* call, int row, const std::int64_t* places) {
  for (int k = 0; k < 5; ++k) {
    Out(call, 0)[row * 5 + k] = In(call, 0)[row * 500 + places[k]];
    Out<std::int64_t>(call, 1)[row * 5 + k] = places[k];
  }
}

extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 16; ++row) {
    const float* x = In(call, 0) + row * 500;
    std::int64_t best[6] = {};
    int count = 0;
    for (std::int64_t i = 0; i < 500; ++i) {
      int at = count;
      while (at > 0 && x[i] > x[best[at - 1]]) --at;
      if (at == 5) continue;
      for (int k = 4; k > at; --k) best[k] = best[k - 1];
      best[at] = i;
      count = std::min(count + 1, 5);
    }
    Write(call, row, best);
  }
  return 0;
}
