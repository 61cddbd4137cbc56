#include "propose/expert/pieces.h"

#include <algorithm>
#include <cstdlib>

#include "propose/expert/constants.h"
#include "propose/expert/normalise.h"
#include "propose/expert/rewrite.h"
#include "propose/expert/unflatten.h"
#include "propose/expert/written_places.h"

namespace hone::expert {
namespace {

// The folds of an expression that are in no other; those in positions of loads as well.
std::vector<Expr> OuterFolds(const Expr& value) {
  std::vector<Expr> folds;
  const std::function<void(const Expr&)> look = [&](const Expr& e) {
    if (e->kind == Expr::Kind::kReduce) {
      if (std::none_of(folds.begin(), folds.end(), [&](const Expr& f) { return f.get() == e.get(); }))
        folds.push_back(e);
      return;
    }
    for (const auto& operand : e->operands) look(operand);
  };
  look(value);
  return folds;
}

// The value as one fold with what surrounds it, if it is that.
std::optional<Fold> FoldOf(const Expr& value) {
  const auto folds = OuterFolds(value);
  if (folds.size() != 1 || HasReduce(folds[0]->operands[0])) return std::nullopt;
  const Expr& reduce = folds[0];
  Fold fold{
      .over = reduce->over, .op = reduce->reduce, .body = reduce->operands[0], .finish = {}, .torch_in_tf32 = false};
  const Expr it = Value(kIt, fold.op == ReduceOp::kAny || fold.op == ReduceOp::kAll ? ScalarType::kInt : reduce->type);
  Expr made = it;
  if (fold.op == ReduceOp::kAny || fold.op == ReduceOp::kAll) {
    // Counted: any is "not none", all is "none that is not".
    const bool any = fold.op == ReduceOp::kAny;
    fold.op = ReduceOp::kSum;
    fold.body = Cast(any ? fold.body : Apply(UnaryOp::kNot, fold.body), ScalarType::kInt);
    made = Apply(any ? BinaryOp::kNotEqual : BinaryOp::kEqual, it, 0);
  }
  fold.finish = Rewrite(value, [&](const Expr& e) { return e.get() == reduce.get() ? made : Expr(); });
  bool in_position = false;
  Visit(fold.finish, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    for (const auto& index : node.operands) {
      Visit(index, [&](const ExprNode& part) { in_position |= part.kind == Expr::Kind::kValue; });
    }
  });
  if (in_position) return std::nullopt;
  return fold;
}

bool IsIndexExpr(const Expr& expr) {
  bool loads = false;
  Visit(expr, [&](const ExprNode& node) { loads |= node.kind == Expr::Kind::kLoad; });
  return !loads;
}

// A load, or one under a condition of indices with a number where it does not hold.
const ExprNode* GuardedLoad(const Expr& e) {
  if (e->kind == Expr::Kind::kLoad) return e.get();
  if (e->kind != Expr::Kind::kSelect || e->operands[2]->kind != Expr::Kind::kConst || !IsIndexExpr(e->operands[0]))
    return nullptr;
  return GuardedLoad(e->operands[1]);
}

}  // namespace

void EachExpr(Piece& piece, const std::function<void(Expr&)>& visit) {
  if (piece.fold) {
    visit(piece.fold->body);
    visit(piece.fold->finish);
  } else {
    visit(piece.value);
  }
  for (auto& statistic : piece.statistics) EachExpr(statistic, visit);
  for (auto& part : piece.inside) EachExpr(part, visit);
  for (auto& one : piece.also) EachExpr(one, visit);
  for (auto& one : piece.looked_up) EachExpr(one, visit);
}

void EachExpr(const Piece& piece, const std::function<void(const Expr&)>& visit) {
  if (piece.fold) {
    visit(piece.fold->body);
    visit(piece.fold->finish);
  } else {
    visit(piece.value);
  }
  for (const auto& statistic : piece.statistics) EachExpr(statistic, visit);
  for (const auto& part : piece.inside) EachExpr(part, visit);
  for (const auto& one : piece.also) EachExpr(one, visit);
  for (const auto& one : piece.looked_up) EachExpr(one, visit);
}

