#include "judge/input_table.h"

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

template <class Word>
void Choose(const std::byte* table, std::uint64_t seed, std::byte* to, std::uint64_t count) {
  while (count > 0) {
    std::uint64_t chance = Next(seed);
    for (int i = 0; i < 4 && count > 0; ++i, --count, chance >>= 16, to += sizeof(Word))
      std::memcpy(to, table + (chance & 0xffff) * sizeof(Word), sizeof(Word));
  }
}

}  // namespace

Result<InputTable> InputTable::Create(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream,
                                      const std::string& folder) {
  InputTable table;
  table.element_bytes_ = Bytes(tensor.dtype);
  table.whole_ = std::holds_alternative<FromFile>(tensor.generator);
  Tensor drawn = tensor;
  if (!table.whole_) drawn.shape = {kElements};
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
  switch (element_bytes_) {
    case 1: return Choose<std::uint8_t>(values_.data(), seed, to, count);
    case 2: return Choose<std::uint16_t>(values_.data(), seed, to, count);
    case 4: return Choose<std::uint32_t>(values_.data(), seed, to, count);
    default: return Choose<std::uint64_t>(values_.data(), seed, to, count);
  }
}

}  // namespace hone
