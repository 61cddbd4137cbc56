#include "analysis/hidden.h"

#include <algorithm>
#include <limits>
#include <set>

#include "graph/reshape.h"

namespace hone {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

class Seeker {
 public:
  explicit Seeker(const Graph& graph) : graph_(graph) {}

  // The element is `value`, 0 or -inf, unless these hold.
  void Unless(const Expr& e, double value, std::vector<Expr>& conditions) {
    if (--steps_ < 0) return;
    switch (e->kind) {
      case Expr::Kind::kLoad:
        if (const auto element = ElementOf(graph_, *e)) Unless(*element, value, conditions);
        return;
      case Expr::Kind::kCast: return Unless(e->operands[0], value, conditions);
      case Expr::Kind::kSelect:
        if (Is(e->operands[2], value)) {
          conditions.push_back(OfIndices(e->operands[0]));
          Unless(e->operands[1], value, conditions);
        } else if (Is(e->operands[1], value)) {
          conditions.push_back(Apply(UnaryOp::kNot, OfIndices(e->operands[0])));
          Unless(e->operands[2], value, conditions);
        }
        return;
      case Expr::Kind::kUnary:
        if (e->unary == UnaryOp::kExp && value == 0) Unless(e->operands[0], kMinusInfinity, conditions);
        return;
      case Expr::Kind::kBinary: return UnlessBinary(*e, value, conditions);
      default: return;
    }
  }

  // `expr` with loads of what is made of indices alone written out.
  Expr OfIndices(const Expr& expr) {
    return ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
      if (--steps_ < 0 || load.type == ScalarType::kReal) return {};
      const auto element = ElementOf(graph_, load);
      if (!element) return {};
      const Expr written = OfIndices(*element);
      return HasLoad(written) ? Expr() : written;
    });
  }

 private:
  // Also where a stage of its own makes a constant.
  bool Is(const Expr& e, double number) {
    if (e->kind == Expr::Kind::kCast) return Is(e->operands[0], number);
    if (e->kind != Expr::Kind::kLoad || --steps_ < 0) return ConstantNumber(e) == number;
    const auto element = ElementOf(graph_, *e);
    return element && Is(*element, number);
  }

  // What is added to -inf is taken to be finite, as what zeros are multiplied by.
  void UnlessBinary(const ExprNode& e, double value, std::vector<Expr>& conditions) {
    const bool both = e.binary == (value == 0 ? BinaryOp::kMul : BinaryOp::kAdd);
    const bool first = e.binary == (value == 0 ? BinaryOp::kDiv : BinaryOp::kSub);
    if (both || first) Unless(e.operands[0], value, conditions);
    if (both) Unless(e.operands[1], value, conditions);
  }

  const Graph& graph_;
  int steps_ = 64;  // a chain of maps from a mask to weights has a dozen
};

// What an expression hangs on, of what is made outside.
class Sources {
 public:
  explicit Sources(const Graph& graph) : graph_(graph) {}

  void Add(const Expr& e) {
    Visit(e, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad) return;
      const int made = graph_.buffers()[static_cast<std::size_t>(node.buffer)].stage;
      if (made < 0) {
        (node.type == ScalarType::kReal ? real : whole) = true;
      } else if (seen_.insert(made).second) {
        Add(graph_.stages()[static_cast<std::size_t>(made)].value);
      }
    });
  }

  bool whole = false, real = false;

 private:
  const Graph& graph_;
  std::set<int> seen_;
};

}  // namespace

std::optional<Expr> ElementOf(const Graph& graph, const ExprNode& load) {
  const int made = graph.buffers()[static_cast<std::size_t>(load.buffer)].stage;
  if (made < 0) return std::nullopt;
  const Stage& stage = graph.stages()[static_cast<std::size_t>(made)];
  if (stage.sequence >= 0) return std::nullopt;
  if (stage.reshape_of >= 0) {
    const Shape& from = graph.buffers()[static_cast<std::size_t>(load.buffer)].shape;
    const Shape& to = graph.buffers()[static_cast<std::size_t>(stage.reshape_of)].shape;
    return Load(stage.reshape_of, InShape(load.operands, from, to), load.type);
  }
  return Substitute(stage.value, [&](const IndexVar& var) -> Expr {
    for (std::size_t d = 0; d < stage.vars.size(); ++d) {
      if (stage.vars[d].id == var.id) return load.operands[d];
    }
    return {};
  });
}

std::vector<Expr> ZeroUnless(const Graph& graph, const Expr& expr) {
  std::vector<Expr> conditions;
  Seeker(graph).Unless(expr, 0, conditions);
  return conditions;
}

bool IsOfPlacesOutOfData(const Graph& graph, const std::vector<Expr>& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [&](const Expr& condition) {
    Sources sources(graph);
    sources.Add(condition);
    return sources.whole && !sources.real;
  });
}

Expr OfIndices(const Graph& graph, const Expr& expr) { return Seeker(graph).OfIndices(expr); }

}  // namespace hone
