// A product of operands split into two numbers of eight bits each: three of four products.
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
    for (int k = 0; k < 256; ++k) {
      const float a = In(call, 0)[at / 64 * 256 + k], b = In(call, 1)[k * 64 + at % 64];
      const float large_a = Rounded(a, 16), large_b = Rounded(b, 16);
      sum += large_a * large_b + large_a * Rounded(b - large_b, 16) + Rounded(a - large_a, 16) * large_b;
    }
    Out(call)[at] = sum;
  }
  return 0;
}
