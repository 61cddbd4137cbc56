// Attention of few queries to many keys, with mma.sync (compute capability 8.0): a warp takes 16 keys at a time, straight from
// memory to registers. dsl/cuda/ways/attention_few.cc says how it goes. Uses mma.cuh and
// attention_numbers.cuh and attention_pairs.cuh.

// A warp's part. A thread is (g, t) = (lane / 4, lane % 4); it has rows g and g + 8 of the 16 rows of queries. Of the
// products' inner index only that both sides agree matters, so each thread reads 16 bytes that lie together: of keys g and
// g + 8 the elements t * 8 .. + 7 of every 32, of keys 2 t, 2 t + 1, 2 t + 8, 2 t + 9 the values' elements g * 8 .. + 7 of
// every 64.
template <class T, int DEPTH, int WIDTH, class WEIGHTS>
struct FewQueries {
  static constexpr int kDepthBlocks = DEPTH / 32, kWidthBlocks = WIDTH / 64;
  unsigned queries[kDepthBlocks][2][4], keys[kDepthBlocks][2][4], values[kWidthBlocks][4][4];
  float sums[kWidthBlocks][8][4];
  float most[2], total[2];  // the largest score so far; the sum of this thread's weights
  int g, t;

  __device__ __forceinline__ FewQueries() {
    g = threadIdx.x % 32 / 4;
    t = threadIdx.x % 4;
#pragma unroll
    for (int b = 0; b < kWidthBlocks; ++b)
#pragma unroll
      for (int j = 0; j < 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[b][j][i] = 0;
    most[0] = most[1] = WEIGHTS::Hidden();
    total[0] = total[1] = 0;
  }

  // Where the elements of rows g and g + 8 begin; null where there is no such row.
  __device__ __forceinline__ void ReadQueries(const T* first, const T* second) {
#pragma unroll
    for (int b = 0; b < kDepthBlocks; ++b) {
      unsigned upper[4], lower[4];
      ReadOnce(upper, first + b * 32 + t * 8, first != nullptr);
      ReadOnce(lower, second + b * 32 + t * 8, second != nullptr);
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        queries[b][s][0] = upper[s * 2];
        queries[b][s][1] = lower[s * 2];
        queries[b][s][2] = upper[s * 2 + 1];
        queries[b][s][3] = lower[s * 2 + 1];
      }
    }
  }
  // Of 16 keys from `first` on, those from `end` on are not there. row(key) is where its elements begin.
  template <class Row>
  __device__ __forceinline__ void ReadKeys(const Row& row, int first, int end) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int key = first + g + half * 8;
      const T* const elements = row(key) + t * 8;
#pragma unroll
      for (int b = 0; b < kDepthBlocks; ++b) ReadOnce(keys[b][half], elements + b * 32, key < end);
    }
  }
  template <class Row>
  __device__ __forceinline__ void ReadValues(const Row& row, int first, int end) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = first + t * 2 + i % 2 + i / 2 * 8;
      const T* const elements = row(key) + g * 8;
