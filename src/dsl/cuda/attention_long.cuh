// Attention with long rows on the tensor cores of compute capability 9.0; dsl/cuda/ways/attention_long.cc says how it
// goes. Uses tensor_core.cuh, attention_numbers.cuh, attention_pairs.cuh, attention_products.cuh, attention_keys.cuh and
// the specializations of Products that the kernel needs.

// Boxes of a row of keys or values that one tensor has, and where its matrix is among its batches; of pages the first,
// from which each is so many `apart` from the one before.
struct LongBoxes {
  const TensorMap* map;
  int inner, outer, boxes, apart = 0;
};

// A block's part: 64 rows of queries, of DEPTH_BOXES boxes of 64 elements, as the keys have. A stage is a tile of KEYS keys
// of BOXES boxes in all, in which the values begin at box VALUES. The first warpgroup makes scores and weights of them, and
// sums of the values' first LEFT elements; the second the sums of the RIGHT that follow; the third copies. BLOCKS blocks
// of a cluster have rows of the same keys, each of which copies its share of the boxes to all.
template <class T, int DEPTH_BOXES, int VALUES, int BOXES, int LEFT, int RIGHT, int KEYS, int STAGES, int BLOCKS>
struct LongRows {
  static constexpr unsigned kBox = KEYS * 128, kStageBytes = BOXES * kBox, kQueryBox = 64 * 128;
  static constexpr int kWarps = 4;

  struct Shared {
    unsigned long barriers[STAGES * 2 + 2];
    float shrinks[64], most[64], total[64];  // of a row: by what its sums shrink; and at the end
  };
  Shared& shared;
  unsigned barriers, queries;  // addresses in shared memory
  Next<STAGES> next;
  unsigned phase = 0;  // of the weights
  int row, pair;       // the thread's first row, and the first of its columns of every eight

  __device__ __forceinline__ unsigned Weights() const { return queries + DEPTH_BOXES * kQueryBox; }
  __device__ __forceinline__ unsigned Stage() const { return Weights() + kQueryBox + next.stage * kStageBytes; }
  __device__ __forceinline__ unsigned Full(int stage) const { return barriers + stage * 16; }
  __device__ __forceinline__ unsigned Empty(int stage) const { return barriers + stage * 16 + 8; }
  __device__ __forceinline__ unsigned WeightsFull() const { return barriers + STAGES * 16; }
  __device__ __forceinline__ unsigned WeightsEmpty() const { return barriers + STAGES * 16 + 8; }

