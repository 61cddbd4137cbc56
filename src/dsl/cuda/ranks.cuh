// Places of elements in the order of their rows.

// A number as a whole number without sign that has its place in order: a NaN is above all numbers, both zeros are one.
__device__ __forceinline__ unsigned long OrderedKey(long x) { return static_cast<unsigned long>(x) ^ (1ul << 63); }
__device__ __forceinline__ unsigned long OrderedKey(double x) {
  if (x != x) return ~0ul;
  const long bits = x == 0 ? 0 : __double_as_longlong(x);
  return bits < 0 ? ~static_cast<unsigned long>(bits) : static_cast<unsigned long>(bits) | (1ul << 63);
}
__device__ __forceinline__ unsigned long OrderedKey(float x) { return OrderedKey(static_cast<double>(x)); }
__device__ __forceinline__ unsigned long OrderedKey(bool x) { return x ? 1 : 0; }

// Puts keys into ascending order, and the places that they had beside them: of equals the first stays first. By all
// threads of a block of half as many as there are keys, which are a power of two.
template <int CHUNK>
__device__ void SortChunk(unsigned long (&keys)[CHUNK], int (&places)[CHUNK]) {
  for (int size = 2; size <= CHUNK; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const int a = threadIdx.x / step * step * 2 + threadIdx.x % step, b = a + step;
      const bool up = (a & size) == 0;
      const bool later = keys[a] > keys[b] || (keys[a] == keys[b] && places[a] > places[b]);
      if (later != up) continue;
      const unsigned long key = keys[a];
      const int place = places[a];
      keys[a] = keys[b];
      places[a] = places[b];
      keys[b] = key;
      places[b] = place;
    }
  }
  __syncthreads();
}

// How many elements of a row come before the one at `at`, of which `within` are of its own chunk.
template <int CHUNK>
__device__ long PlaceInOrder(const long* sorted, int within, int row, int at, unsigned long key) {
  long place = within;
  for (int first = 0; first < row; first += CHUNK) {
    if (first == at / CHUNK * CHUNK) continue;
    const bool before = first < at;  // then equals come first
    int low = 0, high = min(CHUNK, row - first);
    while (low < high) {
      const int middle = (low + high) / 2;
      const unsigned long other = static_cast<unsigned long>(sorted[first + middle]);
      if (other < key || (before && other == key)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    place += low;
  }
  return place;
}