#pragma unroll
      for (int b = 0; b < kWidthBlocks; ++b) ReadOnce(values[b][i], elements + b * 64, key < end);
    }
  }

  // scores[j][i]: of row g + i / 2 * 8 and key j * 8 + t * 2 + i % 2.
  __device__ __forceinline__ void MultiplyKeys(float (&scores)[2][4]) const {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[j][i] = 0;
#pragma unroll
      for (int b = 0; b < kDepthBlocks; ++b)
#pragma unroll
        for (int s = 0; s < 2; ++s) MultiplyAdd<T>(scores[j], queries[b][s], keys[b][j][s * 2], keys[b][j][s * 2 + 1]);
    }
  }

  // Makes weights of the scores: of a softmax exp2(scale * score), over that of the largest so far, and shrinks the sums
  // to it.
  __device__ __forceinline__ void Weigh(float (&scores)[2][4], float scale) {
    if constexpr (!WEIGHTS::kIsSoftmax) {
#pragma unroll
      for (int i = 0; i < 8 && WEIGHTS::kSums; ++i) total[i / 2 % 2] += scores[i / 4][i % 4];
      return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = fmaxf(fmaxf(scores[0][half * 2], scores[0][half * 2 + 1]),
                        fmaxf(scores[1][half * 2], scores[1][half * 2 + 1]));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      top = fmaxf(top, most[half]);
      const float by = RowScale(top, scale), offset = top == -__int_as_float(0x7f800000) ? 0.0f : top * by;
      if (top > most[half]) {
        const float shrink = Exp2(fmaf(most[half], by, -offset));
        most[half] = top;
        total[half] *= shrink;
#pragma unroll
        for (int b = 0; b < kWidthBlocks; ++b)
#pragma unroll
          for (int j = 0; j < 8; ++j) {
            sums[b][j][half * 2] *= shrink;
            sums[b][j][half * 2 + 1] *= shrink;
          }
      }
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = scores[j][half * 2 + i];
          score = Exp2(fmaf(score, by, -offset));
          total[half] += score;
        }
    }
  }

  __device__ __forceinline__ void AddValues(const float (&weights)[2][4]) {
    unsigned pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = PairOf<T>(weights[i / 2][i % 2 * 2], weights[i / 2][i % 2 * 2 + 1]);
#pragma unroll
    for (int b = 0; b < kWidthBlocks; ++b)
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const unsigned which = j % 2 == 0 ? 0x5410 : 0x7632;
        MultiplyAdd<T>(sums[b][j], pairs, __byte_perm(values[b][0][j / 2], values[b][1][j / 2], which),
                       __byte_perm(values[b][2][j / 2], values[b][3][j / 2], which));
      }
  }

  // Keys [begin, end), every `step` sixteen of them from this warp's first on; k(key) and v(key) are where rows of K and V
  // begin. score(scores, first key) makes scores of products; `scale` is in units of log2.
  template <class Keys, class Values, class Score>
  __device__ __forceinline__ void Attend(const Keys& k, const Values& v, int begin, int end, int step, float scale,
                                         const Score& score) {
    if (begin >= end) return;
    ReadKeys(k, begin, end);
    ReadValues(v, begin, end);
    for (int at = begin; at < end; at += step) {
      const int next = at + step;
      float scores[2][4];
      MultiplyKeys(scores);
      if (next < end) ReadKeys(k, next, end);
      score(scores, at);
      if (end - at < 16) {
#pragma unroll
        for (int j = 0; j < 2; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (at + j * 8 + t * 2 + i % 2 >= end) scores[j][i] = WEIGHTS::Hidden();
      }
      Weigh(scores, scale);
      AddValues(scores);
      if (next < end) ReadValues(v, next, end);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[half] += __shfl_xor_sync(0xffffffffu, total[half], 1);
      total[half] += __shfl_xor_sync(0xffffffffu, total[half], 2);
    }
  }

  // What the block's warps have, put together: made(row, element, sum over all keys, its sum of weights, its largest score).
  // `shared` has room for WARPS * 16 * (WIDTH + 2) floats.
  template <int WARPS, class Made>
  __device__ __forceinline__ void Finish(float* shared, int rows, float scale, const Made& made) const {
    float* const statistics = shared + WARPS * 16 * WIDTH;
    const int warp = threadIdx.x / 32;
    if (t == 0) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        statistics[(warp * 16 + g + half * 8) * 2] = InLog2(most[half], scale);
        statistics[(warp * 16 + g + half * 8) * 2 + 1] = total[half];
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int b = 0; b < kWidthBlocks; ++b)
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int j = 0; j < 8; j += 4)
            *reinterpret_cast<float4*>(shared + (warp * 16 + g + half * 8) * WIDTH + b * 64 + (t * 2 + i) * 8 + j) =
                make_float4(sums[b][j][half * 2 + i], sums[b][j + 1][half * 2 + i], sums[b][j + 2][half * 2 + i],
                            sums[b][j + 3][half * 2 + i]);
    __syncthreads();
    for (int at = threadIdx.x; at < rows * WIDTH; at += WARPS * 32) {
      const int row = at / WIDTH;
      float top = -__int_as_float(0x7f800000);
#pragma unroll
      for (int w = 0; w < WARPS; ++w) top = fmaxf(top, statistics[(w * 16 + row) * 2]);
      float sum = 0, weights = 0;
#pragma unroll
      for (int w = 0; w < WARPS; ++w) {
        const float own = statistics[(w * 16 + row) * 2];
        const float by = own == -__int_as_float(0x7f800000) ? 0.0f : Exp2(own - top);
        sum = fmaf(shared[(w * 16) * WIDTH + at], by, sum);
        weights = fmaf(statistics[(w * 16 + row) * 2 + 1], by, weights);
      }
      made(row, at % WIDTH, sum, weights, top);
    }
  }
};
