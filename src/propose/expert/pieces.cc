#include "propose/expert/pieces.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace hone::expert {
namespace {

std::vector<IndexVar> AllVars(const Piece& piece) {
  std::vector<IndexVar> vars = piece.space;
  if (piece.fold) vars.insert(vars.end(), piece.fold->over.begin(), piece.fold->over.end());
  return vars;
}

Shape Extents(const std::vector<IndexVar>& vars) {
  Shape extents;
  for (const auto& var : vars) extents.push_back(var.extent);
  return extents;
}

// Where a piece writes: the row-major position of its space.
Affine OwnPosition(const std::vector<IndexVar>& space) {
  Affine position;
  const auto strides = DenseStrides(Extents(space));
  for (std::size_t d = 0; d < space.size(); ++d) {
    if (space[d].extent > 1) position.coefficient[space[d].id] = strides[d];
  }
  return position;
}

// The expressions of a piece that are evaluated over its space (and, for `body`, its folded indices).
void EachExpr(Piece& piece, const std::function<void(Expr&)>& visit) {
  if (piece.fold) {
    visit(piece.fold->body);
    visit(piece.fold->finish);
  } else {
    visit(piece.value);
  }
  for (auto& statistic : piece.statistics) EachExpr(statistic, visit);
}

bool Reads(const Piece& piece, int buffer) {
  bool reads = false;
  EachExpr(const_cast<Piece&>(piece), [&](Expr& expr) {
    for (const auto& load : LoadsOf(expr)) reads |= load.buffer == buffer;
  });
  return reads;
}

bool IsExpensive(const Expr& expr) {
  bool expensive = false;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kBinary) expensive |= node.binary == BinaryOp::kPow || node.binary == BinaryOp::kAtan2;
    if (node.kind != Expr::Kind::kUnary) return;
    switch (node.unary) {
      case UnaryOp::kNeg:
      case UnaryOp::kAbs:
      case UnaryOp::kNot:
      case UnaryOp::kIsNan:
      case UnaryOp::kSign:
      case UnaryOp::kFloor:
      case UnaryOp::kCeil:
      case UnaryOp::kTrunc:
      case UnaryOp::kRound:
      case UnaryOp::kSqrt:
      case UnaryOp::kReciprocal: break;
      default: expensive = true;
    }
  });
  return expensive;
}

void DropUnitDimensions(Piece& piece) {
  const auto drop = [](std::vector<IndexVar>& vars) {
    std::erase_if(vars, [](const IndexVar& var) { return var.extent == 1; });
  };
  drop(piece.space);
  if (piece.fold) drop(piece.fold->over);
}

// Neighbours in `vars` (the piece's space or its folded indices) become one wherever every load walks them as one and
// `may` agrees; `became` hears of it.
void MergeNeighbours(Piece& piece, std::vector<IndexVar>& vars,
                     const std::function<bool(const IndexVar&, const IndexVar&)>& may = {},
                     const std::function<void(const IndexVar& inner, const IndexVar& merged)>& became = {}) {
  for (std::size_t d = 0; d + 1 < vars.size();) {
    const IndexVar outer = vars[d], inner = vars[d + 1];
    bool as_one = !may || may(outer, inner);
    EachExpr(piece, [&](Expr& expr) {
      for (const auto& load : LoadsOf(expr))
        as_one &= load.position.of(outer) == load.position.of(inner) * inner.extent;
    });
    if (!as_one) {
      ++d;
      continue;
    }
    const IndexVar merged = NewIndex(outer.extent * inner.extent);
    // outer -> 0 and inner -> merged: the outer's share is in the inner's stride.
    EachExpr(piece, [&](Expr& expr) {
      expr = Substitute(expr, [&](const IndexVar& var) {
        return var.id == outer.id ? Expr(0) : var.id == inner.id ? Expr(merged) : Expr();
      });
    });
    if (became) became(inner, merged);
    vars[d] = merged;
    vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    if (d > 0) --d;
  }
}

