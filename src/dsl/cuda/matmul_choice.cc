#include "dsl/cuda/matmul_choice.h"

#include <algorithm>

#include "dsl/cuda/matmul_tensor.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kFew = 8;  // rows or columns
// Products from which on the tensor cores are worth packing for: 320^3. At 512^3 they take 28 us against 36.
constexpr double kWorthPacking = 1 << 25;

}  // namespace

double Products(const MatmulShape& shape) {
  return static_cast<double>(shape.m.extent) * static_cast<double>(shape.n.extent) *
         static_cast<double>(shape.k.extent) * static_cast<double>(BatchesOf(shape));
}
std::int64_t BatchesOf(const MatmulShape& shape) {
  std::int64_t count = 1;
  for (const auto& dim : shape.batch) count *= dim.reduced ? 1 : dim.extent;
  return count;
}
std::int64_t TilesOf(const MatmulShape& shape, std::int64_t rows, std::int64_t columns) {
  const auto parts = [](std::int64_t extent, std::int64_t size) {
    return (extent + size - 1) / std::max<std::int64_t>(size, 1);
  };
  // Each group of rows begins a tile; half of one is lost with it.
  const std::int64_t down = parts(shape.m.extent, rows) + shape.groups() / 2;
  return down * parts(shape.n.extent, columns) * BatchesOf(shape);
}

namespace {

template <class Is>
bool AllHeldAs(const Kernel& kernel, const Is& is) {
  bool all = true, some = false;
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) {
    Visit(InputOf(kernel, i), [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad) return;
      some = true;
      all &= is(kernel.operand_types[static_cast<std::size_t>(node.buffer)]);
    });
  }
  return all && some;
}

bool AllAreLoads(const Kernel& kernel) {
  bool loads = true;
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) loads &= InputOf(kernel, i)->kind == Expr::Kind::kLoad;
  return loads;
}
bool HasEightBits(DType held) { return IsFloat(held) && Bytes(held) == 1; }

}  // namespace

bool AllAre(const Kernel& kernel, DType dtype) {
  return AllHeldAs(kernel, [&](DType held) { return held == dtype; });
}
bool FitHalves(const Kernel& kernel) { return AllAreLoads(kernel) && AllHeldAs(kernel, HasEightBits); }
bool FitBrains(const Kernel& kernel) {
  if (AllAre(kernel, DType::kBF16)) return true;
  bool brains = false;
  const bool fit = AllHeldAs(kernel, [&](DType held) {
    brains |= held == DType::kBF16;
    return held == DType::kBF16 || HasEightBits(held);
  });
  return fit && brains && AllAreLoads(kernel);
}
bool AlongK(const Kernel& kernel, const MatmulShape& shape) {
  bool along = true;
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) along &= Contiguous(InputOf(kernel, i), shape.k.strides);
  return along;
}

bool IsNarrow(const MatmulShape& shape) { return std::min(shape.m.extent, shape.n.extent) <= kFew; }
bool IsLarge(const MatmulShape& shape) { return Products(shape) >= kWorthPacking && !IsNarrow(shape); }
bool TensorCoresCan(const Kernel& kernel) {
  return kernel.compute != DType::kF64 && !Lacks(*kernel.device, kTensorNeeds);
}

std::int64_t SplitFor(const MatmulShape& shape, std::int64_t tiles, std::int64_t wanted, std::int64_t least) {
  if (tiles * 2 > wanted) return 1;
  return std::clamp<std::int64_t>(wanted / std::max<std::int64_t>(tiles, 1), 1,
                                  std::max<std::int64_t>(shape.k.extent / least, 1));
}
std::vector<Setting> SplitsAround(const MatmulShape& shape, std::int64_t split) {
  std::vector<Setting> values = {Whole(split)};
  for (const std::int64_t other : {std::int64_t{1}, split * 2, split / 2}) {
    if (other >= 1 && other * 256 <= shape.k.extent &&
        std::find(values.begin(), values.end(), Whole(other)) == values.end())
      values.push_back(Whole(other));
  }
  return values;
}
std::vector<Setting> ApartValues(const Kernel& kernel) {
  return kernel.lets.empty() ? std::vector<Setting>() : std::vector{Word("apart")};
}
std::optional<std::string> CheckApart(const Kernel& kernel, const Setting& value) {
  if (kernel.lets.empty()) return "there is one product; remove it";
  if (auto why = CheckWord(value, {"apart", "together"})) return why;
  if (std::get<std::string>(value.value) == "apart") return std::nullopt;
  return std::string(kOnlyInPlace);
}

std::optional<std::string> CheckSplitK(const Kernel&, const Setting& value) { return CheckRange(value, 1, 4096); }

}  // namespace hone::dsl
