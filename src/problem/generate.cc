#include "problem/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/philox.h"
#include "problem/safetensors.h"

namespace hone {
namespace {

constexpr std::int64_t kParallelFrom = 1'000'000;  // elements; below, starting threads costs more than it saves
constexpr std::uint64_t kSecondary = 1ull << 63;   // counters of the outlier lottery, apart from those of the values
constexpr std::uint32_t kOneInTenThousand = 429'497u;  // 2^32 / 10^4
constexpr double kOutlierFactor = 1000;

// The bits of `value` in a 16-bit format, to nearest, ties to even, with subnormals and infinity.
std::uint16_t Round16(double value, int exponent_bits, int mantissa_bits) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 63) << 15);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | (1 << (mantissa_bits - 1)));
  const double magnitude = std::abs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);  // subnormals share the smallest exponent
  // nearbyint in the default rounding mode is to nearest even; the scaling by a power of two is exact.
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent)));
  // A normal number's leading bit adds one to the biased exponent; a carry does so once more, up to infinity.
  const auto sum = (static_cast<std::uint32_t>(exponent + bias - 1) << mantissa_bits) + steps;
  return sign | static_cast<std::uint16_t>(std::min<std::uint32_t>(sum, infinity));
}

double Widen16(std::uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  double value;
  if (exponent == (1 << exponent_bits) - 1)
    value = mantissa ? std::nan("") : HUGE_VAL;
  else if (exponent == 0)
    value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  else
    value = std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return bits & 0x8000 ? -value : value;
}

// How an element of each type is stored: from a double, and the largest one below a bound.
struct Half {
  std::uint16_t bits;
  static Half From(double value) { return {ToHalf(value)}; }
  double Value() const { return FromHalf(bits); }
};
struct BFloat16 {
  std::uint16_t bits;
  static BFloat16 From(double value) { return {ToBFloat16(value)}; }
  double Value() const { return FromBFloat16(bits); }
};
template <class T>
struct Plain {
  T value;
  static Plain From(double real) {
    if constexpr (std::is_floating_point_v<T>)
      return {static_cast<T>(real)};
    else if constexpr (std::is_same_v<T, bool>)
      return {real != 0};
    else {
      // Out of range is undefined in C++; a clamp is what a person would expect of 1e30 in an int.
      if (std::isnan(real)) return {0};
      const double low = static_cast<double>(std::numeric_limits<T>::min()),
                   high = static_cast<double>(std::numeric_limits<T>::max());
      if (real >= high) return {std::numeric_limits<T>::max()};
      return {static_cast<T>(std::max(real, low))};
    }
  }
  double Value() const { return static_cast<double>(value); }
};

// The next element towards minus infinity: for a uniform draw that was rounded up onto its excluded bound.
template <class Element>
Element Below(Element element) {
  if constexpr (std::is_same_v<Element, Half> || std::is_same_v<Element, BFloat16>) {
    if (element.bits == 0 || element.bits == 0x8000) return {0x8001};
    return {static_cast<std::uint16_t>(element.bits & 0x8000 ? element.bits + 1 : element.bits - 1)};
  } else if constexpr (std::is_floating_point_v<decltype(element.value)>) {
    using T = decltype(element.value);
    return {std::nextafter(element.value, -std::numeric_limits<T>::infinity())};
  } else {
    return element;
  }
}

constexpr double kTwoTo32 = 4294967296.0;

// Values of elements [4 * block, 4 * block + 4).
struct Drawer {
  std::uint64_t seed, stream;

  void operator()(const Uniform& g, std::uint64_t block, double* out, bool wide) const {
    const double span = g.high - g.low;
    if (wide) {  // 53 bits each: f64 shows the steps of 2^-32
      for (int half = 0; half < 2; ++half) {
        const auto words = Philox(seed, stream, 2 * block + static_cast<std::uint64_t>(half));
        for (int i = 0; i < 2; ++i) {
          const auto bits = (std::uint64_t{words.word[2 * i + 1]} << 32 | words.word[2 * i]) >> 11;
          out[2 * half + i] = g.low + span * (static_cast<double>(bits) * 0x1p-53);
        }
      }
      return;
    }
    const auto words = Philox(seed, stream, block);
    for (int i = 0; i < 4; ++i) out[i] = g.low + span * (words.word[i] / kTwoTo32);
  }