// As few dimensions as the loads allow. A norm's folded dimensions stay apart from its kept ones.
void MergeDimensions(Piece& piece) {
  if (piece.fold) MergeNeighbours(piece, piece.fold->over);
  if (piece.statistics.empty()) return MergeNeighbours(piece, piece.space);
  std::set<int> folded;
  for (const int axis : piece.axes) folded.insert(piece.space[static_cast<std::size_t>(axis)].id);
  MergeNeighbours(
      piece, piece.space,
      [&](const IndexVar& outer, const IndexVar& inner) { return folded.count(outer.id) == folded.count(inner.id); },
      [&](const IndexVar& inner, const IndexVar& merged) {
        if (folded.count(inner.id)) folded.insert(merged.id);
      });
  piece.axes.clear();
  std::vector<IndexVar> kept, over;
  for (std::size_t d = 0; d < piece.space.size(); ++d) {
    const bool is_folded = folded.count(piece.space[d].id) > 0;
    if (is_folded) piece.axes.push_back(static_cast<int>(d));
    (is_folded ? over : kept).push_back(piece.space[d]);
  }
  for (auto& statistic : piece.statistics) {
    statistic.space = kept;
    statistic.fold->over = over;
  }
}

// The map's element at the flat position, in the reader's indices; nothing if that needs a division. A map of fewer,
// merged dimensions can be read by a reader whose own are merged.
std::optional<Expr> ElementAt(const Piece& map, const Affine& position, const std::vector<IndexVar>& reader_vars) {
  Piece merged = map;
  MergeDimensions(merged);
  for (const Piece* form : {&map, static_cast<const Piece*>(&merged)}) {
    const auto indices = Unflatten(position, reader_vars, Extents(form->space));
    if (!indices) continue;
    return Substitute(form->value, [&](const IndexVar& var) -> Expr {
      for (std::size_t d = 0; d < form->space.size(); ++d) {
        if (form->space[d].id == var.id) return ToExpr((*indices)[d], reader_vars);
      }
      return {};
    });
  }
  return std::nullopt;
}

class Fuser {
 public:
  Fuser(const Graph& graph, std::vector<Piece> pieces) : graph_(graph), pieces_(std::move(pieces)) {}

  std::vector<Piece> Run(const Fusion& fusion) {
    for (auto& piece : pieces_) DropUnitDimensions(piece);
    InlineViews();
    if (fusion.maps) InlineMaps();
    if (fusion.norms) GroupNorms();
    if (fusion.epilogues) FuseEpilogues();
    for (auto& piece : pieces_) MergeDimensions(piece);
    return std::move(pieces_);
  }

 private:
  bool IsOutput(int buffer) const {
    for (std::size_t o = 0; o < graph_.problem().Outputs().size(); ++o) {
      if (RootBuffer(graph_, graph_.Output(o)) == buffer) return true;
    }
    return false;
  }