Shape Extents(const std::vector<IndexVar>& vars) {
  Shape extents;
  for (const auto& var : vars) extents.push_back(var.extent);
  return extents;
}

Affine OwnPosition(const std::vector<IndexVar>& space) {
  Affine position;
  const auto strides = DenseStrides(Extents(space));
  for (std::size_t d = 0; d < space.size(); ++d) {
    if (space[d].extent > 1) position.coefficient[space[d].id] = strides[d];
  }
  return position;
}

bool IsPlain(const Memory& memory, const Piece& piece) {
  if (piece.sequence >= 0 || !piece.inside.empty()) return false;
  bool plain = true;
  EachExpr(piece, [&](const Expr& expr) {
    VisitValues(expr, [&](const ExprNode& node) {
      plain &= node.kind != Expr::Kind::kIndex && node.kind != Expr::Kind::kReduce;
      if (node.kind == Expr::Kind::kLoad) plain &= memory.Position(node).has_value();
    });
  });
  return plain;
}

bool IsContraction(const Memory& memory, const Fold& fold) {
  if (fold.op != ReduceOp::kSum || fold.body->kind != Expr::Kind::kBinary || fold.body->binary != BinaryOp::kMul)
    return false;
  const ExprNode *a = GuardedLoad(fold.body->operands[0]), *b = GuardedLoad(fold.body->operands[1]);
  return a && b && (memory.Root(a->buffer) != memory.Root(b->buffer) || memory.Position(*a) != memory.Position(*b));
}

namespace {

// How a fold's windows lie.
struct Windows {
  bool overlap = false;
  int side_by_side = 0, folded_alone = 0;  // indices of loads
};
Windows WindowsOf(const Piece& piece) {
  Windows windows;
  if (!piece.fold) return windows;
  const auto& over = piece.fold->over;
  const auto is_over = [&](const IndexVar& var) {
    return std::any_of(over.begin(), over.end(), [&](const IndexVar& v) { return v.id == var.id; });
  };
  Visit(piece.fold->body, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad || node.operands.size() < 2) return;
    for (const auto& index : node.operands) {
      const auto affine = AffineOf(index);
      if (!affine) continue;
      std::int64_t kept_step = 0, folded_reach = 0;
      for (const auto& var : VarsOf(index)) {
        const std::int64_t step = std::abs(affine->of(var));
        if (step == 0) continue;
        if (is_over(var)) {
          folded_reach += step * (var.extent - 1);
        } else if (kept_step == 0 || step < kept_step) {
          kept_step = step;
        }
      }
      if (folded_reach == 0) continue;
      windows.overlap |= kept_step > 0 && folded_reach >= kept_step;
      ++(kept_step > 0 ? windows.side_by_side : windows.folded_alone);
    }
  });
  return windows;
}

}  // namespace

bool IsWindow(const Piece& piece) {
  const auto [overlap, side_by_side, folded_alone] = WindowsOf(piece);
  // Windows side by side are the parts of a split dimension, too: of groups, whose other dimensions are folded as well.
  return overlap ||
         (folded_alone == 0 && (side_by_side > 1 || (side_by_side == 1 && piece.fold->op == ReduceOp::kMax)));
}

bool IsOneWindowOfEach(const Piece& piece) {
  const Windows windows = WindowsOf(piece);
  return !windows.overlap && windows.side_by_side <= 1;
}

namespace {

// Loads at flat positions as loads in the dimensions of what is there, so that an index may depend on data later.
Expr InOwnDimensions(const Memory& memory, const Expr& expr, const std::vector<IndexVar>& vars) {
  return ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
    const int root = memory.Root(load.buffer);
    const auto position = memory.Position(load);
    const auto there = position ? Unflatten(*position, vars, memory.shape(root)) : std::nullopt;
    if (!there) return {};
    std::vector<Expr> indices;
    for (const Affine& index : *there) indices.push_back(ToExpr(index, vars));
    return Load(root, std::move(indices), load.type);
  });
}