  __device__ __forceinline__ LongRows(Shared& with, const void* tiles) : shared(with) {
    barriers = SharedAddress(shared.barriers);
    queries = (SharedAddress(tiles) + 1023) & ~1023u;
    row = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
    pair = threadIdx.x % 4 * 2;
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < STAGES; ++stage) {
        InitBarrier(Full(stage), 1);
        InitBarrier(Empty(stage), 2 * BLOCKS);
      }
      InitBarrier(WeightsFull(), kWarps);
      InitBarrier(WeightsEmpty(), kWarps);
      PublishBarriers();
    }
    BLOCKS > 1 ? SyncCluster() : __syncthreads();
  }
  // No block of the cluster ends before the others have told it all.
  __device__ __forceinline__ void End() const {
    if (BLOCKS > 1) SyncCluster();
  }

  // --- The third warpgroup, one thread of it: `tiles` tiles of keys from `begin` on.
  template <int SOURCES, class Keys>
  __device__ __forceinline__ void Fetch(const LongBoxes (&sources)[SOURCES], const Keys& keys, int begin, int tiles) {
    for (int tile = 0; tile < tiles; ++tile, next.Advance()) {
      const auto pages = keys.template PagesOf<KEYS>(begin + tile * KEYS);
      WaitFor(Empty(next.stage), next.phase ^ 1);
      ExpectBytes(Full(next.stage), kStageBytes);
      unsigned to = Stage();
#pragma unroll
      for (int s = 0; s < SOURCES; ++s) {
        const LongBoxes& source = sources[s];
        for (int box = 0; box < source.boxes; ++box, to += kBox)
          keys.template Each<KEYS>(pages, begin + tile * KEYS, [&](int at, int row, int page) {
            Copy(to + at * 128, source.map, box * 64, row, source.inner + page * source.apart, source.outer);
          });
      }
    }
  }
  // Of a cluster, each block has some of every box's keys.
  __device__ __forceinline__ void Copy(unsigned to, const TensorMap* map, int element, int key, int inner, int outer) {
    if (BLOCKS == 1) {
      CopyBox(to, map, element, key, inner, outer, Full(next.stage));
    } else {
      const int share = BlockOfCluster();
      CopyBoxToAll(to + share * (kBox / BLOCKS), map, element, key + share * (KEYS / BLOCKS), inner, outer,
                   Full(next.stage), (1 << BLOCKS) - 1);
    }
  }

  // --- The first two, together.

  // Boxes [first, first + (elements + 63) / 64) of the queries: of each row its elements; query(row) is null where there
  // is no such row.
  template <class Query>
  __device__ __forceinline__ void ReadQueries(const Query& query, int first, int elements) {
    const int packs = (elements + 63) / 64 * 8;
    for (int at = threadIdx.x; at < 64 * packs; at += 256) {
      const int of = at / packs, pack = at % packs;
      const T* const from = query(of);
      const bool there = from != nullptr && pack * 8 < elements;
      unsigned read[4] = {};
      if (there && pack * 8 + 8 <= elements) {
        const uint4 all = *reinterpret_cast<const uint4*>(from + pack * 8);
        read[0] = all.x, read[1] = all.y, read[2] = all.z, read[3] = all.w;
      } else if (there) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
          if (pack * 8 + i < elements)
            read[i / 2] |= static_cast<unsigned>(reinterpret_cast<const unsigned short*>(from)[pack * 8 + i]) << i % 2 * 16;
      }
      const unsigned to = queries + (first + pack / 8) * kQueryBox + of * 128 + (pack % 8 ^ of % 8) * 16;
      StoreShared(to, read);
    }
  }
  __device__ __forceinline__ void QueriesAreThere() const {
    PublishToCopies();
    TakeTurn(0);
  }
  __device__ __forceinline__ void AwaitStage() const { WaitFor(Full(next.stage), next.phase); }
  __device__ __forceinline__ void Release(int stage) const {
    const int thread = threadIdx.x % 128;
    if (BLOCKS == 1 && thread == 0) Arrive(Empty(stage));
    if (BLOCKS > 1 && thread < BLOCKS) ArriveAt(Empty(stage), thread);
  }
  // What a descriptor is more by, so many bytes further on. One is made at a time, and the compiler is to keep that: of
  // each step's own it would hold as many in registers as there are steps. Likewise addresses.
  __device__ __forceinline__ static constexpr unsigned Further(unsigned bytes) { return bytes >> 4; }
  __device__ __forceinline__ static void Keep(unsigned long& descriptor) { asm volatile("" : "+l"(descriptor)); }
  __device__ __forceinline__ static void Keep(unsigned& address) { asm volatile("" : "+r"(address)); }
  // The values of the stage, a warpgroup's from number `first` on.
  __device__ __forceinline__ unsigned long Values(int first) const {
    return TurnedDescriptor(Stage() + (VALUES + first / 64) * kBox, kBox);
  }
  template <int N>
  __device__ __forceinline__ static void Shrink(float (&sums)[N], const float (&by)[2]) {
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] *= by[i / 2 % 2];
  }
  // made(row, element, sum over all keys, its sum of weights, its largest score) of a warpgroup's sums, of the elements
  // from `first` on.
  template <int N, class Made>
  __device__ __forceinline__ void Finish(const float (&sums)[N], int first, int rows, int width, const float (&total)[2],
                                         const float (&most)[2], const Made& made) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = row + half * 8;
      if (at >= rows) continue;
