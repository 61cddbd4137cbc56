// Attention of one query to many keys, or of two: a warp takes keys straight from memory to registers and multiplies them
// in f32. dsl/cuda/ways/attention_one.cc says how it goes. Uses mma.cuh, attention_numbers.cuh and attention_held.cuh.

// A warp's part. WIDTH / 8 lanes have a key's elements, 8 each; so many keys as the warp has room for lie side by side, and each
// such side has weights and sums of its own until the end. LOADS of them follow one another. HELD is how memory has keys and
// values (attention_held.cuh); where they are SCALED each has a factor.
template <class T, class HELD, int WIDTH, int ROWS, int LOADS, bool SCALED, class WEIGHTS>
struct OneQuery {
  static constexpr int kLanes = WIDTH / 8, kSides = 32 / kLanes;
  unsigned keys[LOADS][HELD::kWords], values[LOADS][HELD::kWords];
  float key_scales[LOADS], value_scales[LOADS];
  float queries[ROWS][8], sums[ROWS][8];
  float most[ROWS], total[ROWS];  // the largest score so far; the sum of this side's weights
  int lane, side;

  __device__ __forceinline__ OneQuery() {
    lane = threadIdx.x % kLanes;
    side = threadIdx.x % 32 / kLanes;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
#pragma unroll
      for (int e = 0; e < 8; ++e) sums[r][e] = 0;
      most[r] = WEIGHTS::Hidden();
      total[r] = 0;
    }
  }

  // Where the elements of the row begin.
  __device__ __forceinline__ void ReadQuery(int r, const T* query) {
    unsigned pairs[4];
    ReadOnce(pairs, query + lane * 8, true);
    HeldPairs<T>::AsFloats(pairs, queries[r]);
  }
  // Rows from `first` on; those from `end` on are not there. row(key) is where a key's elements begin.
  template <class Row>
  __device__ __forceinline__ void Read(unsigned (&to)[LOADS][HELD::kWords], const Row& row, int first, int end) const {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const int key = first + i * kSides + side;
      ReadOnce(to[i], row(key) + lane * 8, key < end);
    }
  }
  // scale(key, whether it is there)
  template <class Scale>
  __device__ __forceinline__ void ReadScales(float (&to)[LOADS], const Scale& scale, int first, int end) const {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const int key = first + i * kSides + side;
      to[i] = scale(key, key < end);
    }
  }

  __device__ __forceinline__ void MultiplyKeys(float (&scores)[ROWS][LOADS]) const {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      float key[8];
      HELD::AsFloats(keys[i], key);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        float sum = 0;
#pragma unroll
        for (int e = 0; e < 8; ++e) sum = fmaf(key[e], queries[r][e], sum);
        scores[r][i] = sum;
      }
    }
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2)
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int i = 0; i < LOADS; ++i) scores[r][i] += __shfl_xor_sync(0xffffffffu, scores[r][i], step);
    if constexpr (SCALED) {
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int i = 0; i < LOADS; ++i) scores[r][i] *= key_scales[i];
    }
  }

  // Makes weights of the scores: of a softmax exp2(scale * score), over that of the side's
  // largest so far, and shrinks the sums to it.
  __device__ __forceinline__ void Weigh(float (&scores)[ROWS][LOADS], float scale) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if constexpr (!WEIGHTS::kIsSoftmax) {
#pragma unroll
        for (int i = 0; i < LOADS && WEIGHTS::kSums; ++i) total[r] += scores[r][i];
        continue;
      }
      float top = most[r];
#pragma unroll
      for (int i = 0; i < LOADS; ++i) top = fmaxf(top, scores[r][i]);
      const float by = RowScale(top, scale), offset = top == -__int_as_float(0x7f800000) ? 0.0f : top * by;
      if (top > most[r]) {
        const float shrink = Exp2(fmaf(most[r], by, -offset));
        most[r] = top;
        total[r] *= shrink;
#pragma unroll
        for (int e = 0; e < 8; ++e) sums[r][e] *= shrink;
      }
