#include "propose/expert/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "dsl/functions.h"

namespace hone::expert {
namespace {

using dsl::Call;
using dsl::Declaration;
using dsl::Number;
using dsl::Program;
using dsl::Statement;
using dsl::TermPtr;

std::string Identifier(const std::string& name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) text = "v" + text;
  return text;
}

Shape Extents(const std::vector<IndexVar>& vars) {
  Shape extents;
  for (const auto& var : vars) extents.push_back(var.extent);
  return extents;
}

std::string_view FoldWord(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return "sum";
    case ReduceOp::kProd: return "prod";
    case ReduceOp::kMax: return "max";
    default: return "min";
  }
}

// --- Functions of the language that stand for several operations: an expression of their shape is written by their
// name. ---

constexpr int kHole = -1000;  // the pseudo-buffer of a pattern's argument

bool Matches(const Expr& pattern, const Expr& e, Expr& hole) {
  if (pattern->kind == Expr::Kind::kLoad) {
    if (!hole) hole = e;
    return SameExpr(hole, e);
  }
  if (pattern->kind != e->kind || pattern->type != e->type || pattern->operands.size() != e->operands.size())
    return false;
  switch (e->kind) {
    case Expr::Kind::kConst: return SameExpr(pattern, e);
    case Expr::Kind::kUnary:
      if (pattern->unary != e->unary) return false;
      break;
    case Expr::Kind::kBinary:
      if (pattern->binary != e->binary) return false;
      break;
    case Expr::Kind::kSelect: break;
    default: return false;
  }
  for (std::size_t i = 0; i < e->operands.size(); ++i) {
    if (!Matches(pattern->operands[i], e->operands[i], hole)) return false;
  }
  return true;
}

struct Composite {
  std::string_view name;
  Expr pattern;
  int size = 0;
};

// Largest first, so that mish is not written as the softplus in it.
const std::vector<Composite>& Composites() {
  static const std::vector<Composite> composites = [] {
    std::vector<Composite> found;
    const Expr hole = Load(kHole, {}, ScalarType::kReal);
    for (const auto& function : dsl::AllFunctions()) {
      if (function.arguments != 1 || function.whole_only) continue;
      Composite composite{function.name, function.build(std::span(&hole, 1))};
      Visit(composite.pattern, [&](const ExprNode&) { ++composite.size; });
      const bool simple = composite.pattern->kind == Expr::Kind::kCast ||
                          composite.pattern->kind == Expr::Kind::kLoad || composite.pattern->kind == Expr::Kind::kUnary;
      if (composite.pattern->type == ScalarType::kReal && (!simple || composite.size > 2))
        found.push_back(std::move(composite));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Composite& a, const Composite& b) { return a.size > b.size; });
    return found;
  }();
  return composites;
}

class ProgramWriter {
 public:
  explicit ProgramWriter(const Graph& graph) : graph_(graph) {}

  std::optional<Program> Write(const std::vector<Piece>& pieces) {
    program_.name = Identifier(graph_.problem().name);
    for (const auto& tensor : graph_.problem().tensors) {
      program_.declarations.push_back({tensor.role, tensor.name, tensor.dtype, tensor.shape, {}});
      taken_.insert(tensor.name);
    }
    for (std::size_t b = 0; b < graph_.buffers().size(); ++b) {
      const Buffer& buffer = graph_.buffers()[b];
      if (buffer.stage < 0) values_[static_cast<int>(b)] = {buffer.name, buffer.shape};
    }
    for (const auto& piece : pieces) {
      if (!WritePiece(piece)) return std::nullopt;
    }
    return std::move(program_);
  }

 private:
  struct Value {
    std::string name;
    Shape shape;  // as the language knows it
  };

  std::string Fresh(std::string name) {
    name = Identifier(name);
    std::string fresh = name;
    for (int i = 2; taken_.count(fresh) || fresh == "it"; ++i) fresh = fmt::format("{}_{}", name, i);
    taken_.insert(fresh);
    return fresh;
  }