  std::vector<std::size_t> Readers(int buffer) const {
    std::vector<std::size_t> readers;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (Reads(pieces_[i], buffer)) readers.push_back(i);
    }
    return readers;
  }

  // Replaces every load of the map's buffer in the reader by the map's expression. All or nothing.
  bool InlineInto(const Piece& map, Piece& reader) {
    Piece changed = reader;
    const auto vars = AllVars(reader);
    bool fits = true;
    EachExpr(changed, [&](Expr& expr) {
      expr = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
        if (load.buffer != map.buffer) return {};
        const auto position = AffineOf(load.operands[0]);
        const auto element = position ? ElementAt(map, *position, vars) : std::nullopt;
        fits &= element.has_value();
        return element.value_or(Expr());
      });
    });
    if (fits) reader = std::move(changed);
    return fits;
  }

  // A map that only moves elements (transpose, expand, slice) is another way to index its source.
  void InlineViews() {
    InlineWhere([&](const Piece& map, const Piece&) { return map.value->kind == Expr::Kind::kLoad; });
  }

  // A map is worth recomputing in each reader if that costs less than a trip through memory. A contraction reads each
  // element many times: only views go into it.
  void InlineMaps() {
    InlineWhere([&](const Piece& map, const Piece& reader) {
      if (reader.fold && IsContraction(*reader.fold)) return false;
      return Readers(map.buffer).size() == 1 || !IsExpensive(map.value);
    });
  }

  void InlineWhere(const std::function<bool(const Piece& map, const Piece& reader)>& worth) {
    for (std::size_t i = 0; i < pieces_.size();) {
      const Piece map = pieces_[i];
      bool gone = map.is_map() && !IsOutput(map.buffer);
      if (map.is_map()) {
        for (const auto reader : Readers(map.buffer)) {
          if (!worth(map, pieces_[reader]) || !InlineInto(map, pieces_[reader])) gone = false;
        }
      }
      if (gone)
        pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i));
      else
        ++i;
    }
  }

  static bool IsContraction(const Fold& fold) {
    return fold.op == ReduceOp::kSum && fold.body->kind == Expr::Kind::kBinary && fold.body->binary == BinaryOp::kMul &&
           fold.body->operands[0]->kind == Expr::Kind::kLoad && fold.body->operands[1]->kind == Expr::Kind::kLoad &&
           fold.body->operands[0]->buffer != fold.body->operands[1]->buffer;
  }

  // A map all of whose reads of a fold's (or norm's) result are at its own place becomes the end of that piece.
  void FuseEpilogues() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (std::size_t i = 0; i < pieces_.size() && !changed; ++i) {
        if (pieces_[i].is_map() || IsOutput(pieces_[i].buffer)) continue;
        const auto readers = Readers(pieces_[i].buffer);
        if (readers.size() != 1 || !pieces_[readers[0]].is_map()) continue;
        changed = FuseEpilogue(i, readers[0]);
      }
    }
  }

  bool FuseEpilogue(std::size_t producer_at, std::size_t map_at) {
    const Piece& producer = pieces_[producer_at];
    const Piece& map = pieces_[map_at];
    if (ElementCount(Extents(producer.space)) != ElementCount(Extents(map.space))) return false;
    for (const auto& load : LoadsOf(map.value)) {
      if (load.buffer == producer.buffer && load.position != OwnPosition(map.space)) return false;
    }
    // Everything the map reads has to be there when the producer runs.
    for (const auto& load : LoadsOf(map.value)) {
      for (std::size_t j = producer_at + 1; j < pieces_.size(); ++j) {
        if (pieces_[j].buffer == load.buffer) return false;
      }
    }
    const auto element = ElementAt(map, OwnPosition(producer.space), producer.space);
    if (!element) return false;
    Piece fused = producer;
    fused.buffer = map.buffer;
    Expr& end = fused.fold ? fused.fold->finish : fused.value;
    const Expr before = end;
    end =
        ReplaceLoads(*element, [&](const ExprNode& load) { return load.buffer == producer.buffer ? before : Expr(); });
    pieces_[producer_at] = std::move(fused);
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(map_at));
    return true;
  }

  // A map that reads folds over some of its own dimensions, all over the same ones and read by nobody else: one pass
  // over rows that are still in cache when the map reads them again.
  void GroupNorms() {
    for (std::size_t m = 0; m < pieces_.size(); ++m) {
      if (!pieces_[m].is_map()) continue;
      std::size_t removed = 0;
      if (auto norm = NormOf(m)) {
        std::set<int> inside;
        for (const auto& statistic : norm->statistics) inside.insert(statistic.buffer);
        pieces_[m] = std::move(*norm);
        for (std::size_t i = pieces_.size(); i-- > 0;) {
          if (inside.count(pieces_[i].buffer) && i != m) {
            pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i));
            if (i < m) ++removed;
          }
        }
      }
      m -= removed;
    }
  }

  std::optional<Piece> NormOf(std::size_t at) const {
    const Piece& map = pieces_[at];
    // The folds that the map reads, and those that these read, as long as nobody outside does.
    std::set<std::size_t> members;
    const std::function<void(const Piece&)> collect = [&](const Piece& reader) {
      EachExpr(const_cast<Piece&>(reader), [&](Expr& expr) {
        for (const auto& load : LoadsOf(expr)) {
          for (std::size_t i = 0; i < at; ++i) {
            if (pieces_[i].buffer == load.buffer && pieces_[i].fold && pieces_[i].fold->op <= ReduceOp::kMin &&
                !IsContraction(*pieces_[i].fold) && !IsOutput(load.buffer) && members.insert(i).second) {
              collect(pieces_[i]);
            }
          }
        }
      });
    };
    collect(map);
    // Drop members that somebody outside reads, until none is left.
    for (bool again = true; again;) {
      again = false;
      for (const auto member : members) {
        for (const auto reader : Readers(pieces_[member].buffer)) {
          if (reader != at && !members.count(reader)) {
            members.erase(member);
            again = true;
            break;
          }
        }
        if (again) break;
      }
    }
    if (members.empty()) return std::nullopt;

    Piece norm = map;
    std::optional<std::vector<bool>> kept;
    for (const auto member : members) {
      auto statistic = OverSpace(pieces_[member], norm, members, kept);
      if (!statistic) return std::nullopt;
      norm.statistics.push_back(std::move(*statistic));
    }
    for (std::size_t d = 0; d < norm.space.size(); ++d) {
      if (!(*kept)[d]) norm.axes.push_back(static_cast<int>(d));
    }
    if (norm.axes.empty()) return std::nullopt;
    // Reads of a statistic carry no position any more.
    const auto strip = [&](Expr& expr) {
      expr = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
        for (const auto member : members) {
          if (pieces_[member].buffer == load.buffer) return Load(load.buffer, {Expr(0)}, load.type);
        }
        return {};
      });
    };
    EachExpr(norm, strip);
    return norm;
  }

  // The fold written over the map's space: its own dimensions are those of the map at which it is read, its folded ones
  // the rest.
  std::optional<Piece> OverSpace(const Piece& fold, const Piece& map, const std::set<std::size_t>& members,
                                 std::optional<std::vector<bool>>& kept) const {
    // Where it is read: by the map directly, or by another member, whose space is the same kind of thing; then the own
    // position is it.
    std::optional<Affine> position;
    for (const auto& load : LoadsOf(map.value)) {
      if (load.buffer != fold.buffer) continue;
      if (position && *position != load.position) return std::nullopt;
      position = load.position;
    }
    std::optional<std::vector<Affine>> indices;
    if (position) {
      indices = Unflatten(*position, map.space, Extents(fold.space));
    } else if (kept) {
      Affine own;
      std::vector<IndexVar> rows;
      for (std::size_t d = 0; d < map.space.size(); ++d) {
        if ((*kept)[d]) rows.push_back(map.space[d]);
      }
      indices = Unflatten(OwnPosition(rows), rows, Extents(fold.space));
    } else {
      // Read only by other statistics: find one of them that the map reads.
      for (const auto member : members) {
        for (const auto& load : LoadsOf(map.value)) {
          if (load.buffer == pieces_[member].buffer && Extents(pieces_[member].space) == Extents(fold.space))
            indices = Unflatten(load.position, map.space, Extents(fold.space));
        }
      }
    }
    if (!indices) return std::nullopt;
    // Each dimension of the map is either one that the fold keeps, with all its values, or one that it folds.
    std::vector<bool> keeps(map.space.size(), false);
    std::int64_t rows = 1;
    for (std::size_t d = 0; d < map.space.size(); ++d) {
      for (const auto& index : *indices) keeps[d] = keeps[d] || index.of(map.space[d]) != 0;
      if (keeps[d]) rows *= map.space[d].extent;
    }
    if (rows != ElementCount(Extents(fold.space)) || (kept && *kept != keeps)) return std::nullopt;
    kept = keeps;
    std::vector<IndexVar> axes;
    for (std::size_t d = 0; d < map.space.size(); ++d) {
      if (!keeps[d]) axes.push_back(map.space[d]);
    }
    // The folded indices in the map's: the same extents, or one walk over all of them.
    const auto folded = FoldedIndices(fold, axes);
    if (!folded) return std::nullopt;
    Piece statistic = fold;
    EachExpr(statistic, [&](Expr& expr) {
      expr = Substitute(expr, [&](const IndexVar& var) -> Expr {
        for (std::size_t d = 0; d < fold.space.size(); ++d) {
          if (fold.space[d].id == var.id) return ToExpr((*indices)[d], map.space);
        }
        for (std::size_t d = 0; d < fold.fold->over.size(); ++d) {
          if (fold.fold->over[d].id == var.id) return (*folded)[d];
        }
        return {};
      });
    });
    statistic.space.clear();
    for (std::size_t d = 0; d < map.space.size(); ++d) {
      if (keeps[d]) statistic.space.push_back(map.space[d]);
    }
    statistic.fold->over = axes;
    return statistic;
  }

  static std::optional<std::vector<Expr>> FoldedIndices(const Piece& fold, const std::vector<IndexVar>& axes) {
    if (ElementCount(Extents(fold.fold->over)) != ElementCount(Extents(axes))) return std::nullopt;
    const auto indices = Unflatten(OwnPosition(axes), axes, Extents(fold.fold->over));
    if (!indices) return std::nullopt;
    std::vector<Expr> exprs;
    for (const auto& index : *indices) exprs.push_back(ToExpr(index, axes));
    return exprs;
  }

  const Graph& graph_;
  std::vector<Piece> pieces_;
};

}  // namespace