// Indices of some dimensions as those of others of the same elements, some of which depend on data: those of dimensions
// that both have stay, the others are affine. Nothing if they have too little in common, or that needs a division.
std::optional<std::vector<Expr>> InDimensions(const std::vector<Expr>& indices, const Shape& from, const Shape& to,
                                              const std::vector<IndexVar>& vars) {
  if (indices.size() != from.size() || ElementCount(from) != ElementCount(to) || ElementCount(from) == 0)
    return std::nullopt;
  std::vector<Expr> made;
  for (std::size_t f = 0, t = 0; f < from.size() || t < to.size();) {
    if (f < from.size() && t < to.size() && from[f] == to[t]) {
      made.push_back(indices[f]);
      ++f;
      ++t;
      continue;
    }
    // As many of both as have the same elements.
    std::int64_t before = 1, after = 1;
    Affine flat;
    Shape parts;
    do {
      if (f < from.size() && (before <= after || t == to.size())) {
        const auto index = from[f] == 1 ? Affine{} : AffineOf(indices[f]);
        if (!index) return std::nullopt;
        flat = Combine(*index, flat, from[f]);
        before *= from[f++];
      } else {
        after *= to[t];
        parts.push_back(to[t++]);
      }
    } while (before != after);
    const auto there = Unflatten(flat, vars, parts);
    if (!there) return std::nullopt;
    for (const Affine& index : *there) made.push_back(ToExpr(index, vars));
  }
  return made;
}

}  // namespace

std::optional<Expr> ElementAt(const Memory& memory, const Piece& map, const Affine& position,
                              const std::vector<IndexVar>& vars) {
  // A map of fewer, merged dimensions can be read by a reader whose own are merged.
  for (const bool merge : {false, true}) {
    Piece merged;
    if (merge) {
      if (!IsPlain(memory, map)) break;
      merged = map;
      MergeDimensions(memory, merged);
    }
    const Piece& form = merge ? merged : map;
    const auto indices = Unflatten(position, vars, Extents(form.space));
    if (!indices) continue;
    const Expr element = Substitute(AsKept(memory, map.buffer, form.value), [&](const IndexVar& var) -> Expr {
      for (std::size_t d = 0; d < form.space.size(); ++d) {
        if (form.space[d].id == var.id) return ToExpr((*indices)[d], vars);
      }
      return {};
    });
    return merge ? InOwnDimensions(memory, element, vars) : element;
  }
  return std::nullopt;
}

std::optional<Expr> ElementAt(const Memory& memory, const Piece& map, const ExprNode& load) {
  // Where the load sees the map's own dimensions its indices are the map's, whatever they are.
  const Shape& seen = memory.shape(load.buffer);
  if (load.operands.size() == seen.size()) {
    std::vector<Expr> indices;
    Shape extents;
    for (std::size_t d = 0; d < seen.size(); ++d) {
      if (seen[d] == 1) continue;
      extents.push_back(seen[d]);
      indices.push_back(load.operands[d]);
    }
    if (extents == Extents(map.space)) {
      return Substitute(AsKept(memory, map.buffer, map.value), [&](const IndexVar& var) -> Expr {
        for (std::size_t d = 0; d < map.space.size(); ++d) {
          if (map.space[d].id == var.id) return indices[d];
        }
        return {};
      });
    }
  }
  const std::vector<IndexVar> vars = VarsIn(load);
  if (const auto position = memory.Position(load)) return ElementAt(memory, map, *position, vars);
  const auto indices = InDimensions(load.operands, seen, Extents(map.space), vars);
  if (!indices) return std::nullopt;
  return Substitute(AsKept(memory, map.buffer, map.value), [&](const IndexVar& var) -> Expr {
    for (std::size_t d = 0; d < map.space.size(); ++d) {
      if (map.space[d].id == var.id) return (*indices)[d];
    }
    return {};
  });
}