  void operator()(const Normal& g, std::uint64_t block, double* out, bool) const {
    const auto words = Philox(seed, stream, block);
    for (int i = 0; i < 4; i += 2) {  // Box and Muller: two uniforms give two normals
      const double radius = std::sqrt(-2 * std::log((words.word[i] + 1.0) / kTwoTo32));
      const double angle = 2 * std::numbers::pi * (words.word[i + 1] / kTwoTo32);
      out[i] = g.mean + g.deviation * (radius * std::cos(angle));
      out[i + 1] = g.mean + g.deviation * (radius * std::sin(angle));
    }
  }

  void operator()(const Constant& g, std::uint64_t, double* out, bool) const { std::fill(out, out + 4, g.value); }
};

// Calls body(begin, end) on pieces of [0, count), each beginning at a multiple of 4.
template <class Body>
void InParallel(std::int64_t count, const Body& body) {
  const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  const auto pieces = count < kParallelFrom ? 1 : std::min(cores, count / (kParallelFrom / 4));
  const auto size = (count / pieces + 4) / 4 * 4;
  std::vector<std::thread> threads;
  for (std::int64_t i = 1; i < pieces; ++i) {
    const auto begin = std::min(count, i * size), end = i + 1 == pieces ? count : std::min(count, begin + size);
    threads.emplace_back([&body, begin, end] { body(begin, end); });
  }
  body(0, pieces == 1 ? count : std::min(count, size));
  for (auto& thread : threads) thread.join();
}

// Which elements are outliers.
class Lottery {
 public:
  Lottery(std::uint64_t seed, std::uint64_t stream, std::int64_t count) : seed_(seed), stream_(stream) {
    const auto words = Philox(seed, stream, ~0ull);
    const auto word = std::uint64_t{words.word[1]} << 32 | words.word[0];
    chosen_ = count > 0 ? static_cast<std::int64_t>(word % static_cast<std::uint64_t>(count)) : 0;
  }
  bool Wins(std::int64_t i) const {
    const auto index = static_cast<std::uint64_t>(i);
    return i == chosen_ || Philox(seed_, stream_, kSecondary | index / 4).word[index % 4] < kOneInTenThousand;
  }

 private:
  std::uint64_t seed_, stream_;
  std::int64_t chosen_;  // wins in any case
};

struct Filling {
  const Tensor& tensor;
  std::uint64_t seed, stream;
  double scale;
  bool outliers;

  double Varied(double value, std::int64_t i, const Lottery& lottery) const {
    value *= scale;
    return outliers && lottery.Wins(i) ? value * kOutlierFactor : value;
  }

  template <class Element>
  void Reals(Element* data) const {
    const auto count = ElementCount(tensor.shape);
    const Lottery lottery(seed, stream, count);
    const bool wide = tensor.dtype == DType::kF64;
    const bool plain = scale == 1 && !outliers;
    std::visit(
        [&](const auto& generator) {
          using G = std::decay_t<decltype(generator)>;
          if constexpr (!std::is_same_v<G, IntegerRange> && !std::is_same_v<G, FromFile>) {
            InParallel(count, [&](std::int64_t begin, std::int64_t end) {
              const Drawer drawer{seed, stream};
              for (auto i = begin; i < end; i += 4) {
                double values[4];
                drawer(generator, static_cast<std::uint64_t>(i) / 4, values, wide);
                for (int k = 0; k < 4 && i + k < end; ++k) {
                  Element element = Element::From(plain ? values[k] : Varied(values[k], i + k, lottery));
                  if constexpr (std::is_same_v<G, Uniform>) {
                    if (plain && element.Value() >= generator.high) element = Below(Element::From(generator.high));
                  }
                  data[i + k] = element;
                }
              }
            });
          }
        },
        tensor.generator);
  }