int RootBuffer(const Graph& graph, int buffer) {
  const Buffer& b = graph.buffers()[static_cast<std::size_t>(buffer)];
  if (b.stage < 0) return buffer;
  const int base = graph.stages()[static_cast<std::size_t>(b.stage)].reshape_of;
  return base < 0 ? buffer : RootBuffer(graph, base);
}

std::vector<FlatLoad> LoadsOf(const Expr& expr) {
  std::vector<FlatLoad> loads;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad || node.buffer == kIt) return;
    const auto position = AffineOf(node.operands[0]);
    FlatLoad load{node.buffer, position.value_or(Affine{}), node.type};
    for (const auto& known : loads) {
      if (known.buffer == load.buffer && known.position == load.position) return;
    }
    loads.push_back(std::move(load));
  });
  return loads;
}

std::optional<std::vector<Piece>> PiecesOf(const Graph& graph) {
  std::vector<Piece> pieces;
  std::set<int> outputs;
  for (std::size_t o = 0; o < graph.problem().Outputs().size(); ++o) outputs.insert(graph.Output(o));
  const auto live = LiveStages(graph);
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    if (!live[s]) continue;
    const Stage& stage = graph.stages()[s];
    const Buffer& buffer = graph.buffers()[static_cast<std::size_t>(stage.buffer)];
    if (stage.reshape_of >= 0) {
      // Only a name; but an output that reshapes an input has to be copied, and two outputs cannot share their memory.
      const int root = RootBuffer(graph, stage.buffer);
      const bool copied = outputs.count(stage.buffer) && graph.buffers()[static_cast<std::size_t>(root)].stage < 0;
      if (copied) return std::nullopt;
      continue;
    }
    bool affine = true;
    std::vector<const ExprNode*> reduces;
    const Expr value = ReplaceLoads(stage.value, [&](const ExprNode& load) {
      const Shape& shape = graph.buffers()[static_cast<std::size_t>(load.buffer)].shape;
      const auto strides = DenseStrides(shape);
      Expr flat = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) flat = flat + load.operands[d] * strides[d];
      const auto position = AffineOf(flat);
      affine &= position.has_value();
      return Load(RootBuffer(graph, load.buffer), {flat}, load.type);
    });
    // An index used as a value (arange, cat, padding) is beyond the kernel language.
    const std::function<void(const Expr&)> look = [&](const Expr& e) {
      if (e->kind == Expr::Kind::kLoad) return;
      if (e->kind == Expr::Kind::kIndex) affine = false;
      if (e->kind == Expr::Kind::kReduce && std::find(reduces.begin(), reduces.end(), e.get()) == reduces.end())
        reduces.push_back(e.get());
      for (const auto& operand : e->operands) look(operand);
    };
    look(value);
    if (!affine || reduces.size() > 1 || ElementCount(buffer.shape) == 0) return std::nullopt;
    Piece piece;
    piece.buffer = stage.buffer;
    piece.space = stage.vars;
    if (reduces.empty()) {
      piece.value = value;
    } else {
      const ExprNode* reduce = reduces[0];
      if (reduce->reduce > ReduceOp::kMin) return std::nullopt;
      // What surrounds the reduction, with `it` in its place.
      const std::function<Expr(const Expr&)> around = [&](const Expr& e) -> Expr {
        if (e.get() == reduce) return Load(kIt, {}, e->type);
        std::vector<Expr> operands;
        for (const auto& operand : e->operands) operands.push_back(around(operand));
        switch (e->kind) {
          case Expr::Kind::kUnary: return Apply(e->unary, operands[0]);
          case Expr::Kind::kBinary: return Apply(e->binary, operands[0], operands[1]);
          case Expr::Kind::kSelect: return Select(operands[0], operands[1], operands[2]);
          case Expr::Kind::kCast: return Cast(operands[0], e->type);
          default: return e;
        }
      };
      Fold fold;
      fold.over = reduce->over;
      fold.op = reduce->reduce;
      fold.body = reduce->operands[0];
      fold.finish = around(value);
      for (const auto& var : fold.over) {
        if (var.extent == 0) return std::nullopt;
      }
      piece.fold = std::move(fold);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::vector<Piece> Fuse(const Graph& graph, std::vector<Piece> pieces, const Fusion& fusion) {
  return Fuser(graph, std::move(pieces)).Run(fusion);
}

}  // namespace hone::expert
