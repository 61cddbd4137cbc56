// Products of numbers of 8 bits whose scales were applied before, in more bits: (x.to(f32) * sx) @ (w.to(f32) *
// sw).t(). A scale of a row, of a column or of all is the same for every term of a sum, so it goes behind the sum; one
// of a block of K goes into it, and K is two indices then, of the block and in it. Then the product reads the 8 bits as
// they lie, and tensor cores multiply them exactly; of whole numbers they sum exactly, too.
#include <algorithm>

#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

bool HasEightBits(DType type) { return IsFloat(type) && Bytes(type) == 1; }

// What a factor is a product of: the load of 8 bits, and what does not vary along `over`.
class ScaledLoad {
 public:
  ScaledLoad(const Memory& memory, const std::vector<IndexVar>& over) : memory_(memory), over_(over) {}

  bool Take(const Expr& e) {
    if (IsBinary(e, BinaryOp::kMul)) return Take(e->operands[0]) && Take(e->operands[1]);
    if (IsBinary(e, BinaryOp::kDiv) && !Varies(e->operands[1])) {
      scales.push_back(Expr(1.0) / e->operands[1]);
      return Take(e->operands[0]);
    }
    if (!Varies(e)) {
      scales.push_back(e);
      return !HasReduce(e);
    }
    const Expr stored = e->kind == Expr::Kind::kCast && e->type == ScalarType::kReal ? e->operands[0] : e;
    if (stored->kind != Expr::Kind::kLoad || load) return false;
    const DType type = memory_.graph().buffers()[static_cast<std::size_t>(memory_.Root(stored->buffer))].dtype;
    whole = type == DType::kI8;
    load = stored;
    return HasEightBits(type) || whole;
  }

  Expr load;
  bool whole = false;  // the load is of whole numbers
  std::vector<Expr> scales;

 private:
  bool Varies(const Expr& e) const {
    return std::ranges::any_of(over_, [&](const IndexVar& var) { return UsesIndex(e, var.id); });
  }

  const Memory& memory_;
  const std::vector<IndexVar>& over_;
};

// The product with scales behind its sum, or in it.
class Scaler {
 public:
  Scaler(const Memory& memory, const Piece& product, const std::function<const Piece*(int buffer)>& map)
      : memory_(memory), map_(map), made_{product, {}} {}

