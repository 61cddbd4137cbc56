// Attention of few queries to many keys, with mma.sync (compute capability 8.0): a warp takes 16 keys at a time, or 32,
// straight from memory to registers. dsl/cuda/ways/attention_few.cc says how it goes. Uses mma.cuh,
// attention_numbers.cuh, attention_pairs.cuh and attention_held.cuh.

// A warp's part. A thread is (g, t) = (lane / 4, lane % 4); it has rows g and g + 8 of the 16 rows of queries. Of the
// products' inner index only that both sides agree matters, so each thread reads what lies together, at best 16 bytes: of
// keys g and g + 8 of 16 the elements t * 8 .. + 7 of every 32, of keys 2 t, 2 t + 1, 2 t + 8, 2 t + 9 the values' elements
// g * 8 .. + 7 of every 64; of 8 bits t * 16 .. + 15 of every 64 and g * 16 .. + 15 of every 128. T is what is multiplied,
// HELD how memory has keys and values (attention_held.cuh); where they are SCALED each has a factor.
template <class T, class HELD, int DEPTH, int WIDTH, int SIXTEENS, bool SCALED, class WEIGHTS>
struct FewQueries {
  static constexpr int kDepthBlocks = DEPTH / 32, kWidthBlocks = WIDTH / 64, kEights = SIXTEENS * 2, kKeys = SIXTEENS * 16;
  // Elements that a thread reads of a row at once.
  static constexpr int RunOf(int blocks) { return HELD::kWords == 2 && blocks % 2 == 0 ? 16 : 8; }
  static constexpr int kKeyRun = RunOf(kDepthBlocks), kValueRun = RunOf(kWidthBlocks);
  unsigned queries[kDepthBlocks][2][4];
  unsigned keys[kEights][kDepthBlocks * HELD::kWords], values[SIXTEENS][4][kWidthBlocks * HELD::kWords];
  float key_scales[kEights * 2], value_scales[kEights * 2];  // of keys t * 2, t * 2 + 1 of each eight
  float sums[kWidthBlocks][8][4];
  float query_scales[2];    // what its two rows of queries were divided by
  float most[2], total[2];  // the largest score so far; the sum of this thread's weights
  LargestScale scale_of_sums;
  int g, t;

  // Where the eight elements `block` of a row are that SHARE threads read in runs, of the first of them.
  template <int RUN, int SHARE>
  __device__ __forceinline__ static constexpr int EightAt(int block) {
    return block * 8 / RUN * SHARE * RUN + block * 8 % RUN;
  }
  template <int RUN, int SHARE, int WORDS, class Element>
  __device__ __forceinline__ static void ReadRow(unsigned (&to)[WORDS], const Element* own, bool there) {
    constexpr int kAtOnce = RUN * HELD::kWords / 8;
#pragma unroll
    for (int w = 0; w < WORDS; w += kAtOnce)
      ReadOnce(reinterpret_cast<unsigned(&)[kAtOnce]>(to[w]), own + EightAt<RUN, SHARE>(w / HELD::kWords), there);
  }

  __device__ __forceinline__ FewQueries() {
    g = threadIdx.x % 32 / 4;
    t = threadIdx.x % 4;
#pragma unroll
    for (int b = 0; b < kWidthBlocks; ++b)
#pragma unroll
      for (int j = 0; j < 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[b][j][i] = 0;
    query_scales[0] = query_scales[1] = 1;
    most[0] = most[1] = WEIGHTS::Hidden();
    total[0] = total[1] = 0;
  }

  // Where the elements of rows g and g + 8 begin; null where there is no such row.
  template <class Q>
  __device__ __forceinline__ void ReadQueries(const Q* first, const Q* second) {
    unsigned rows[2][kDepthBlocks][4];
#pragma unroll
    for (int b = 0; b < kDepthBlocks; ++b) {
      const int at = t * kKeyRun + EightAt<kKeyRun, 4>(b);
      ReadOnce(rows[0][b], first + at, first != nullptr);
      ReadOnce(rows[1][b], second + at, second != nullptr);
    }
    if constexpr (!IsSame<Q, T>::kIs) {
      query_scales[0] = AsHalves(rows[0]);
      query_scales[1] = AsHalves(rows[1]);
    }
#pragma unroll
    for (int b = 0; b < kDepthBlocks; ++b)
#pragma unroll
      for (int s = 0; s < 2; ++s)
#pragma unroll
        for (int i = 0; i < 4; ++i) queries[b][s][i] = rows[i % 2][b][s * 2 + i / 2];
  }
  // Of the keys from `first` on, those from `end` on are not there. row(key) is where its elements begin.
  template <class Row>
  __device__ __forceinline__ void ReadKeys(const Row& row, int first, int end) {
#pragma unroll
    for (int j = 0; j < kEights; ++j) {
      const int key = first + j * 8 + g;
      ReadRow<kKeyRun, 4>(keys[j], row(key) + t * kKeyRun, key < end);
    }
  }
  template <class Row>
  __device__ __forceinline__ void ReadValues(const Row& row, int first, int end) {
#pragma unroll
    for (int s = 0; s < SIXTEENS; ++s)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = first + s * 16 + t * 2 + i % 2 + i / 2 * 8;
        ReadRow<kValueRun, 8>(values[s][i], row(key) + g * kValueRun, key < end);
      }
  }
  // scale(key, whether it is there)
  template <class Scale>
  __device__ __forceinline__ void ReadScales(float (&to)[kEights * 2], const Scale& scale, int first, int end) const {
#pragma unroll
    for (int i = 0; i < kEights * 2; ++i) {
      const int key = first + i / 2 * 8 + t * 2 + i % 2;
      to[i] = scale(key, key < end);
    }
  }