#pragma unroll
      for (int i = 0; i < LOADS; ++i) {
        scores[r][i] = Exp2(fmaf(scores[r][i], by, -offset));
        total[r] += scores[r][i];
      }
    }
  }

  __device__ __forceinline__ void AddValues(const float (&weights)[ROWS][LOADS]) {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      float value[8];
      HELD::AsFloats(values[i], value);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const float weight = SCALED ? weights[r][i] * value_scales[i] : weights[r][i];
#pragma unroll
        for (int e = 0; e < 8; ++e) sums[r][e] = fmaf(value[e], weight, sums[r][e]);
      }
    }
  }

  // Keys [begin, end), as many as a warp takes of every `step` from this warp's first on; k(key) and v(key) are where rows of
  // K and V begin. score(product, row, key) makes a score; `scale` is in units of log2. key_scale and value_scale as in
  // ReadScales.
  template <class Keys, class Values, class KeyScale, class ValueScale, class Score>
  __device__ __forceinline__ void Attend(const Keys& k, const Values& v, const KeyScale& key_scale,
                                         const ValueScale& value_scale, int begin, int end, int step, float scale,
                                         const Score& score) {
    if (begin >= end) return;
    Read(keys, k, begin, end);
    if constexpr (SCALED) ReadScales(key_scales, key_scale, begin, end);
    Read(values, v, begin, end);
    if constexpr (SCALED) ReadScales(value_scales, value_scale, begin, end);
    for (int at = begin; at < end; at += step) {
      const int next = at + step;
      float scores[ROWS][LOADS];
      MultiplyKeys(scores);
      if (next < end) {
        Read(keys, k, next, end);
        if constexpr (SCALED) ReadScales(key_scales, key_scale, next, end);
      }
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
          const int key = at + i * kSides + side;
          scores[r][i] = key < end ? score(scores[r][i], r, key) : WEIGHTS::Hidden();
        }
      Weigh(scores, scale);
      AddValues(scores);
      if (next < end) {
        Read(values, v, next, end);
        if constexpr (SCALED) ReadScales(value_scales, value_scale, next, end);
      }
    }
  }

  // What the block's warps have, put together: made(row, element, sum over all keys, its sum of weights, its largest score).
  // `shared` has room for WARPS * kSides * ROWS * (WIDTH + 2) floats.
  template <int WARPS, class Made>
  __device__ __forceinline__ void Finish(float* shared, int rows, float scale, const Made& made) const {
    constexpr int kAll = WARPS * kSides;
    float* const statistics = shared + kAll * ROWS * WIDTH;
    const int own = threadIdx.x / 32 * kSides + side;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
#pragma unroll
      for (int e = 0; e < 8; e += 4)
        *reinterpret_cast<float4*>(shared + (own * ROWS + r) * WIDTH + lane * 8 + e) =
            make_float4(sums[r][e], sums[r][e + 1], sums[r][e + 2], sums[r][e + 3]);
      if (lane == 0) {
        statistics[(own * ROWS + r) * 2] = InLog2(most[r], scale);
        statistics[(own * ROWS + r) * 2 + 1] = total[r];
      }
    }
    __syncthreads();
    for (int at = threadIdx.x; at < rows * WIDTH; at += WARPS * 32) {
      const int row = at / WIDTH;
      float top = -__int_as_float(0x7f800000);
#pragma unroll 8
      for (int w = 0; w < kAll; ++w) top = fmaxf(top, statistics[(w * ROWS + row) * 2]);
      float sum = 0, weights = 0;
#pragma unroll 8
      for (int w = 0; w < kAll; ++w) {
        const float most_of_it = statistics[(w * ROWS + row) * 2];
        const float by = most_of_it == -__int_as_float(0x7f800000) ? 0.0f : Exp2(most_of_it - top);
        sum = fmaf(shared[w * ROWS * WIDTH + at], by, sum);
        weights = fmaf(statistics[(w * ROWS + row) * 2 + 1], by, weights);
      }
      made(row, at % WIDTH, sum, weights, top);
    }
  }
};
