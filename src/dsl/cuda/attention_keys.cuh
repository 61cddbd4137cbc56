// Where the keys of a tile are among those that the copy engine reads. PagesOf is asked for early, so that what it reads
// is there when Each wants it, which calls copy(at, row, page): from `at` on the tile's keys are those from `row` on of
// a matrix of keys, or of that page.

// One behind the other.
struct KeysInOrder {
  struct Pages {};
  template <int KEYS>
  __device__ __forceinline__ Pages PagesOf(int) const {
    return {};
  }
  template <int KEYS, class Copy>
  __device__ __forceinline__ void Each(const Pages&, int first, const Copy& copy) const {
    copy(0, first, 0);
  }
};

// In pages of PAGE; number(place) is that of the page at a place.
template <int PAGE, class Number>
struct KeysInPages {
  Number number;

  template <int KEYS>
  struct Pages {
    static constexpr int kRows = KEYS < PAGE ? KEYS : PAGE, kCount = KEYS / kRows;
    int of[kCount];
  };
  template <int KEYS>
  __device__ __forceinline__ Pages<KEYS> PagesOf(int first) const {
    Pages<KEYS> pages;
#pragma unroll
    for (int i = 0; i < Pages<KEYS>::kCount; ++i) pages.of[i] = number((first + i * Pages<KEYS>::kRows) / PAGE);
    return pages;
  }
  template <int KEYS, class Copy>
  __device__ __forceinline__ void Each(const Pages<KEYS>& pages, int first, const Copy& copy) const {
#pragma unroll
    for (int i = 0; i < Pages<KEYS>::kCount; ++i)
      copy(i * Pages<KEYS>::kRows, (first + i * Pages<KEYS>::kRows) % PAGE, pages.of[i]);
  }
};
