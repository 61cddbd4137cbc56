// A convolution by Winograd's F(2 x 2, 3 x 3): 16 products for four results instead of 36.
// B^T d B of a patch of four by four.
static void OfInput(const float* d, int pitch, float* out) {
  float t[16];
  for (int j = 0; j < 4; ++j) {
    const float a = d[j], b = d[pitch + j], c = d[2 * pitch + j], e = d[3 * pitch + j];
    t[j] = a - c, t[4 + j] = b + c, t[8 + j] = c - b, t[12 + j] = b - e;
  }
  for (int i = 0; i < 4; ++i) {
    const float* r = t + 4 * i;
    float* o = out + 4 * i;
    o[0] = r[0] - r[2], o[1] = r[1] + r[2], o[2] = r[2] - r[1], o[3] = r[1] - r[3];
  }
}
// G g G^T of a filter.
static void OfFilter(const float* g, float* out) {
  float t[12];
  for (int j = 0; j < 3; ++j) {
    const float a = g[j], b = g[3 + j], c = g[6 + j];
    t[j] = a, t[3 + j] = (a + b + c) / 2, t[6 + j] = (a - b + c) / 2, t[9 + j] = c;
  }
  for (int i = 0; i < 4; ++i) {
    const float a = t[3 * i], b = t[3 * i + 1], c = t[3 * i + 2];
    out[4 * i] = a, out[4 * i + 1] = (a + b + c) / 2, out[4 * i + 2] = (a - b + c) / 2, out[4 * i + 3] = c;
  }
}

extern "C" int32_t hone_run(const HoneCall* call) {
  const float* x = In(call, 0);
  std::vector<float> filters(64 * 16);
  for (int f = 0; f < 64; ++f) OfFilter(In(call, 1) + f * 9, filters.data() + f * 16);
  for (int n = 0; n < 2; ++n) {
    for (int tile = 0; tile < 64; ++tile) {
      const int i = tile / 8 * 2, j = tile % 8 * 2;
      float patches[8][16];
      for (int c = 0; c < 8; ++c) OfInput(x + ((n * 8 + c) * 18 + i) * 18 + j, 18, patches[c]);
      for (int o = 0; o < 8; ++o) {
        float m[16] = {};
        for (int c = 0; c < 8; ++c) {
          for (int k = 0; k < 16; ++k) m[k] += patches[c][k] * filters[(o * 8 + c) * 16 + k];
        }
        float t[8];
        for (int k = 0; k < 4; ++k) {
          t[k] = m[k] + m[4 + k] + m[8 + k];
          t[4 + k] = m[4 + k] - m[8 + k] - m[12 + k];
        }
        float* y = Out(call) + ((n * 8 + o) * 16 + i) * 16 + j;
        for (int row = 0; row < 2; ++row) {
          y[row * 16] = t[4 * row] + t[4 * row + 1] + t[4 * row + 2];
          y[row * 16 + 1] = t[4 * row + 1] - t[4 * row + 2] - t[4 * row + 3];
        }
      }
    }
  }
  return 0;
}