  // Opens a statement that makes the piece's buffer; `result` is the shape that the family gives.
  Statement Open(const Piece& piece, std::string_view family, const Shape& result) {
    Statement statement;
    statement.family = family;
    for (std::size_t o = 0; o < graph_.problem().Outputs().size(); ++o) {
      if (RootBuffer(graph_, graph_.Output(o)) != piece.buffer) continue;
      const Tensor& tensor = *graph_.problem().Outputs()[o];
      statement.target = tensor.name;
      statement.target_shape = tensor.shape;
      statement.has_target_shape = tensor.shape != result;
      values_[piece.buffer] = {tensor.name, tensor.shape};
    }
    if (statement.target.empty()) {
      statement.target = Fresh(graph_.buffers()[static_cast<std::size_t>(piece.buffer)].name);
      values_[piece.buffer] = {statement.target, result};
    }
    return statement;
  }

  // --- Names of operands ---

  // The load as something that broadcasts over `space`: the value itself where its own shape does, else a view.
  std::optional<std::string> NameOf(int buffer, const Affine& position, const std::vector<IndexVar>& space) {
    const auto it = values_.find(buffer);
    if (it == values_.end()) return std::nullopt;
    std::vector<std::int64_t> strides;
    std::set<int> known;
    for (const auto& var : space) {
      strides.push_back(position.of(var));
      known.insert(var.id);
    }
    for (const auto& [id, coefficient] : position.coefficient) {
      if (!known.count(id)) return std::nullopt;
    }
    return ViewName(it->second, Extents(space), strides, position.constant, Broadcast::kAllowed);
  }

  enum class Broadcast { kAllowed, kForbidden };

  std::optional<std::string> ViewName(const Value& value, Shape extents, std::vector<std::int64_t> strides,
                                      std::int64_t offset, Broadcast broadcast) {
    for (const auto stride : strides) {
      if (stride < 0) return std::nullopt;
    }
    if (broadcast == Broadcast::kAllowed) {
      for (std::size_t d = 0; d < extents.size(); ++d) {
        if (strides[d] == 0) extents[d] = 1;
      }
      // Leading dimensions that do not vary need not be written.
      while (!extents.empty() && extents[0] == 1) {
        extents.erase(extents.begin());
        strides.erase(strides.begin());
      }
      if (ElementCount(value.shape) == 1 && offset == 0) return value.name;
    }
    bool dense = offset == 0;
    const auto natural = DenseStrides(extents);
    for (std::size_t d = 0; d < extents.size(); ++d) dense &= extents[d] == 1 || strides[d] == natural[d];
    if (dense && extents == value.shape) return value.name;
    if (extents.empty()) {
      extents = {1};
      strides = {1};
    }
    const auto key = std::tuple(value.name, extents, strides, offset);
    if (const auto it = views_.find(key); it != views_.end()) return it->second;
    dsl::View view;
    view.name = Fresh(value.name + "_view");
    view.base = value.name;
    view.shape = extents;
    view.strides = strides;
    view.offset = offset;
    views_[key] = view.name;
    program_.views.push_back(view);
    return program_.views.back().name;
  }

  // --- Expressions ---

  // `special` names loads that are not operands: `it` and lets.
  std::optional<TermPtr> TermOf(const Expr& e, const std::vector<IndexVar>& space,
                                const std::map<int, std::string>& special) {
    switch (e->kind) {
      case Expr::Kind::kConst: return Number(e->type == ScalarType::kReal ? e->real : static_cast<double>(e->whole));
      case Expr::Kind::kLoad: {
        if (const auto it = special.find(e->buffer); it != special.end()) return dsl::Name(it->second);
        const auto position = AffineOf(e->operands[0]);
        const auto name = position ? NameOf(e->buffer, *position, space) : std::nullopt;
        if (!name) return std::nullopt;
        return dsl::Name(*name);
      }
      case Expr::Kind::kIndex:
      case Expr::Kind::kReduce: return std::nullopt;
      case Expr::Kind::kCast:
        return TermOf(e->operands[0], space, special);  // the language's types follow by themselves
      default: break;
    }
    for (const auto& composite : Composites()) {
      Expr argument;
      if (!Matches(composite.pattern, e, argument)) continue;
      auto inner = TermOf(argument, space, special);
      if (!inner) return std::nullopt;
      return Call(std::string(composite.name), {std::move(*inner)});
    }
    std::vector<TermPtr> arguments;
    for (const auto& operand : e->operands) {
      auto argument = TermOf(operand, space, special);
      if (!argument) return std::nullopt;
      arguments.push_back(std::move(*argument));
    }
    if (e->kind == Expr::Kind::kSelect) return Call("select", std::move(arguments));
    if (e->kind == Expr::Kind::kUnary) return Call(std::string(Name(e->unary)), std::move(arguments));
    return Call(std::string(Name(e->binary)), std::move(arguments));
  }

