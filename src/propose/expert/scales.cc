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
    Fold& fold = *made_.piece.fold;
    if (!IsBinary(fold.body, BinaryOp::kMul) || fold.over.size() != 1) return std::nullopt;
    bool rounded = true;  // all that was scaled was rounded to bf16 before it was multiplied
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Expr& factor = fold.body->operands[side];
      if (factor->kind != Expr::Kind::kLoad) return std::nullopt;
      if (IsMade(*factor)) rounded &= memory_.KeptAs(memory_.Root(factor->buffer)) == DType::kBF16;
    }
    if (!WriteOut(0, in_blocks) || !WriteOut(1, in_blocks) || fold.over.size() != (in_blocks ? 2 : 1))
      return std::nullopt;
    // The last is the one in a block.
    const std::vector<IndexVar> over = {fold.over.back()};
    Expr factors[2], within;
    Expr behind = wholes ? Cast(Value(kIt, ScalarType::kInt), ScalarType::kReal) : Value(kIt, ScalarType::kReal);
    bool quantized = false;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      ScaledLoad parts(memory_, over);
      if (!parts.Take(fold.body->operands[side]) || !parts.load || parts.whole != wholes) return std::nullopt;
      factors[side] = parts.load;
      quantized |= memory_.graph().buffers()[static_cast<std::size_t>(memory_.Root(parts.load->buffer))].stage >= 0;
      for (const Expr& scale : parts.scales) {
        Expr& to = in_blocks && UsesIndex(scale, fold.over[0].id) ? within : behind;
        to = to ? to * scale : scale;
      }
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
  // Whether a map makes it for this product alone; what is of 8 bits it makes of something else.
  bool IsMade(const ExprNode& node) const {
    return node.kind == Expr::Kind::kLoad && map_(memory_.Root(node.buffer)) != nullptr &&
           Bytes(TypeOf(memory_.Root(node.buffer))) > 1;
  }

  // Writes what maps make of a factor in its place.
  bool WriteOut(std::size_t side, bool in_blocks) {
    constexpr int kLongest = 240;
    for (;;) {
      const Expr& factor = made_.piece.fold->body->operands[side];
      std::optional<Affine> position;
      int buffer = -1;
      Visit(factor, [&](const ExprNode& node) {
        if (buffer >= 0 || !IsMade(node)) return;
        buffer = memory_.Root(node.buffer);
        position = memory_.Position(node);
      });
      if (buffer < 0) return true;
      if (!position || TreeSize(factor) > kLongest) return false;
      const Piece& map = *map_(buffer);
      if (in_blocks) SplitWhereItEnds(map, *position);
      bool fits = true;
      Expr factors[2] = {made_.piece.fold->body->operands[0], made_.piece.fold->body->operands[1]};
      factors[side] = Simplify(ReplaceLoads(factors[side], [&](const ExprNode& load) -> Expr {
        if (memory_.Root(load.buffer) != buffer) return {};
        const auto element = ElementAt(memory_, map, load);
        fits &= element.has_value();
        return element.value_or(Expr());
      }));
      if (!fits) return false;
      made_.piece.fold->body = factors[0] * factors[1];
      if (std::ranges::find(made_.maps, buffer) == made_.maps.end()) made_.maps.push_back(buffer);
    }
  }

  // Has each index of the product end where dimensions of the map do that is read at `position`.
  void SplitWhereItEnds(const Piece& map, const Affine& position) {
    std::int64_t stride = 1;
    for (std::size_t d = map.space.size(); d-- > 1;) {
      stride *= map.space[d].extent;
      SplitAt(stride, position, made_.piece.fold->over);
      SplitAt(stride, position, made_.piece.space);
    }
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
