// The terms of folds by their keys, for a device (oracle/cuda_nest.cc embeds this text behind cuda_nests.cuh): a sort
// by lists, stable so that the terms of a list ascend, a digit a step. Each worker counts the digits of entries that
// lie side by side; the sums of these counts are where its entries of each digit go. Its time hangs on no key.
#pragma once

struct Listed {
  std::uint32_t list, term;
};

constexpr unsigned kDigitBits = 4, kDigits = 1 << kDigitBits;

inline unsigned DigitOf(const Listed& entry, std::int64_t digit) {
  return entry.list >> (digit * kDigitBits) & (kDigits - 1);
}

// counts: of all workers' first digits, then of their second ones, and so on.
inline void CountDigits(const Listed* entries, std::int64_t count, std::int64_t workers, std::int64_t digit,
                        std::uint32_t* counts) {
  const std::int64_t each = (count + workers - 1) / workers;
  for (std::int64_t worker = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; worker < workers;
       worker += std::int64_t{gridDim.x} * blockDim.x) {
    std::uint32_t mine[kDigits] = {};
    const std::int64_t end = std::min(count, (worker + 1) * each);
    for (std::int64_t i = worker * each; i < end; ++i) ++mine[DigitOf(entries[i], digit)];
    for (unsigned d = 0; d < kDigits; ++d) counts[d * workers + worker] = mine[d];
  }
}

// Each becomes the sum of those before it. One block.
inline void SumCounts(std::uint32_t* counts, std::int64_t count) {
  __shared__ std::uint32_t sums[kMostThreads];
  const std::int64_t each = (count + blockDim.x - 1) / blockDim.x;
  const std::int64_t begin = std::min(count, threadIdx.x * each), end = std::min(count, begin + each);
  std::uint32_t sum = 0;
  for (std::int64_t i = begin; i < end; ++i) sum += counts[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  std::uint32_t before = 0;
  for (unsigned i = 0; i < threadIdx.x; ++i) before += sums[i];
  for (std::int64_t i = begin; i < end; ++i) {
    const std::uint32_t own = counts[i];
    counts[i] = before;
    before += own;
  }
}

// By the sums of the counts.
inline void SortByDigit(const Listed* entries, std::int64_t count, std::int64_t workers, std::int64_t digit,
                        const std::uint32_t* counts, Listed* sorted) {
  const std::int64_t each = (count + workers - 1) / workers;
  for (std::int64_t worker = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; worker < workers;
       worker += std::int64_t{gridDim.x} * blockDim.x) {
    std::uint32_t place[kDigits];
    for (unsigned d = 0; d < kDigits; ++d) place[d] = counts[d * workers + worker];
    const std::int64_t end = std::min(count, (worker + 1) * each);
    for (std::int64_t i = worker * each; i < end; ++i) sorted[place[DigitOf(entries[i], digit)]++] = entries[i];
  }
}

// The first entry, of sorted ones, of a list or of one behind it.
inline std::uint32_t FirstOf(const Listed* entries, std::int64_t count, std::int64_t list) {
  std::int64_t begin = 0, end = count;
  while (begin < end) {
    const std::int64_t middle = (begin + end) / 2;
    if (entries[middle].list < list)
      begin = middle + 1;
    else
      end = middle;
  }
  return static_cast<std::uint32_t>(begin);
}

struct List {
  const Listed* entries;
  std::int64_t size;
};
inline List ListOf(const Listed* entries, const std::uint32_t* begins, std::int64_t list) {
  return {entries + begins[list], std::int64_t{begins[list + 1]} - begins[list]};
}