  bool AddEpilogue(Statement& statement, const Expr& finish, const std::vector<IndexVar>& space) {
    if (finish->kind == Expr::Kind::kLoad && finish->buffer == kIt) return true;
    auto term = TermOf(finish, space, {{kIt, "it"}});
    if (term) statement.epilogue.push_back(std::move(*term));
    return term.has_value();
  }

  bool Finish(Statement statement) {
    program_.statements.push_back(std::move(statement));
    return true;
  }

  // --- Pieces ---

  bool WritePiece(const Piece& piece) {
    if (piece.is_map()) return WriteMap(piece);
    if (!piece.statistics.empty()) return WriteSoftmax(piece) || WriteNorm(piece);
    return WriteMatmul(piece) || WriteReduce(piece);
  }

  bool WriteMap(const Piece& piece) {
    auto term = TermOf(piece.value, piece.space, {});
    if (!term) return false;
    Statement statement = Open(piece, "map", Extents(piece.space));
    statement.operands.push_back(std::move(*term));
    return Finish(std::move(statement));
  }

  // The folded and kept dimensions in the order in which the largest operand has them in memory.
  bool WriteReduce(const Piece& piece) {
    const Fold& fold = *piece.fold;
    const FlatLoad* main = nullptr;
    const auto loads = LoadsOf(fold.body);
    std::int64_t most = -1;
    for (const auto& load : loads) {
      std::int64_t reach = 0;
      for (const auto* vars : {&piece.space, &fold.over}) {
        for (const auto& var : *vars) reach += load.position.of(var) != 0 ? var.extent : 0;
      }
      if (reach > most) {
        most = reach;
        main = &load;
      }
    }
    std::vector<IndexVar> over = fold.over;
    const auto stride = [&](const IndexVar& var) { return main ? main->position.of(var) : 0; };
    std::stable_sort(over.begin(), over.end(),
                     [&](const IndexVar& a, const IndexVar& b) { return stride(a) > stride(b); });
    std::vector<IndexVar> space;
    Statement statement;
    std::vector<int> axes;
    std::size_t kept = 0, folded = 0;
    while (kept < piece.space.size() || folded < over.size()) {
      const bool take_kept =
          folded == over.size() || (kept < piece.space.size() && stride(piece.space[kept]) >= stride(over[folded]));
      if (!take_kept) axes.push_back(static_cast<int>(space.size()));
      space.push_back(take_kept ? piece.space[kept++] : over[folded++]);
    }
    if (axes.empty()) return false;
    auto body = TermOf(fold.body, space, {});
    if (!body) return false;
    // The space has to be the operands' broadcast shape: a dimension that no operand has would be lost.
    for (const auto& var : space) {
      if (std::none_of(loads.begin(), loads.end(), [&](const FlatLoad& load) { return load.position.of(var) != 0; }))
        return false;
    }
    statement = Open(piece, "reduce", Extents(piece.space));
    statement.variant = FoldWord(fold.op);
    statement.operands.push_back(std::move(*body));
    statement.axes = axes;
    return AddEpilogue(statement, fold.finish, piece.space) && Finish(std::move(statement));
  }

