// Attention of f32 with mma.sync (compute capability 8.0). dsl/cuda/ways/attention_f32.cc says how it goes. Uses
// attention_numbers.cuh.

// d += a of 16 x 8 elements times b of 8 x 8, in TF32: of each element the upper 19 bits are looked at.
__device__ __forceinline__ void MultiplyTf32(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// x as the sum of two numbers of TF32: its upper 11 bits, and what is left of it, rounded to nearest. Together they are
// within 2^-22 of it; of an infinity or a NaN the upper one is that.
__device__ __forceinline__ void SplitTf32(float x, unsigned& high, unsigned& low) {
  high = __float_as_uint(x) & 0xffffe000u;
  low = __float_as_uint(x - __uint_as_float(high)) + 0x1000u;
}

// A block of WARPS warps, each with ROWS times 16 queries; tiles of KEYS keys and values that they share, two of each: while one is
// multiplied the next is on its way. A thread is (g, t) = (lane / 4, lane % 4); it has rows g and g + 8 of each 16
// of its warp's queries. Of the products' inner index only that both sides agree matters, so each thread has the elements 2 t and
// 2 t + 1 of every 8. Rows in shared memory are padded so that a warp's reads lie in different banks.
template <int DEPTH, int WIDTH, int KEYS, int WARPS, int ROWS, class WEIGHTS>
struct AttentionF32 {
  static constexpr int kKeyRow = DEPTH + (40 - DEPTH % 32) % 32, kValueRow = WIDTH + (36 - WIDTH % 32) % 32;
  static constexpr int kStage = KEYS * (kKeyRow + kValueRow);  // floats
  static constexpr int kAtATime = 4;                           // products that do not wait for one another

  float queries[ROWS][DEPTH / 8][4], sums[ROWS][WIDTH / 8][4];
  float most[ROWS][2], total[ROWS][2];  // the largest score so far; the sum of this thread's weights
  int g, t;

  __device__ __forceinline__ AttentionF32() {
    g = threadIdx.x % 32 / 4;
    t = threadIdx.x % 4;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
#pragma unroll
      for (int n = 0; n < WIDTH / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[r][n][i] = 0;
      most[r][0] = most[r][1] = WEIGHTS::Hidden();
      total[r][0] = total[r][1] = 0;
    }
  }

  // Where the elements of rows g and g + 8 begin.
  __device__ __forceinline__ void ReadQueries(int r, const float* first, const float* second) {
#pragma unroll
    for (int b = 0; b < DEPTH / 8; ++b) {
      const float2 upper = *reinterpret_cast<const float2*>(first + b * 8 + t * 2);
      const float2 lower = *reinterpret_cast<const float2*>(second + b * 8 + t * 2);
      queries[r][b][0] = upper.x;
      queries[r][b][1] = lower.x;
      queries[r][b][2] = upper.y;
      queries[r][b][3] = lower.y;
    }
  }

  // Begins to copy a tile's rows; those from `left` on are not there, and become zeros.
  template <int LENGTH, int ROW>
  __device__ __forceinline__ static void FetchRows(float* to, const float* from, long row, int left) {
    constexpr int kPieces = LENGTH / 4;
    for (int i = threadIdx.x; i < KEYS * kPieces; i += WARPS * 32) {
      const int key = i / kPieces, piece = i % kPieces * 4;
      const int bytes = key < left ? 16 : 0;
      const unsigned there = static_cast<unsigned>(__cvta_generic_to_shared(to + key * ROW + piece));
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(there), "l"(from + min(key, left - 1) * row + piece),
                   "r"(bytes)
                   : "memory");
    }
  }
  __device__ __forceinline__ static void Fetch(float* stage, const float* keys, long key_row, const float* values,
                                               long value_row, int first, int all) {
    FetchRows<DEPTH, kKeyRow>(stage, keys + first * key_row, key_row, all - first);
    FetchRows<WIDTH, kValueRow>(stage + KEYS * kKeyRow, values + first * value_row, value_row, all - first);
  }

  // scores[r][j][i]: of row r * 16 + g + i / 2 * 8 and key j * 8 + t * 2 + i % 2. The tensor cores' sums truncate, so they
  // are of 64 elements at most.
  __device__ __forceinline__ void MultiplyKeys(const float* stage, float (&scores)[ROWS][KEYS / 8][4]) const {
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
      for (int j = 0; j < KEYS / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) scores[r][j][i] = 0;
#pragma unroll
    for (int chunk = 0; chunk < DEPTH / 8; chunk += 8) {
      float part[ROWS][KEYS / 8][4] = {};
#pragma unroll
      for (int b = chunk; b < chunk + 8 && b < DEPTH / 8; ++b) {
        unsigned high[ROWS][4], low[ROWS][4];
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
          for (int i = 0; i < 4; ++i) SplitTf32(queries[r][b][i], high[r][i], low[r][i]);
#pragma unroll
        for (int j0 = 0; j0 < KEYS / 8; j0 += kAtATime) {
          unsigned highs[kAtATime][2], lows[kAtATime][2];
#pragma unroll
          for (int j = 0; j < kAtATime; ++j) {
            const float2 pair = *reinterpret_cast<const float2*>(stage + ((j0 + j) * 8 + g) * kKeyRow + b * 8 + t * 2);
            SplitTf32(pair.x, highs[j][0], lows[j][0]);
            SplitTf32(pair.y, highs[j][1], lows[j][1]);
          }
#pragma unroll
          for (int r = 0; r < ROWS; ++r) MultiplyThrice(part[r] + j0, high[r], low[r], highs, lows, kAtATime);
        }
      }
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int j = 0; j < KEYS / 8; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i) scores[r][j][i] += part[r][j][i];
    }
  }

  // The three products of the first `count`, the small ones first.
  __device__ __forceinline__ static void MultiplyThrice(float (*d)[4], const unsigned (&high)[4], const unsigned (&low)[4],
                                                        const unsigned (&highs)[kAtATime][2],
                                                        const unsigned (&lows)[kAtATime][2], int count) {
#pragma unroll
    for (int j = 0; j < kAtATime; ++j)
      if (j < count) MultiplyTf32(d[j], low, highs[j][0], highs[j][1]);
#pragma unroll
    for (int j = 0; j < kAtATime; ++j)
      if (j < count) MultiplyTf32(d[j], high, lows[j][0], lows[j][1]);
#pragma unroll
    for (int j = 0; j < kAtATime; ++j)
      if (j < count) MultiplyTf32(d[j], high, highs[j][0], highs[j][1]);
  }

  // Makes weights of the scores of 16 queries: of a softmax exp2(scale * score), over that of the largest so far, and
  // shrinks the sums to it.
  __device__ __forceinline__ void Weigh(int r, float (&scores)[KEYS / 8][4], float scale) {
    if constexpr (!WEIGHTS::kIsSoftmax) {
#pragma unroll
      for (int i = 0; i < KEYS / 2 && WEIGHTS::kSums; ++i) total[r][i / 2 % 2] += scores[i / 4][i % 4];
      return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = scores[0][half * 2];
#pragma unroll
      for (int j = 0; j < KEYS / 8; ++j) top = fmaxf(top, fmaxf(scores[j][half * 2], scores[j][half * 2 + 1]));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      top = fmaxf(top, most[r][half]);
      // Taken from the scores before they are scaled: beside products of three the addition costs nothing, and the
      // largest becomes 0 whatever its size.
      const float offset = top == -__int_as_float(0x7f800000) ? 0.0f : top;
      if (top > most[r][half]) {
        const float shrink = Exp2((most[r][half] - offset) * scale);
        most[r][half] = top;
        total[r][half] *= shrink;
#pragma unroll
        for (int n = 0; n < WIDTH / 8; ++n) {
          sums[r][n][half * 2] *= shrink;
          sums[r][n][half * 2 + 1] *= shrink;
        }
      }
#pragma unroll
      for (int j = 0; j < KEYS / 8; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = scores[j][half * 2 + i];
          score = Exp2((score - offset) * scale);
          total[r][half] += score;
        }
    }
  }

  __device__ __forceinline__ void AddValues(const float* values, const float (&weights)[ROWS][KEYS / 8][4]) {
    unsigned high[ROWS][KEYS / 8][4], low[ROWS][KEYS / 8][4];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
      for (int j = 0; j < KEYS / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) SplitTf32(weights[r][j][i % 2 * 2 + i / 2], high[r][j][i], low[r][j][i]);
#pragma unroll
    for (int n0 = 0; n0 < WIDTH / 8; n0 += kAtATime) {
      constexpr int kColumns = WIDTH / 8;
      float part[ROWS][kAtATime][4] = {};
#pragma unroll
      for (int j = 0; j < KEYS / 8; ++j) {
        unsigned highs[kAtATime][2] = {}, lows[kAtATime][2] = {};
#pragma unroll
        for (int n = 0; n < kAtATime && n0 + n < kColumns; ++n) {
          const float* const at = values + (j * 8 + t * 2) * kValueRow + (n0 + n) * 8 + g;
          SplitTf32(at[0], highs[n][0], lows[n][0]);
          SplitTf32(at[kValueRow], highs[n][1], lows[n][1]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) MultiplyThrice(part[r], high[r][j], low[r][j], highs, lows, kColumns - n0);
      }
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int n = 0; n < kAtATime && n0 + n < kColumns; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[r][n0 + n][i] += part[r][n][i];
    }
  }

  // Goes through the keys [begin, seen) of the block, `begin` being a tile's first, of which this warp sees those before
  // `own`; all keys are `all`. `score` makes scores of a tile's products, whose first key it is told.
  template <class Score>
  __device__ __forceinline__ void Attend(float* memory, const float* keys, long key_row, const float* values,
                                         long value_row, int begin, int seen, int own, int all, float scale,
                                         const Score& score) {
    Fetch(memory, keys, key_row, values, value_row, begin, all);
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int first = begin, stage = 0; first < seen; first += KEYS, stage ^= 1) {
      if (first + KEYS < seen) Fetch(memory + (stage ^ 1) * kStage, keys, key_row, values, value_row, first + KEYS, all);
      asm volatile("cp.async.commit_group;\ncp.async.wait_group 1;" ::: "memory");
      __syncthreads();
      if (first < own) {
        float scores[ROWS][KEYS / 8][4];
        MultiplyKeys(memory + stage * kStage, scores);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
          score(scores[r], r * 16, first);
          Weigh(r, scores[r], scale);
        }
        AddValues(memory + stage * kStage + KEYS * kKeyRow, scores);
      }
      __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        total[r][half] += __shfl_xor_sync(0xffffffffu, total[r][half], 1);
        total[r][half] += __shfl_xor_sync(0xffffffffu, total[r][half], 2);
      }
  }
};
