#include "protocol/tensor_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/rounding.h"

namespace hone {
namespace {

// From `begin` to `end` of the place; the pattern's first byte is at even offsets.
void Fill(std::byte* base, std::int64_t begin, std::int64_t end, std::uint16_t pattern) {
  const std::uint64_t word = 0x0001000100010001ull * pattern;
  const auto byte = [&](std::int64_t at) { base[at] = static_cast<std::byte>(word >> (at % 8 * 8)); };
  for (; begin < end && begin % 8 != 0; ++begin) byte(begin);
  if (begin < end) {
    const auto count = static_cast<std::size_t>(end - begin) / 8;
    std::fill_n(reinterpret_cast<std::uint64_t*>(base + begin), count, word);
    begin += static_cast<std::int64_t>(8 * count);
  }
  for (; begin < end; ++begin) byte(begin);
}

// `at` counts from the place's beginning.
bool Intact(std::byte byte, std::int64_t at) {
  return byte == static_cast<std::byte>(at % 2 != 0 ? kPattern >> 8 : kPattern & 0xff);
}

}  // namespace

std::vector<Place> PlaceTensors(const std::vector<std::int64_t>& bytes, std::int64_t& end, std::int64_t unit) {
  std::vector<Place> places;
  for (const std::int64_t size : bytes) {
    const std::int64_t rounded = RoundUp(size, unit);
    Place place{.offset = end, .total = 0, .data = kPageBytes + RoundUp(rounded, kPageBytes) - rounded, .bytes = size};
    place.total = place.data + rounded + kPageBytes;
    end += place.total;
    places.push_back(place);
  }
  return places;
}

Result<SharedMemory> SharedMemory::Create(std::int64_t bytes) {
  SharedMemory memory;
  memory.bytes_ = std::max<std::int64_t>(bytes, kPageBytes);
  const auto failed = [&](const char* what) {
    return Fail(ErrorKind::kIo, fmt::format("cannot make {} bytes of shared memory ({}): {}", memory.bytes_, what,
                                            std::strerror(errno)));
  };
  memory.fd_ = memfd_create("hone", MFD_CLOEXEC);
  if (memory.fd_ < 0) return failed("memfd_create");
  // Now, not at the first touch: a machine that has too little says so here, not by SIGBUS later.
  if (const int error = posix_fallocate(memory.fd_, 0, memory.bytes_); error != 0) {
    errno = error;
    return failed("posix_fallocate");
  }
  memory.read_only_fd_ = open(fmt::format("/proc/self/fd/{}", memory.fd_).c_str(), O_RDONLY | O_CLOEXEC);
  if (memory.read_only_fd_ < 0) return failed("open");
  void* base =
      mmap(nullptr, static_cast<std::size_t>(memory.bytes_), PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd_, 0);
  if (base == MAP_FAILED) return failed("mmap");
  memory.base_ = static_cast<std::byte*>(base);
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this == &other) return *this;
  Release();
  fd_ = std::exchange(other.fd_, -1);
  read_only_fd_ = std::exchange(other.read_only_fd_, -1);
  base_ = std::exchange(other.base_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

SharedMemory::~SharedMemory() { Release(); }

void SharedMemory::Release() {
  if (base_) munmap(base_, static_cast<std::size_t>(bytes_));
  if (fd_ >= 0) close(fd_);
  if (read_only_fd_ >= 0) close(read_only_fd_);
}

void FillAll(const SharedMemory& memory, const Place& place, std::uint16_t pattern) {
  std::byte* base = memory.base() + place.offset;
  Fill(base, place.data, place.data + place.bytes, pattern);
  FillRedZones(memory, place);
}

void FillRedZones(const SharedMemory& memory, const Place& place) {
  std::byte* base = memory.base() + place.offset;
  Fill(base, 0, place.data, kPattern);
  Fill(base, place.data + place.bytes, place.total, kPattern);
}

std::optional<Trespass> FindTrespass(const SharedMemory& memory, const Place& place) {
  const std::byte* base = memory.base() + place.offset;
  return FindTrespass(base, base + place.data + place.bytes, place);
}

std::optional<Trespass> FindTrespass(const std::byte* before, const std::byte* after, const Place& place) {
  Trespass found;
  for (std::int64_t at = place.data; at-- > 0;) {
    if (!Intact(before[at], at) && found.count++ == 0) found.offset = at - place.data;
  }
  const std::int64_t in_front = found.count, end = place.data + place.bytes;
  for (std::int64_t at = end; at < place.total; ++at) {
    if (!Intact(after[at - end], at) && found.count++ == in_front && (in_front == 0 || at - end < -found.offset))
      found.offset = at - place.data;
  }
  if (found.count == 0) return std::nullopt;
  return found;
}

}  // namespace hone