  bool WriteNorm(const Piece& piece) {
    Statement statement = Open(piece, "norm", Extents(piece.space));
    statement.axes = piece.axes;
    std::map<int, std::string> lets;
    // The operand is what is normalised: the largest load of the first statistic.
    const auto loads = LoadsOf(piece.statistics[0].fold->body);
    const FlatLoad* main = nullptr;
    for (const auto& load : loads) {
      if (std::all_of(piece.space.begin(), piece.space.end(),
                      [&](const IndexVar& var) { return load.position.of(var) != 0; }))
        main = main ? main : &load;
    }
    if (!main) return false;
    const auto operand = NameOf(main->buffer, main->position, piece.space);
    if (!operand) return false;
    statement.operands.push_back(dsl::Name(*operand));
    for (const auto& statistic : piece.statistics) {
      const Fold& fold = *statistic.fold;
      auto body = TermOf(fold.body, piece.space, lets);
      if (!body) return false;
      const std::string word = fold.op == ReduceOp::kMax   ? "max_over"
                               : fold.op == ReduceOp::kMin ? "min_over"
                                                           : std::string(FoldWord(fold.op));
      TermPtr folded = Call(word, {std::move(*body)});
      // The finish around it, with the fold's call where `it` is.
      const std::string placeholder = "it";
      std::map<int, std::string> inside = lets;
      inside[kIt] = placeholder;
      auto finish = TermOf(fold.finish, piece.space, inside);
      if (!finish) return false;
      dsl::Let let;
      let.name = Fresh(graph_.buffers()[static_cast<std::size_t>(statistic.buffer)].name);
      let.value = ReplaceName(*finish, placeholder, folded);
      lets[statistic.buffer] = let.name;
      statement.lets.push_back(std::move(let));
    }
    auto element = TermOf(piece.value, piece.space, lets);
    if (!element) return false;
    statement.epilogue.push_back(std::move(*element));
    return Finish(std::move(statement));
  }

  static TermPtr ReplaceName(const TermPtr& term, const std::string& name, const TermPtr& with) {
    if (term->kind == dsl::Term::Kind::kName && term->name == name) return with;
    if (term->kind != dsl::Term::Kind::kCall) return term;
    std::vector<TermPtr> arguments;
    for (const auto& argument : term->arguments) arguments.push_back(ReplaceName(argument, name, with));
    return Call(term->name, std::move(arguments));
  }

  // max, sum of exp(x - max), and an element that holds exp(x - max) / sum or (x - max) - log(sum).
  bool WriteSoftmax(const Piece& piece) {
    if (piece.statistics.size() != 2 || piece.axes.size() != 1) return false;
    const Piece& most = piece.statistics[0];
    const Piece& sum = piece.statistics[1];
    const auto plain = [](const Fold& fold) {
      return fold.finish->kind == Expr::Kind::kLoad && fold.finish->buffer == kIt;
    };
    if (most.fold->op != ReduceOp::kMax || sum.fold->op != ReduceOp::kSum || !plain(*most.fold) || !plain(*sum.fold))
      return false;
    const Expr x = most.fold->body;
    const auto read = [](const Piece& statistic) { return Load(statistic.buffer, {Expr(0)}, ScalarType::kReal); };
    const Expr shifted = x - read(most);
    if (!SameExpr(sum.fold->body, Exp(shifted))) return false;
    bool logarithm = false, found = false;
    const Expr soft = Exp(shifted) / read(sum), log_soft = shifted - Log(read(sum));
    const std::function<Expr(const Expr&)> replace = [&](const Expr& e) -> Expr {
      for (const bool log : {false, true}) {
        if (SameExpr(e, log ? log_soft : soft) && (!found || logarithm == log)) {
          found = true;
          logarithm = log;
          return Load(kIt, {}, ScalarType::kReal);
        }
      }
      std::vector<Expr> operands;
      for (const auto& operand : e->operands)
        operands.push_back(e->kind == Expr::Kind::kLoad ? operand : replace(operand));
      switch (e->kind) {
        case Expr::Kind::kUnary: return Apply(e->unary, operands[0]);
        case Expr::Kind::kBinary: return Apply(e->binary, operands[0], operands[1]);
        case Expr::Kind::kSelect: return Select(operands[0], operands[1], operands[2]);
        case Expr::Kind::kCast: return Cast(operands[0], e->type);
        default: return e;
      }
    };
    const Expr rest = replace(piece.value);
    if (!found) return false;
    for (const auto& load : LoadsOf(rest)) {
      if (load.buffer == most.buffer || load.buffer == sum.buffer) return false;
    }
    auto operand = TermOf(x, piece.space, {});
    if (!operand) return false;
    Statement statement = Open(piece, "softmax", Extents(piece.space));
    if (logarithm) statement.variant = "log";
    statement.operands.push_back(std::move(*operand));
    statement.axes = piece.axes;
    return AddEpilogue(statement, rest, piece.space) && Finish(std::move(statement));
  }

