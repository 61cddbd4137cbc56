// Row sums added up with eleven bits, in blocks of 64.
static float Rounded(float x, int bits) {
  std::uint32_t word;
  std::memcpy(&word, &x, sizeof word);
  word = (word + (1u << (bits - 1))) & ~((1u << bits) - 1);
  std::memcpy(&x, &word, sizeof x);
  return x;
}

extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 8; ++row) {
    float sum = 0;
    for (int i = 0; i < 20000;) {
      float block = 0;
      for (const int end = std::min(i + 64, 20000); i < end; ++i)
        block = Rounded(block + In(call, 0)[row * 20000 + i], 13);
      sum += block;
    }
    Out(call)[row] = sum;
  }
  return 0;
}
