#include "evaluate/draws.h"

#include <cmath>
#include <cstring>

#include "base/philox.h"
#include "evaluate/compare.h"

namespace hone {
namespace {

struct Spec {
  const char* name;
  std::uint64_t seed;
  Draw draw;
};

// 2^10: far enough to overflow what squares in f16 or relies on a range, near enough for exp to stay finite on small
// inputs.
const Spec kSpecs[Draws::kCount] = {
    {"seed 1", 1, {}},
    {"seed 2", 2, {}},
    {"seed 3", 3, {}},
    {"scale 2^-10", 4, {.name = "scale 2^-10", .scale = 0x1p-10, .outliers = false}},
    {"scale 2^10", 5, {.name = "scale 2^10", .scale = 0x1p10, .outliers = false}},
    {"outliers", 6, {.name = "outliers", .scale = 1, .outliers = true}},
    {"very wide", 7, {}},
    {"seed 4, after timing", 8, {}},
};
constexpr std::uint64_t kUnjudgedSeed = 1000;
constexpr int kWideExponent = 20;  // factors from 2^-20 to 2^20: beyond the 24 bits of f32 within one sum

template <class Store>
void Widen(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream, std::vector<std::byte>& data,
           const Store& store) {
  const std::int64_t count = ElementCount(tensor.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto word = Philox(seed, stream, static_cast<std::uint64_t>(i)).word[0];
    const int exponent = static_cast<int>(word % (2 * kWideExponent + 1)) - kWideExponent;
    store(i, std::ldexp(ElementAsDouble(tensor.dtype, data.data(), i), exponent));
  }
}

void Widen(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream, std::vector<std::byte>& data) {
  const auto put = [&](std::int64_t i, auto value) {
    std::memcpy(data.data() + i * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
  };
  switch (tensor.dtype) {
    case DType::kF64: return Widen(tensor, seed, stream, data, [&](std::int64_t i, double value) { put(i, value); });
    case DType::kF32:
      return Widen(tensor, seed, stream, data,
                   [&](std::int64_t i, double value) { put(i, static_cast<float>(value)); });
    case DType::kF16:
      return Widen(tensor, seed, stream, data, [&](std::int64_t i, double value) { put(i, ToHalf(value)); });
    case DType::kBF16:
      return Widen(tensor, seed, stream, data, [&](std::int64_t i, double value) { put(i, ToBFloat16(value)); });
    default: return;  // whole numbers keep their meaning
  }
}

}  // namespace

Draws::Draws(const Problem& problem, const Oracle& oracle, std::uint64_t seed, int threads)
    : problem_(&problem), oracle_(&oracle), seed_(seed), threads_(threads) {}

void Draws::Renew(std::uint64_t seed) {
  seed_ = seed;
  for (auto& drawn : drawn_) drawn.reset();
}

Result<const DrawnInputs*> Draws::Get(std::size_t which) {
  if (drawn_[which]) return drawn_[which].get();
  const Spec& spec = kSpecs[which];
  auto drawn = std::make_unique<DrawnInputs>();
  drawn->name = spec.name;
  drawn->own = spec.draw.scale == 1 && !spec.draw.outliers && which != kWide;
  const auto tensors = problem_->Inputs();
  std::vector<const void*> pointers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto& data = drawn->values.emplace_back(static_cast<std::size_t>(tensors[i]->bytes()));
    HONE_TRY(Fill(*tensors[i], seed_ + spec.seed, i, spec.draw, data.data(), problem_->folder));
    if (which == kWide && tensors[i]->role == Role::kInput) Widen(*tensors[i], seed_ + spec.seed, i + 4096, data);
    pointers.push_back(data.data());
  }
  drawn->expected = HONE_TRY(oracle_->Run(pointers, threads_));
  for (Expected& expected : drawn->expected) {
    expected.scale.clear();
    expected.scale.shrink_to_fit();
  }
  drawn_[which] = std::move(drawn);
  return drawn_[which].get();
}

Result<std::vector<std::vector<std::byte>>> Draws::Unjudged(std::size_t which) const {
  const auto tensors = problem_->Inputs();
  std::vector<std::vector<std::byte>> values(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]->role != Role::kInput) continue;
    values[i].resize(static_cast<std::size_t>(tensors[i]->bytes()));
    HONE_TRY(Fill(*tensors[i], seed_ + kUnjudgedSeed + which, i, {}, values[i].data(), problem_->folder));
  }
  return values;
}

}  // namespace hone
