// A product whose operands are rounded to TF32.
static float Rounded(float x, int bits) {
  std::uint32_t word;
  std::memcpy(&word, &x, sizeof word);
  word = (word + (1u << (bits - 1))) & ~((1u << bits) - 1);
  std::memcpy(&x, &word, sizeof x);
  return x;
}

extern "C" int32_t hone_run(const HoneCall* call) {
  for (int at = 0; at < 64 * 64; ++at) {
    float sum = 0;
    for (int k = 0; k < 256; ++k)
      sum += Rounded(In(call, 0)[at / 64 * 256 + k], 13) * Rounded(In(call, 1)[k * 64 + at % 64], 13);
    Out(call)[at] = sum;
  }
  return 0;
}