#pragma unroll
      for (int i = 0; i < N / 4; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int e = first + i * 8 + pair + j;
          if (e < width) made(at, e, sums[i * 4 + half * 2 + j], total[half], most[half]);
        }
    }
  }

  // --- The first.

  __device__ __forceinline__ void MultiplyKeys(float (&scores)[KEYS / 2]) const {
    unsigned long a = TileDescriptor(queries), b = TileDescriptor(Stage());
    Keep(a);
    Keep(b);
    BeginProducts();
#pragma unroll
    for (int step = 0; step < DEPTH_BOXES * 4; ++step)
      Products<T, KEYS>::Of(scores, a + Further(step / 4 * kQueryBox + step % 4 * 32),
                            b + Further(step / 4 * kBox + step % 4 * 32), step > 0);
    CommitProducts();
  }
  // The weights as the second warpgroup multiplies them: rows of 128 bytes, swizzled.
  __device__ __forceinline__ void TellWeights(const unsigned (&pairs)[KEYS / 4], const float (&shrink)[2]) {
    WaitFor(WeightsEmpty(), phase ^ 1);
    phase ^= 1;
    unsigned to = Weights() + row * 128 + row % 8 * 16 + pair * 2;
    Keep(to);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (pair == 0) shared.shrinks[row + half * 8] = shrink[half];
#pragma unroll
      for (int i = 0; i < KEYS / 8; ++i) StoreShared((to ^ i * 16) + half * 8 * 128, pairs[i * 2 + half]);
    }
    PublishToCopies();
    __syncwarp();
    if (threadIdx.x % 32 == 0) Arrive(WeightsFull());
  }
  __device__ __forceinline__ void AddValues(float (&sums)[LEFT / 2], const unsigned (&pairs)[KEYS / 4]) const {
    const unsigned long b = Values(0);
    BeginProducts();
#pragma unroll
    for (int step = 0; step < KEYS / 16; ++step)
      Products<T, LEFT>::After(sums, pairs + step * 4, b + Further(step * 16 * 128));
    CommitProducts();
  }

  // While the second warpgroup adds values, this one does, and multiplies the next keys right behind. score(scores, first
  // key) makes scores of products; `scale` is in units of log2. Keys from `end` on are not there.
  template <class Score, class Made>
  __device__ __forceinline__ void Lead(int begin, int end, float scale, int rows, int width, const Score& score,
                                       const Made& made) {
    float scores[KEYS / 2], sums[LEFT / 2], shrink[2];
    float most[2] = {-__int_as_float(0x7f800000), -__int_as_float(0x7f800000)}, total[2] = {};
    unsigned pairs[KEYS / 4];
#pragma unroll
    for (int i = 0; i < LEFT / 2; ++i) sums[i] = 0;
    if (begin < end) {
      AwaitStage();
      MultiplyKeys(scores);
      WaitForProducts<0>();
      Settle(scores);
      int first = begin;
      for (; first + KEYS < end; first += KEYS) {
        score(scores, first);
        WeighScores(scores, scale, most, total, shrink);
        PackWeights<T>(scores, pairs);
        TellWeights(pairs, shrink);
        Shrink(sums, shrink);
        AddValues(sums, pairs);
        const int stage = next.stage;
        next.Advance();
        AwaitStage();
        MultiplyKeys(scores);
        WaitForProducts<1>();
        Settle(sums);
        Release(stage);
        WaitForProducts<0>();
        Settle(scores);
      }
      score(scores, first);
#pragma unroll
      for (int i = 0; i < KEYS / 2; ++i)
        if (first + i / 4 * 8 + pair + i % 2 >= end) scores[i] = -__int_as_float(0x7f800000);
      WeighScores(scores, scale, most, total, shrink);
      PackWeights<T>(scores, pairs);
      TellWeights(pairs, shrink);
      Shrink(sums, shrink);
      AddValues(sums, pairs);
      WaitForProducts<0>();
      Settle(sums);
      Release(next.stage);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[half] += __shfl_xor_sync(0xffffffffu, total[half], 1);
      total[half] += __shfl_xor_sync(0xffffffffu, total[half], 2);
      most[half] = InLog2(most[half], scale);
      if (pair == 0) {
        shared.total[row + half * 8] = total[half];
        shared.most[row + half * 8] = most[half];
      }
    }
    TakeTurn(0);
    Finish(sums, 0, rows, width, total, most, made);
  }

  // --- The second.
  template <class Made>
  __device__ __forceinline__ void Follow(int begin, int end, int rows, int width, const Made& made) {
    float sums[RIGHT / 2];
#pragma unroll
    for (int i = 0; i < RIGHT / 2; ++i) sums[i] = 0;
    for (int first = begin; first < end; first += KEYS) {
      AwaitStage();
      WaitFor(WeightsFull(), phase);
      phase ^= 1;
      const float shrink[2] = {shared.shrinks[row], shared.shrinks[row + 8]};
      Shrink(sums, shrink);
      const unsigned long a = TileDescriptor(Weights()), b = Values(LEFT);
      BeginProducts();
#pragma unroll
      for (int step = 0; step < KEYS / 16; ++step)
        Products<T, RIGHT>::AfterShared(sums, a + Further(step * 32), b + Further(step * 16 * 128));
      CommitProducts();
      WaitForProducts<0>();
      Settle(sums);
      if (threadIdx.x % 32 == 0) Arrive(WeightsEmpty());
      Release(next.stage);
      next.Advance();
    }
    TakeTurn(0);
    const float total[2] = {shared.total[row], shared.total[row + 8]};
    const float most[2] = {shared.most[row], shared.most[row + 8]};
    Finish(sums, LEFT, rows, width, total, most, made);
  }
};
