#include "judge/input_table.h"

#include <algorithm>
#include <cstring>
#include <variant>

#include "problem/generate.h"

namespace hone {
namespace {

constexpr std::int64_t kElements = 1 << 16;  // 16 bits choose one; 256 KiB of f32 stay in a cache

// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::uint64_t Next(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Elements are chosen this many bytes at a time: a run of the table's, from any of its elements on. Who reads one of
// them knows the others of a run, but has fetched their cache line already; and 4 runs cost as much as 4 elements.
constexpr std::size_t kRunBytes = 16;

void WriteRuns(const std::byte* table, std::size_t element_bytes, std::uint64_t seed, std::byte* to,
               std::size_t bytes) {
  const std::byte* from[4];
  while (bytes > 0) {
    std::uint64_t chance = Next(seed);
    for (int i = 0; i < 4; ++i, chance >>= 16) from[i] = table + (chance & 0xffff) * element_bytes;
    if (bytes >= 4 * kRunBytes) {
      for (int i = 0; i < 4; ++i) std::memcpy(to + i * kRunBytes, from[i], kRunBytes);
      to += 4 * kRunBytes, bytes -= 4 * kRunBytes;
      continue;
    }
    for (int i = 0; i < 4 && bytes > 0; ++i) {
      const std::size_t size = std::min(bytes, kRunBytes);
      std::memcpy(to, from[i], size);
      to += size, bytes -= size;
    }
  }
}

}  // namespace

Result<InputTable> InputTable::Create(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream,
                                      const std::string& folder) {
  InputTable table;
  table.element_bytes_ = Bytes(tensor.dtype);
  table.whole_ = std::holds_alternative<FromFile>(tensor.generator);
  Tensor drawn = tensor;
  if (!table.whole_) drawn.shape = {kElements + static_cast<std::int64_t>(kRunBytes / table.element_bytes_)};
  table.values_.resize(static_cast<std::size_t>(drawn.bytes()));
  HONE_TRY(hone::Fill(drawn, seed, stream, {}, table.values_.data(), folder));
  return table;
}

void InputTable::Fill(std::uint64_t seed, std::byte* data, std::uint64_t begin, std::uint64_t count) const {
  std::byte* to = data + begin * element_bytes_;
  if (count == 0) return;
  if (whole_) {
    std::memcpy(to, values_.data() + begin * element_bytes_, count * element_bytes_);
    return;
  }
  WriteRuns(values_.data(), element_bytes_, seed, to, count * element_bytes_);
}

}  // namespace hone