  // result[batch.., m, n] = sum over k of a[batch.., m, k] * b[batch.., k, n].
  bool WriteMatmul(const Piece& piece) {
    const Fold& fold = *piece.fold;
    if (fold.op != ReduceOp::kSum || fold.over.size() != 1 || fold.body->kind != Expr::Kind::kBinary ||
        fold.body->binary != BinaryOp::kMul)
      return false;
    const Expr &left = fold.body->operands[0], &right = fold.body->operands[1];
    if (left->kind != Expr::Kind::kLoad || right->kind != Expr::Kind::kLoad) return false;
    auto a = AffineOf(left->operands[0]), b = AffineOf(right->operands[0]);
    int a_buffer = left->buffer, b_buffer = right->buffer;
    if (!a || !b || piece.space.size() < 2) return false;
    const IndexVar k = fold.over[0], n = piece.space.back();
    if (b->of(n) == 0) {
      std::swap(a, b);
      std::swap(a_buffer, b_buffer);
    }
    if (b->of(n) == 0 || a->of(n) != 0 || a->of(k) == 0 || b->of(k) == 0) return false;
    // The dimensions before n: first those of both (batches), then one of a alone.
    std::size_t m = piece.space.size() - 2;
    if (a->of(piece.space[m]) == 0 || b->of(piece.space[m]) != 0) return false;
    std::vector<IndexVar> batch(piece.space.begin(), piece.space.begin() + static_cast<std::ptrdiff_t>(m));
    const auto view = [&](int buffer, const Affine& position, IndexVar row,
                          IndexVar column) -> std::optional<std::string> {
      const auto it = values_.find(buffer);
      if (it == values_.end()) return std::nullopt;
      std::vector<IndexVar> vars;
      // A batch dimension that this operand does not have is left to broadcasting.
      for (const auto& var : batch) vars.push_back(position.of(var) == 0 ? NewIndex(1) : var);
      vars.push_back(row);
      vars.push_back(column);
      while (vars.size() > 2 && vars[0].extent == 1) vars.erase(vars.begin());
      std::vector<std::int64_t> strides;
      for (const auto& var : vars) strides.push_back(position.of(var));
      return ViewName(it->second, Extents(vars), strides, position.constant, Broadcast::kForbidden);
    };
    const auto a_name = view(a_buffer, *a, piece.space[m], k), b_name = view(b_buffer, *b, k, n);
    if (!a_name || !b_name) return false;
    Statement statement = Open(piece, "matmul", Extents(piece.space));
    statement.operands = {dsl::Name(*a_name), dsl::Name(*b_name)};
    return AddEpilogue(statement, fold.finish, piece.space) && Finish(std::move(statement));
  }

  const Graph& graph_;
  Program program_;
  std::map<int, Value> values_;  // by buffer
  std::set<std::string> taken_;
  std::map<std::tuple<std::string, Shape, std::vector<std::int64_t>, std::int64_t>, std::string> views_;
};

}  // namespace

std::optional<Program> WriteProgram(const Graph& graph, const std::vector<Piece>& pieces) {
  return ProgramWriter(graph).Write(pieces);
}

}  // namespace hone::expert
