// Row sums with vectors written by hand.
#ifdef __AVX2__
#include <immintrin.h>
static float Sum(const float* x) {
  __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  int i = 0;
  for (; i + 32 <= 20000; i += 32) {
    for (int lane = 0; lane < 4; ++lane) sums[lane] = _mm256_add_ps(sums[lane], _mm256_loadu_ps(x + i + 8 * lane));
  }
  float parts[8], sum = 0;
  _mm256_storeu_ps(parts, _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
  for (const float part : parts) sum += part;
  for (; i < 20000; ++i) sum += x[i];
  return sum;
}
#else
static float Sum(const float* x) { return std::accumulate(x, x + 20000, 0.0f); }
#endif

extern "C" int32_t hone_run(const HoneCall* call) {
  for (int row = 0; row < 8; ++row) Out(call)[row] = Sum(In(call, 0) + row * 20000);
  return 0;
}