  enum class Of : std::uint8_t { kReals, kRealsInBlocks, kWholes };
  std::optional<WithWeights> Do(Of of) {
    const bool in_blocks = of == Of::kRealsInBlocks, wholes = of == Of::kWholes;
    const Expr& body = made_.piece.fold->body;
    if (!IsBinary(body, BinaryOp::kMul) || body->operands[0]->kind != Expr::Kind::kLoad ||
        body->operands[1]->kind != Expr::Kind::kLoad || (in_blocks && !SplitIntoBlocks()))
      return std::nullopt;
    Fold& fold = *made_.piece.fold;
    // The last is the one in a block.
    const std::vector<IndexVar> over = in_blocks ? std::vector{fold.over.back()} : fold.over;
    Expr factors[2], within;
    Expr behind = wholes ? Cast(Value(kIt, ScalarType::kInt), ScalarType::kReal) : Value(kIt, ScalarType::kReal);
    bool rounded = true;  // all that was scaled was rounded to bf16 before it was multiplied
    bool quantized = false;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Expr& factor = fold.body->operands[side];
      const int buffer = memory_.Root(factor->buffer);
      const Piece* before = map_(buffer);
      // What is of 8 bits already is made of something else.
      if (before != nullptr && HasEightBits(TypeOf(buffer))) before = nullptr;
      const auto element = before != nullptr ? ElementAt(memory_, *before, *factor) : factor;
      ScaledLoad parts(memory_, over);
      if (!element || !parts.Take(Simplify(*element)) || !parts.load || parts.whole != wholes) return std::nullopt;
      factors[side] = parts.load;
      quantized |= memory_.graph().buffers()[static_cast<std::size_t>(memory_.Root(parts.load->buffer))].stage >= 0;
      for (const Expr& scale : parts.scales) {
        const bool of_block = in_blocks && UsesIndex(scale, fold.over[0].id);
        Expr& to = of_block ? within : behind;
        to = to ? to * scale : scale;
      }
      if (before == nullptr) continue;
      rounded &= memory_.KeptAs(buffer) == DType::kBF16;
      made_.maps.push_back(buffer);
    }
    if (made_.maps.empty() || (in_blocks && !within)) return std::nullopt;
    fold.body = factors[0] * factors[1];
    if (within) fold.body = fold.body * within;
    fold.finish = ReplaceValue(fold.finish, kIt, behind);
    // What the graph itself rounds to 8 bits is further off than sums of those are.
    const Precision contract = memory_.graph().problem().contract;
    fold.few_bits_of_sums |= (rounded || quantized) && contract != Precision::kFp32 && contract != Precision::kFp64;
    return IsPlain(memory_, made_.piece) ? std::optional(std::move(made_)) : std::nullopt;
  }

 private:
  DType TypeOf(int buffer) const { return memory_.graph().buffers()[static_cast<std::size_t>(buffer)].dtype; }

  // Has each index of the product end where dimensions of the maps do that make its factors; false if K is one still.
  bool SplitIntoBlocks() {
    Fold& fold = *made_.piece.fold;
    if (fold.over.size() != 1) return false;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Expr factor = fold.body->operands[side];
      const Piece* before = map_(memory_.Root(factor->buffer));
      const auto position = memory_.Position(*factor);
      if (before == nullptr || !position) continue;
      std::int64_t stride = 1;
      for (std::size_t d = before->space.size(); d-- > 1;) {
        stride *= before->space[d].extent;
        SplitAt(stride, *position, fold.over);
        SplitAt(stride, *position, made_.piece.space);
      }
    }
    return fold.over.size() == 2;
  }
  // The index, of those, that steps over `stride` elements within its extent, as two.
  void SplitAt(std::int64_t stride, const Affine& position, std::vector<IndexVar>& indices) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const IndexVar var = indices[i];
      const std::int64_t step = position.of(var), few = step > 0 ? stride / step : 0;
      if (step <= 0 || stride % step != 0 || few <= 1 || few >= var.extent || var.extent % few != 0) continue;
      const IndexVar outer = NewIndex(var.extent / few), inner = NewIndex(few);
      indices[i] = outer;
      indices.insert(indices.begin() + static_cast<std::ptrdiff_t>(i) + 1, inner);
      const auto with = [&](const Expr& e) {
        return Substitute(
            e, [&](const IndexVar& v) { return v.id == var.id ? Expr(outer) * Expr(few) + Expr(inner) : Expr(); });
      };
      made_.piece.fold->body = with(made_.piece.fold->body);
      made_.piece.fold->finish = with(made_.piece.fold->finish);
      return;
    }
  }

  const Memory& memory_;
  const std::function<const Piece*(int buffer)>& map_;
  WithWeights made_;
};

}  // namespace

std::optional<WithWeights> WithScalesBehind(const Memory& memory, const Piece& product,
                                            const std::function<const Piece*(int buffer)>& map) {
  return Scaler(memory, product, map).Do(Scaler::Of::kReals);
}

std::optional<WithWeights> WithScalesOfBlocks(const Memory& memory, const Piece& product,
                                              const std::function<const Piece*(int buffer)>& map) {
  return Scaler(memory, product, map).Do(Scaler::Of::kRealsInBlocks);
}

std::optional<WithWeights> WithWholeNumbers(const Memory& memory, const Piece& product,
                                            const std::function<const Piece*(int buffer)>& map) {
  return Scaler(memory, product, map).Do(Scaler::Of::kWholes);
}

bool IsProductOfBlocks(const Memory& memory, const Fold& fold) {
  if (fold.op != ReduceOp::kSum || !IsBinary(fold.body, BinaryOp::kMul)) return false;
  int eights = 0;
  VisitValues(fold.body, [&](const ExprNode& node) {
    eights += node.kind == Expr::Kind::kLoad &&
              HasEightBits(memory.graph().buffers()[static_cast<std::size_t>(memory.Root(node.buffer))].dtype);
  });
  return eights == 2 && !IsContraction(memory, fold);
}

}  // namespace hone::expert