  // Whole numbers of any 64-bit range, exactly, into any type.
  template <class Element>
  void Integers(const IntegerRange& range, Element* data) const {
    const auto count = ElementCount(tensor.shape);
    const Lottery lottery(seed, stream, count);
    const auto span = static_cast<std::uint64_t>(range.high) - static_cast<std::uint64_t>(range.low);
    InParallel(count, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto index = static_cast<std::uint64_t>(i);
        std::uint64_t offset;
        if (span <= (1ull << 32)) {  // by multiplication: the bias is at most span / 2^32
          offset = (Philox(seed, stream, index / 4).word[index % 4] * span) >> 32;
        } else {
          const auto words = Philox(seed, stream, index / 2);
          offset = (std::uint64_t{words.word[2 * (index % 2) + 1]} << 32 | words.word[2 * (index % 2)]) % span;
        }
        const auto whole = static_cast<std::int64_t>(static_cast<std::uint64_t>(range.low) + offset);
        if constexpr (std::is_same_v<Element, Plain<std::int64_t>>)
          data[i] = {whole};
        else
          data[i] = Element::From(IsFloat(tensor.dtype) ? Varied(static_cast<double>(whole), i, lottery)
                                                        : static_cast<double>(whole));
      }
    });
  }

  template <class Element>
  Result<void> Load(const FromFile& from, const std::string& folder, Element* data) const {
    const auto path = (std::filesystem::path(folder) / from.path).string();
    const auto file = HONE_TRY(Safetensors::Open(path));
    const auto found = file.entries().find(from.tensor);
    if (found == file.entries().end()) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("{} holds no tensor {} (wanted for {})", path, from.tensor, tensor.name));
    }
    const auto& entry = found->second;
    if (entry.dtype != tensor.dtype || entry.shape != tensor.shape) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("{} in {} is {} {}, but {} is {} {}", from.tensor, path, Name(entry.dtype),
                              ToString(entry.shape), tensor.name, Name(tensor.dtype), ToString(tensor.shape)));
    }
    HONE_TRY(file.Read(entry, data));
    if (scale == 1 && !outliers) return {};
    const auto count = ElementCount(tensor.shape);
    const Lottery lottery(seed, stream, count);
    InParallel(count, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) data[i] = Element::From(Varied(data[i].Value(), i, lottery));
    });
    return {};
  }

  template <class Element>
  Result<void> Into(void* data, const std::string& folder) const {
    auto* elements = static_cast<Element*>(data);
    if (const auto* file = std::get_if<FromFile>(&tensor.generator)) return Load(*file, folder, elements);
    if (const auto* range = std::get_if<IntegerRange>(&tensor.generator))
      Integers(*range, elements);
    else
      Reals(elements);
    return {};
  }
};

}  // namespace

std::uint16_t ToHalf(double value) { return Round16(value, 5, 10); }
double FromHalf(std::uint16_t bits) { return Widen16(bits, 5, 10); }

std::uint16_t ToBFloat16(double value) { return Round16(value, 8, 7); }
double FromBFloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

Result<void> Fill(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream, const Draw& draw, void* data,
                  const std::string& folder) {
  const bool varies = tensor.role == Role::kInput && IsFloat(tensor.dtype);
  const Filling filling{tensor, seed, stream, varies ? draw.scale : 1, varies && draw.outliers};
  switch (tensor.dtype) {
    case DType::kF64: return filling.Into<Plain<double>>(data, folder);
    case DType::kF32: return filling.Into<Plain<float>>(data, folder);
    case DType::kF16: return filling.Into<Half>(data, folder);
    case DType::kBF16: return filling.Into<BFloat16>(data, folder);
    case DType::kI64: return filling.Into<Plain<std::int64_t>>(data, folder);
    case DType::kI32: return filling.Into<Plain<std::int32_t>>(data, folder);
    case DType::kI16: return filling.Into<Plain<std::int16_t>>(data, folder);
    case DType::kI8: return filling.Into<Plain<std::int8_t>>(data, folder);
    case DType::kU8: return filling.Into<Plain<std::uint8_t>>(data, folder);
    case DType::kBool: return filling.Into<Plain<bool>>(data, folder);
  }
  return {};
}

}  // namespace hone
