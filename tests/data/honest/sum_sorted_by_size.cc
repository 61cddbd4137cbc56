// Row sums from the smallest term to the largest, in scratch memory.
extern "C" int32_t hone_run(const HoneCall* call) {
  std::vector<float> scratch(20000);
  for (int row = 0; row < 8; ++row) {
    const float* x = In(call, 0) + row * 20000;
    std::copy(x, x + 20000, scratch.begin());
    std::sort(scratch.begin(), scratch.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
    Out(call)[row] = std::accumulate(scratch.begin(), scratch.end(), 0.0f);
  }
  return 0;
}
