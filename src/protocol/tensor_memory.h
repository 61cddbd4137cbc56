// Tensors in memory that judge and worker share, each between red zones:
//
//     guard (no access) | canary ... | the tensor | slack, canary page | guard (no access)
//
// The tensor starts at a multiple of 64 bytes and ends, rounded up to 64, at the end of a page. The judge holds the
// memory file and writes it; the worker maps it, inputs and parameters read-only. Canaries and slack hold kPattern,
// which is a NaN in every real type, so that a read out of bounds shows in the result, and a write is seen by the judge
// in its own mapping. The guards exist in the worker's mapping only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"

namespace hone {

inline constexpr std::int64_t kPageBytes = 4096;
inline constexpr std::int64_t kGuardBytes = 64 << 10;
inline constexpr std::uint16_t kPattern = 0x7fff;  // of red zones: repeated, it is a NaN of every real type
// Of outputs before a run. NaNs too, with other bits, since a NaN that was read out of bounds keeps its bits in sums
// and products. Two, without a byte in common: a small integer can be one of them by chance, but not both.
inline constexpr std::uint16_t kPoison = 0xfff5, kOtherPoison = 0x7ffa;

// Where a tensor lies in the memory file: `total` bytes at `offset`, a multiple of the page, of which `bytes` at
// `offset + data` are the tensor's.
struct Place {
  std::int64_t offset = 0, total = 0, data = 0, bytes = 0;
};

// One after the other from `end` on, which is moved behind the last. `unit`: what a tensor begins at a multiple of; a
// power of two up to the page.
std::vector<Place> PlaceTensors(const std::vector<std::int64_t>& bytes, std::int64_t& end, std::int64_t unit = 64);

// The judge's side of one memory file. Movable; the destructor gives everything back.
class SharedMemory {
 public:
  static Result<SharedMemory> Create(std::int64_t bytes);
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  std::byte* At(const Place& place) const { return base_ + place.offset + place.data; }  // the tensor's first byte
  std::byte* base() const { return base_; }
  int descriptor() const { return fd_; }                      // for reading and writing
  int read_only_descriptor() const { return read_only_fd_; }  // the same file, opened for reading

 private:
  void Release();
  int fd_ = -1, read_only_fd_ = -1;
  std::byte* base_ = nullptr;
  std::int64_t bytes_ = 0;
};

// Pattern over all of the place, or over the red zones alone.
void FillAll(const SharedMemory& memory, const Place& place, std::uint16_t pattern);
void FillRedZones(const SharedMemory& memory, const Place& place);

// The byte nearest to the tensor in its red zones that no longer holds the pattern, relative to the tensor's first byte
// (negative: before it; >= bytes: past its end), and how many there are.
struct Trespass {
  std::int64_t offset = 0, count = 0;
};
std::optional<Trespass> FindTrespass(const SharedMemory& memory, const Place& place);
// The same of red zones that lie apart: place.data bytes, and those behind the tensor.
std::optional<Trespass> FindTrespass(const std::byte* before, const std::byte* after, const Place& place);

}  // namespace hone