  // scores[j][i]: of row g + i / 2 * 8 and key j * 8 + t * 2 + i % 2.
  __device__ __forceinline__ void MultiplyKeys(float (&scores)[kEights][4]) const {
#pragma unroll
    for (int j = 0; j < kEights; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[j][i] = 0;
#pragma unroll
      for (int b = 0; b < kDepthBlocks; ++b) {
        unsigned pairs[4];
        HELD::AsPairs(keys[j] + b * HELD::kWords, pairs);
#pragma unroll
        for (int s = 0; s < 2; ++s) MultiplyAdd<T>(scores[j], queries[b][s], pairs[s * 2], pairs[s * 2 + 1]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scores[j][i] *= query_scales[i / 2];
        if constexpr (SCALED) scores[j][i] *= key_scales[j * 2 + i % 2];
      }
    }
  }

  // Makes weights of the scores: of a softmax exp2(scale * score), over that of the largest so far, and shrinks the sums
  // to it.
  __device__ __forceinline__ void Weigh(float (&scores)[kEights][4], float scale) {
    if constexpr (!WEIGHTS::kIsSoftmax) {
#pragma unroll
      for (int i = 0; i < kEights * 4 && WEIGHTS::kSums; ++i) total[i / 2 % 2] += scores[i / 4][i % 4];
      return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = fmaxf(scores[0][half * 2], scores[0][half * 2 + 1]);
#pragma unroll
      for (int j = 1; j < kEights; ++j) top = fmaxf(top, fmaxf(scores[j][half * 2], scores[j][half * 2 + 1]));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      top = fmaxf(top, most[half]);
      const float by = RowScale(top, scale), offset = top == -__int_as_float(0x7f800000) ? 0.0f : top * by;
      if (top > most[half]) {
        const float shrink = Exp2(fmaf(most[half], by, -offset));
        most[half] = top;
        total[half] *= shrink;
        MultiplySums(half, shrink);
      }
#pragma unroll
      for (int j = 0; j < kEights; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = scores[j][half * 2 + i];
          score = Exp2(fmaf(score, by, -offset));
          total[half] += score;
        }
    }
  }

  __device__ __forceinline__ void MultiplySums(int half, float by) {
#pragma unroll
    for (int b = 0; b < kWidthBlocks; ++b)
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        sums[b][j][half * 2] *= by;
        sums[b][j][half * 2 + 1] *= by;
      }
  }

  __device__ __forceinline__ void ScaleWeights(float (&weights)[kEights][4]) {
    const float shrink = scale_of_sums.Take<kEights * 2, 4>(value_scales), inverse = LargestScale::Inverse(scale_of_sums.largest);
    if (shrink != 1) {
      MultiplySums(0, shrink);
      MultiplySums(1, shrink);
    }
#pragma unroll
    for (int i = 0; i < kEights * 4; ++i) weights[i / 4][i % 4] *= value_scales[i / 4 * 2 + i % 2] * inverse;
  }

  __device__ __forceinline__ void AddValues(const float (&weights)[kEights][4]) {
#pragma unroll
    for (int s = 0; s < SIXTEENS; ++s) {
      unsigned pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        pairs[i] = PairOf<T>(weights[s * 2 + i / 2][i % 2 * 2], weights[s * 2 + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int b = 0; b < kWidthBlocks; ++b) {
        unsigned first[8], second[8];
        HELD::Together(values[s][0] + b * HELD::kWords, values[s][1] + b * HELD::kWords, first);
        HELD::Together(values[s][2] + b * HELD::kWords, values[s][3] + b * HELD::kWords, second);
#pragma unroll
        for (int j = 0; j < 8; ++j) MultiplyAdd<T>(sums[b][j], pairs, first[j], second[j]);
      }
    }
  }

  // Keys [begin, end), as many as a warp takes of every `step` from this warp's first on; k(key) and v(key) are where rows of
  // K and V begin. score(scores, first key) makes scores of products; `scale` is in units of log2. key_scale and value_scale
  // as in ReadScales.
  template <class Keys, class Values, class KeyScale, class ValueScale, class Score>
  __device__ __forceinline__ void Attend(const Keys& k, const Values& v, const KeyScale& key_scale,
                                         const ValueScale& value_scale, int begin, int end, int step, float scale,
                                         const Score& score) {
    if (begin >= end) return;
    ReadKeys(k, begin, end);
    if constexpr (SCALED) ReadScales(key_scales, key_scale, begin, end);
    ReadValues(v, begin, end);
    if constexpr (SCALED) ReadScales(value_scales, value_scale, begin, end);
    for (int at = begin; at < end; at += step) {
      const int next = at + step;
      float scores[kEights][4];
      MultiplyKeys(scores);
      if (next < end) {
        ReadKeys(k, next, end);
        if constexpr (SCALED) ReadScales(key_scales, key_scale, next, end);
      }
      score(scores, at);
      if (end - at < kKeys) {
#pragma unroll
        for (int j = 0; j < kEights; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (at + j * 8 + t * 2 + i % 2 >= end) scores[j][i] = WEIGHTS::Hidden();
      }
      Weigh(scores, scale);
      if constexpr (SCALED) ScaleWeights(scores);
      AddValues(scores);
      if (next < end) {
        ReadValues(v, next, end);
        if constexpr (SCALED) ReadScales(value_scales, value_scale, next, end);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[half] += __shfl_xor_sync(0xffffffffu, total[half], 1);
      total[half] += __shfl_xor_sync(0xffffffffu, total[half], 2);
      if constexpr (SCALED) MultiplySums(half, scale_of_sums.largest);
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
            *reinterpret_cast<float4*>(shared + (warp * 16 + g + half * 8) * WIDTH +
                                       (t * 2 + i) * kValueRun + EightAt<kValueRun, 8>(b) + j) =
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
