#include "propose/expert/slower_kinds.h"

#include <algorithm>

namespace hone::expert {
namespace {

// Whether a product that is folded is multiplied by numbers where by itself it is by pairs of bf16, which a processor's
// fold has not. That this takes half the time was seen in the fastest calls of a loaded machine alone.
bool IsFasterInPairs(const Memory& memory, const DeviceModel& device, const Piece& piece) {
  if (!device.bf16_pairs || piece.inside.empty()) return false;
  return std::ranges::all_of(memory.Loads(piece.inside[0].fold->body), [&](const FlatLoad& load) {
    return memory.KeptAs(memory.Root(load.buffer)) == DType::kBF16;
  });
}

// Sums of few neighbours: a nest has several of them in the lanes of a vector. 163840 sums of 4 products of f32 take
// 0.7 ms less of 2.8 so, and 65536 of bf16 0.7 of 2.2 (two cores with AVX-512).
bool IsFasterInLanes(const Memory& memory, const Piece& piece) {
  constexpr std::int64_t kFew = 8, kMany = 4096;
  if (!piece.fold || !piece.statistics.empty() || piece.fold->op != ReduceOp::kSum || piece.fold->over.size() != 1 ||
      !IsBinary(piece.fold->body, BinaryOp::kMul))
    return false;
  const IndexVar& over = piece.fold->over[0];
  const auto lies_so = [&](const FlatLoad& load) { return load.position && load.position->of(over) == 1; };
  return over.extent <= kFew && ElementCount(Extents(piece.space)) >= kMany &&
         std::ranges::all_of(memory.Loads(piece.fold->body), lies_so);
}

}  // namespace

bool IsSlowerKind(const Memory& memory, const DeviceModel& device, const Piece& piece,
                  const dsl::Statement& statement) {
  if (device.kind != DeviceKind::kCpu) return false;
  return (statement.family == "matmul_reduce" && IsFasterInPairs(memory, device, piece)) ||
         (statement.family == "reduce" && IsFasterInLanes(memory, piece));
}

}  // namespace hone::expert
