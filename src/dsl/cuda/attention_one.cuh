// Attention of one query to many keys, or of two: a warp takes keys straight from memory to registers and multiplies them
// in f32. dsl/cuda/ways/attention_one.cc says how it goes. Uses mma.cuh and attention_numbers.cuh.

// Two numbers of 16 bits, as floats.
template <class T>
__device__ __forceinline__ float2 PairFrom(unsigned pair);
template <>
__device__ __forceinline__ float2 PairFrom<__half>(unsigned pair) {
  return __half22float2(reinterpret_cast<const __half2&>(pair));
}
template <>
__device__ __forceinline__ float2 PairFrom<__nv_bfloat16>(unsigned pair) {
  return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
}

// A warp's part. WIDTH / 8 lanes have a key's elements, 8 each; so many keys as the warp has room for lie side by side, and each
// such side has weights and sums of its own until the end. LOADS of them follow one another.
template <class T, int WIDTH, int ROWS, int LOADS, class WEIGHTS>
struct OneQuery {
  static constexpr int kLanes = WIDTH / 8, kSides = 32 / kLanes;
  unsigned keys[LOADS][4], values[LOADS][4];
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
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 both = PairFrom<T>(pairs[p]);
      queries[r][p * 2] = both.x;
      queries[r][p * 2 + 1] = both.y;
    }
  }
  // Rows from `first` on; those from `end` on are not there. row(key) is where a key's elements begin.
  template <class Row>
  __device__ __forceinline__ void Read(unsigned (&to)[LOADS][4], const Row& row, int first, int end) const {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const int key = first + i * kSides + side;
      ReadOnce(to[i], row(key) + lane * 8, key < end);
    }
  }

  __device__ __forceinline__ void MultiplyKeys(float (&scores)[ROWS][LOADS]) const {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        float sum = 0;
#pragma unroll
        for (int p = 0; p < 4; ++p) {
          const float2 both = PairFrom<T>(keys[i][p]);
          sum = fmaf(both.x, queries[r][p * 2], sum);
          sum = fmaf(both.y, queries[r][p * 2 + 1], sum);
        }
        scores[r][i] = sum;
      }
    }
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2)
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int i = 0; i < LOADS; ++i) scores[r][i] += __shfl_xor_sync(0xffffffffu, scores[r][i], step);
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
    for (int i = 0; i < LOADS; ++i)
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const float2 both = PairFrom<T>(values[i][p]);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
          sums[r][p * 2] = fmaf(both.x, weights[r][i], sums[r][p * 2]);
          sums[r][p * 2 + 1] = fmaf(both.y, weights[r][i], sums[r][p * 2 + 1]);
        }
      }
  }

  // Keys [begin, end), as many as a warp takes of every `step` from this warp's first on; k(key) and v(key) are where rows of
  // K and V begin. score(product, row, key) makes a score; `scale` is in units of log2.
  template <class Keys, class Values, class Score>
  __device__ __forceinline__ void Attend(const Keys& k, const Values& v, int begin, int end, int step, float scale,
                                         const Score& score) {
    if (begin >= end) return;
    Read(keys, k, begin, end);
    Read(values, v, begin, end);
    for (int at = begin; at < end; at += step) {
      const int next = at + step;
      float scores[ROWS][LOADS];
      MultiplyKeys(scores);
      if (next < end) Read(keys, k, next, end);
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
          const int key = at + i * kSides + side;
          scores[r][i] = key < end ? score(scores[r][i], r, key) : WEIGHTS::Hidden();
        }
      Weigh(scores, scale);
      AddValues(scores);
      if (next < end) Read(values, v, next, end);
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
