#include "problem/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/philox.h"
#include "problem/element.h"
#include "problem/safetensors.h"

namespace hone {
namespace {

constexpr std::int64_t kParallelFrom = 1'000'000;  // elements; below, starting threads costs more than it saves

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

template <class Element>
void DrawAll(const Drawing& drawing, std::int64_t count, Element* data) {
  InParallel(count, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; i += 4) {
      Element four[4];
      drawing::DrawFour(drawing, static_cast<std::uint64_t>(i) / 4, four);
      for (int k = 0; k < 4 && i + k < end; ++k) data[i + k] = four[k];
    }
  });
}

// The variation that `drawing` has, of data that a file gives.
template <class Element>
Result<void> Load(const Tensor& tensor, const FromFile& from, const Drawing& drawing, const std::string& folder,
                  Element* data) {
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
  if (drawing.scale == 1 && drawing.outliers == 0 && drawing.widen == 0) return {};
  InParallel(ElementCount(tensor.shape), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto index = static_cast<std::uint64_t>(i);
      data[i] = drawing::Widened(drawing, Element::From(drawing::Varied(drawing, data[i].Value(), index)), index);
    }
  });
  return {};
}

template <class Element>
Result<void> Into(const Tensor& tensor, const Drawing& drawing, const std::string& folder, void* data) {
  auto* elements = static_cast<Element*>(data);
  if (const auto* file = std::get_if<FromFile>(&tensor.generator))
    return Load(tensor, *file, drawing, folder, elements);
  DrawAll(drawing, ElementCount(tensor.shape), elements);
  return {};
}

}  // namespace

Drawing DrawingOf(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream, const Draw& draw) {
  Drawing drawing;
  drawing.seed = seed;
  drawing.stream = stream;
  drawing.real = IsFloat(tensor.dtype);
  drawing.fine = tensor.dtype == DType::kF64;
  if (tensor.role == Role::kInput && IsFloat(tensor.dtype)) {
    // A type of one byte has no room for more.
    constexpr double kMostScale = 8;
    constexpr int kMostWiden = 6;
    const bool narrow = Bytes(tensor.dtype) == 1;
    drawing.scale = narrow ? std::clamp(draw.scale, 1 / kMostScale, kMostScale) : draw.scale;
    drawing.outliers = draw.outliers;
    drawing.widen = narrow ? std::min(draw.widen, kMostWiden) : draw.widen;
  }
  if (const auto* uniform = std::get_if<Uniform>(&tensor.generator)) {
    drawing.kind = Drawing::Kind::kUniform;
    drawing.low = uniform->low;
    drawing.high = uniform->high;
  } else if (const auto* normal = std::get_if<Normal>(&tensor.generator)) {
    drawing.kind = Drawing::Kind::kNormal;
    drawing.mean = normal->mean;
    drawing.deviation = normal->deviation;
  } else if (const auto* constant = std::get_if<Constant>(&tensor.generator)) {
    drawing.low = constant->value;
  } else if (const auto* range = std::get_if<IntegerRange>(&tensor.generator)) {
    drawing.kind = Drawing::Kind::kWhole;
    drawing.least = range->low;
    drawing.span = static_cast<std::uint64_t>(range->high) - static_cast<std::uint64_t>(range->low);
  }
  if (const auto count = static_cast<std::uint64_t>(ElementCount(tensor.shape)); count > 0) {
    const auto words = Philox(seed, stream, ~0ull);
    drawing.chosen = static_cast<std::int64_t>((std::uint64_t{words.word[1]} << 32 | words.word[0]) % count);
    // Of every sum over a long row of equally large terms the last few could be left out within its budget.
    drawing.tail = static_cast<std::int64_t>(count - std::clamp<std::uint64_t>(count / 10'000, 1, 256));
  }
  return drawing;
}

Result<void> Fill(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream, const Draw& draw, void* data,
                  const std::string& folder) {
  const Drawing drawing = DrawingOf(tensor, seed, stream, draw);
  return WithElement(tensor.dtype,
                     [&](auto element) { return Into<decltype(element)>(tensor, drawing, folder, data); });
}

}  // namespace hone
