// Strassen's product, once: seven products of quarters instead of eight.
constexpr int kM = 32, kK = 128, kN = 32;  // of a quarter
using Quarter = std::vector<float>;

static Quarter Part(const float* x, int row, int column, int rows, int columns, int pitch) {
  Quarter part;
  for (int i = 0; i < rows; ++i)
    part.insert(part.end(), x + (row * rows + i) * pitch + column * columns,
                x + (row * rows + i) * pitch + (column + 1) * columns);
  return part;
}
static Quarter Plus(Quarter a, const Quarter& b, float sign = 1) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += sign * b[i];
  return a;
}
static Quarter Times(const Quarter& a, const Quarter& b) {
  Quarter y(kM * kN);
  for (int i = 0; i < kM; ++i) {
    for (int k = 0; k < kK; ++k) {
      for (int j = 0; j < kN; ++j) y[i * kN + j] += a[i * kK + k] * b[k * kN + j];
    }
  }
  return y;
}

extern "C" int32_t hone_run(const HoneCall* call) {
  Quarter a[2][2], b[2][2];
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      a[i][j] = Part(In(call, 0), i, j, kM, kK, 2 * kK);
      b[i][j] = Part(In(call, 1), i, j, kK, kN, 2 * kN);
    }
  }
  const Quarter m1 = Times(Plus(a[0][0], a[1][1]), Plus(b[0][0], b[1][1])), m2 = Times(Plus(a[1][0], a[1][1]), b[0][0]),
                m3 = Times(a[0][0], Plus(b[0][1], b[1][1], -1)), m4 = Times(a[1][1], Plus(b[1][0], b[0][0], -1)),
                m5 = Times(Plus(a[0][0], a[0][1]), b[1][1]),
                m6 = Times(Plus(a[1][0], a[0][0], -1), Plus(b[0][0], b[0][1])),
                m7 = Times(Plus(a[0][1], a[1][1], -1), Plus(b[1][0], b[1][1]));
  const Quarter y[2][2] = {{Plus(Plus(Plus(m1, m4), m5, -1), m7), Plus(m3, m5)},
                           {Plus(m2, m4), Plus(Plus(Plus(m1, m2, -1), m3), m6)}};
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      for (int row = 0; row < kM; ++row)
        std::copy_n(y[i][j].data() + row * kN, kN, Out(call) + (i * kM + row) * 2 * kN + j * kN);
    }
  }
  return 0;
}
