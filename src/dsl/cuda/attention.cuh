// Attention on the tensor cores of compute capability 9.0; dsl/cuda/ways/attention_tiles.cc says how it goes.
// Uses tensor_core.cuh, attention_numbers.cuh, attention_pairs.cuh, attention_products.cuh, attention_keys.cuh and the
// specializations of Products that the kernel needs.

// A block's part: GROUPS warpgroups with 64 queries each, of DEPTH elements, and tiles of KEYS keys, whose values have
// WIDTH. STAGES tiles of keys, and of values, are in flight, and the queries of AHEAD items.
template <class T, int DEPTH, int WIDTH, int KEYS, int STAGES, int GROUPS, int AHEAD, class WEIGHTS>
struct Attention {
  static constexpr int kQueries = GROUPS * 64, kDepthBoxes = (DEPTH + 63) / 64, kWidthBoxes = (WIDTH + 63) / 64;
  static constexpr int kWidth = (WIDTH + 7) / 8 * 8;
  static constexpr unsigned kBox = KEYS * 128, kQueryBox = kQueries * 128;
  static constexpr unsigned kKeyBytes = kDepthBoxes * kBox, kValueBytes = kWidthBoxes * kBox;
  static constexpr unsigned kQueryBytes = kDepthBoxes * kQueryBox;

  // Barriers, by their number: of each stage of queries, then of keys, then of values; a tile's is followed by that of
  // its place being free again.
  static constexpr int kBarriers = AHEAD * 2 + STAGES * 4;
  struct Shared {
    unsigned long barriers[kBarriers];
    int items[AHEAD];
  };
  __device__ __forceinline__ unsigned Full(int first, int stage) const { return barriers + (first + stage * 2) * 8; }
  __device__ __forceinline__ unsigned Empty(int first, int stage) const { return Full(first, stage) + 8; }
  static constexpr int kOfQueries = 0, kOfKeys = AHEAD * 2, kOfValues = kOfKeys + STAGES * 2;

  unsigned barriers, queries, keys, values;  // addresses in shared memory
  volatile int* handed;                      // the items whose queries are there
  Next<AHEAD> query;
  Next<STAGES> key, value;

  __device__ __forceinline__ Attention(Shared& shared, const void* tiles) : handed(shared.items) {
    barriers = SharedAddress(shared.barriers);
    queries = (SharedAddress(tiles) + 1023) & ~1023u;
    keys = queries + AHEAD * kQueryBytes;
    values = keys + STAGES * kKeyBytes;
    if (threadIdx.x == 0) {
      for (int i = 0; i < kBarriers; ++i) InitBarrier(barriers + i * 8, i % 2 == 0 ? 1 : GROUPS);
      PublishBarriers();
    }
    __syncthreads();
  }

  // --- The producer, one thread.

  // Waits until the consumers have no use for a stage's queries any more, and says what they are to do next.
  __device__ __forceinline__ void AwaitRoom(int item) {
    WaitFor(Empty(kOfQueries, query.stage), query.phase ^ 1);
    handed[query.stage] = item;
  }
  // `item` is no item: the consumers end.
  __device__ __forceinline__ void End(int item) {
    AwaitRoom(item);
    Arrive(Full(kOfQueries, query.stage));
  }
  // Where a tensor's matrix is among its batches; of pages the first, from which each is so many `apart` from the one
  // before.
  struct Matrix {
    const TensorMap* map;
    int inner, outer, apart = 0;
  };
  // A tile's boxes of keys or values, from the key `first` on.
  template <int BOXES, class Keys, class Pages>
  __device__ __forceinline__ void CopyTile(unsigned to, const Matrix& of, const Keys& keys, const Pages& pages, int first,
                                           unsigned full) {
    for (int box = 0; box < BOXES; ++box)
      keys.template Each<KEYS>(pages, first, [&](int at, int row, int page) {
        CopyBox(to + box * kBox + at * 128, of.map, box * 64, row, of.inner + page * of.apart, of.outer, full);
      });
  }
  // The queries from m0 on, and the tiles [first, tiles) of keys and values, the last of them first. A tile of values is
  // wanted later than the keys after it.
  template <class Keys>
  __device__ __forceinline__ void Fetch(int item, Matrix q, int m0, Matrix k, Matrix v, const Keys& in, int first,
                                        int tiles) {
    AwaitRoom(item);
    const unsigned arrived = Full(kOfQueries, query.stage), room = queries + query.stage * kQueryBytes;
    ExpectBytes(arrived, kQueryBytes);
    for (int box = 0; box < kDepthBoxes; ++box)
      CopyBox(room + box * kQueryBox, q.map, box * 64, m0, q.inner, q.outer, arrived);
    query.Advance();
    for (int tile = tiles - 1; tile >= first - 1; --tile) {
      if (tile >= first) {
        const unsigned full = Full(kOfKeys, key.stage), to = keys + key.stage * kKeyBytes;
        const auto pages = in.template PagesOf<KEYS>(tile * KEYS);
        WaitFor(Empty(kOfKeys, key.stage), key.phase ^ 1);
        ExpectBytes(full, kKeyBytes);
        CopyTile<kDepthBoxes>(to, k, in, pages, tile * KEYS, full);
        key.Advance();
      }
      if (tile < tiles - 1) {
        const unsigned full = Full(kOfValues, value.stage), to = values + value.stage * kValueBytes;
        const auto pages = in.template PagesOf<KEYS>((tile + 1) * KEYS);
        WaitFor(Empty(kOfValues, value.stage), value.phase ^ 1);
        ExpectBytes(full, kValueBytes);
        CopyTile<kWidthBoxes>(to, v, in, pages, (tile + 1) * KEYS, full);
        value.Advance();
      }
    }
  }

