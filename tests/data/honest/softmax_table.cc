// A softmax with a table: exp(x) = 2^(n / 64) times a short polynomial.
struct Table {
  float power[64];
  Table() {
    for (int i = 0; i < 64; ++i) power[i] = static_cast<float>(std::exp2(i / 64.0));
  }
};
static const Table table;

static float FastExp(float x) {
  if (x < -87.33654f) return 0;  // below the smallest normal number
  const int n = static_cast<int>(std::lrint(x * 92.332482617f));  // 64 / log(2)
  const float r = static_cast<float>(x - n * 0.010830424696249145);
  return std::ldexp(table.power[n & 63] * (1 + r * (1 + r * (0.5f + r / 6))), n >> 6);
}

extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 32; ++row) {
    const float* x = In(call, 0) + row * 1000;
    float* y = Out(call) + row * 1000;
    const float most = *std::max_element(x, x + 1000);
    float sum = 0;
    for (int i = 0; i < 1000; ++i) sum += y[i] = FastExp(x[i] - most);
    for (int i = 0; i < 1000; ++i) y[i] /= sum;
  }
  return 0;
}