std::optional<Piece> OverSpace(const Piece& piece, const std::vector<IndexVar>& space) {
  if (ElementCount(Extents(space)) != ElementCount(Extents(piece.space))) return std::nullopt;
  return ReadAt(piece, OwnPosition(space), space);
}

std::optional<Piece> ReadAt(const Piece& piece, const Affine& position, const std::vector<IndexVar>& space) {
  const auto indices = Unflatten(position, space, Extents(piece.space));
  if (!indices) return std::nullopt;
  Piece over = piece;
  over.space = space;
  if (piece.fold) {
    for (Piece& statistic : over.statistics) statistic.space = space;
  }
  EachExpr(over, [&](Expr& expr) {
    expr = Substitute(expr, [&](const IndexVar& var) -> Expr {
      for (std::size_t d = 0; d < piece.space.size(); ++d) {
        if (piece.space[d].id == var.id) return ToExpr((*indices)[d], space);
      }
      return {};
    });
  });
  return over;
}

std::vector<Piece> PiecesOf(const Memory& memory) {
  const Graph& graph = memory.graph();
  std::vector<Piece> pieces;
  const auto live = LiveStages(graph);
  const auto constants = ConstantsOf(memory);
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    if (!live[s]) continue;
    const Stage& stage = graph.stages()[s];
    Piece piece;
    piece.buffer = stage.buffer;
    if (memory.Root(stage.buffer) != stage.buffer) {
      // Only a name, unless it is an output that cannot share the memory.
      if (!memory.IsOutput(stage.buffer)) continue;
      const Shape& shape = memory.shape(stage.buffer);
      std::vector<Expr> indices;
      for (const auto extent : shape) {
        piece.space.push_back(NewIndex(extent));
        indices.emplace_back(piece.space.back());
      }
      Normal copy = Normalise(piece.space, Load(stage.buffer, std::move(indices), stage.value->type));
      piece.space = std::move(copy.space);
      piece.value = ElementCount(shape) == 0 ? Cast(0, stage.value->type) : std::move(copy.value);
      pieces.push_back(std::move(piece));
      continue;
    }
    if (ElementCount(memory.shape(stage.buffer)) == 0) {
      piece.space = stage.vars;
      piece.value = Cast(0, stage.value->type);
      pieces.push_back(std::move(piece));
      continue;
    }
    if (const auto known = constants.find(stage.buffer); known != constants.end()) {
      piece.space = Normalise(stage.vars, Expr(0)).space;
      piece.value = Cast(known->second, stage.value->type);
      pieces.push_back(std::move(piece));
      continue;
    }
    // A sequence of one step is no sequence.
    const bool steps = stage.sequence >= 0 && stage.vars[static_cast<std::size_t>(stage.along)].extent > 1;
    if (steps) {
      piece.space = stage.vars;  // as they are: the steps of a sequence read one another by all of them
      piece.value = Simplify(stage.value);
      piece.sequence = stage.sequence;
      piece.along = stage.along;
      piece.reversed = stage.reversed;
      pieces.push_back(std::move(piece));
      continue;
    }
    Normal normal = WithPlacesWritten(memory, stage);
    piece.space = std::move(normal.space);
    if (auto fold = FoldOf(normal.value)) {
      piece.fold = std::move(fold);
      if (stage.node >= 0) {
        const Node& node = graph.problem().nodes[static_cast<std::size_t>(stage.node)];
        piece.fold->torch_in_tf32 = TorchMultipliesInTf32(node);
        const Precision contract = graph.problem().contract;
        piece.fold->few_bits_of_sums =
            contract == Precision::kBf16 ||
            (contract == Precision::kTorch && node.op.find("_scaled_mm") != std::string::npos);
      }
    } else {
      piece.value = std::move(normal.value);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace hone::expert