  // --- The consumers, a warpgroup. A thread has two queries, `thread / 4 % 8` and 8 more of its warp's 16, and of each
  // tile's keys, as of the values' elements, two neighbours of every eight.

  // What the producer has handed out, once its queries are there.
  __device__ __forceinline__ int Item() const {
    WaitFor(Full(kOfQueries, query.stage), query.phase);
    return handed[query.stage];
  }

  float scores[KEYS / 2], sums[kWidth / 2];
  unsigned weights[KEYS / 4];    // of the tile before, as pairs
  float most[2], total[2];       // largest score so far; sum of the thread's weights

  __device__ __forceinline__ void MultiplyKeys(int group) {
    const unsigned a = queries + query.stage * kQueryBytes + group * 64 * 128, b = keys + key.stage * kKeyBytes;
#pragma unroll
    for (int step = 0; step < (DEPTH + 15) / 16; ++step)
      Products<T, KEYS>::Of(scores, TileDescriptor(a + step / 4 * kQueryBox + step % 4 * 32),
                            TileDescriptor(b + step / 4 * kBox + step % 4 * 32), step > 0);
    CommitProducts();
  }
  __device__ __forceinline__ void AddValues() {
    const unsigned b = values + value.stage * kValueBytes;
#pragma unroll
    for (int step = 0; step < KEYS / 16; ++step)
      Products<T, kWidth>::After(sums, weights + step * 4, TurnedDescriptor(b + step * 16 * 128, kBox));
    CommitProducts();
  }
  __device__ __forceinline__ void AwaitKeys() { WaitFor(Full(kOfKeys, key.stage), key.phase); }
  __device__ __forceinline__ void AwaitValues() {
    WaitFor(Full(kOfValues, value.stage), value.phase);
  }
  __device__ __forceinline__ void ReleaseKeys() {
    if (threadIdx.x % 128 == 0) Arrive(Empty(kOfKeys, key.stage));
    key.Advance();
  }
  __device__ __forceinline__ void ReleaseValues() {
    if (threadIdx.x % 128 == 0) Arrive(Empty(kOfValues, value.stage));
    value.Advance();
  }

  __device__ __forceinline__ void Weigh(float scale, float (&shrink)[2]) {
    if constexpr (WEIGHTS::kIsSoftmax) {
      WeighScores(scores, scale, most, total, shrink);
    } else if constexpr (WEIGHTS::kSums) {
#pragma unroll
      for (int i = 0; i < KEYS / 2; ++i) total[i / 2 % 2] += scores[i];
    }
  }

  template <class Look, class Score>
  __device__ __forceinline__ void Step(int group, float scale, int first, int tile, const Look& look,
                                       const Score& score) {
    BeginProducts();
    MultiplyKeys(group);
    const auto looked = look(tile);
    AwaitValues();
    AddValues();
    WaitForProducts<1>();
    Settle(scores);
    ReleaseKeys();
    score(scores, tile, looked);
    float shrink[2];
    Weigh(scale, shrink);
    Settle(scores);
    if (tile > first) AwaitKeys();  // here, so that the compiler does not wait for the sums before it weighs
    WaitForProducts<0>();
    Settle(sums);
    ReleaseValues();
    if constexpr (WEIGHTS::kIsSoftmax) {
#pragma unroll
      for (int i = 0; i < kWidth / 2; ++i) sums[i] *= shrink[i / 2 % 2];
    }
    PackWeights<T>(scores, weights);
  }

  // Sums of the values of tiles [first, tiles) by their weights, and the sums of the weights. `edge` and `inside` make
  // scores of a tile's products and of what `look` read meanwhile; the `edges` tiles that come first go through `edge`,
  // and those before the tile `inner`, which come last.
  template <class Look, class Edge, class Inside>
  __device__ __forceinline__ void Attend(int group, float scale, int first, int inner, int tiles, int edges,
                                         const Look& look, const Edge& edge, const Inside& inside) {
    WaitFor(Full(kOfQueries, query.stage), query.phase);
    AwaitKeys();
    BeginProducts();
    MultiplyKeys(group);
    const auto looked = look(tiles - 1);
    WaitForProducts<0>();
    Settle(scores);
    ReleaseKeys();
    most[0] = most[1] = WEIGHTS::Hidden();
    total[0] = total[1] = 0;
#pragma unroll
    for (int i = 0; i < kWidth / 2; ++i) sums[i] = 0;
    edge(scores, tiles - 1, looked);
    float shrink[2];
    Weigh(scale, shrink);
    PackWeights<T>(scores, weights);
    if (tiles - 1 > first) AwaitKeys();
    int tile = tiles - 2;
    for (const int last = max(tiles - edges, first); tile >= last; --tile) Step(group, scale, first, tile, look, edge);
    for (; tile >= inner; --tile) Step(group, scale, first, tile, look, inside);
    for (; tile >= first; --tile) Step(group, scale, first, tile, look, edge);
    if (threadIdx.x % 128 == 0) Arrive(Empty(kOfQueries, query.stage));
    query.Advance();
    AwaitValues();
    BeginProducts();
    AddValues();
    WaitForProducts<0>();
    Settle(sums);
    ReleaseValues();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[half] += __shfl_xor_sync(0xffffffffu, total[half], 1);
      total[half] += __shfl_xor_sync(0xffffffffu, total[half], 2);
    }
  }
};
