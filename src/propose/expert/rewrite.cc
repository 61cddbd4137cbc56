#include "propose/expert/rewrite.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace hone::expert {

Expr Rewrite(const Expr& expr, const std::function<Expr(const Expr&)>& with) {
  std::unordered_map<const ExprNode*, Expr> done;  // keys stay alive: they are nodes of `expr`
  const std::function<Expr(const Expr&)> walk = [&](const Expr& e) -> Expr {
    if (const auto it = done.find(e.get()); it != done.end()) return it->second;
    std::vector<Expr> operands;
    bool changed = false;
    for (const auto& operand : e->operands) {
      operands.push_back(walk(operand));
      changed |= operands.back().get() != operand.get();
    }
    Expr result = changed ? WithOperands(e, std::move(operands)) : e;
    if (Expr other = with(result)) result = std::move(other);
    done.emplace(e.get(), result);
    return result;
  };
  return walk(expr);
}

std::vector<IndexVar> VarsOf(const Expr& expr) {
  std::vector<IndexVar> vars;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kIndex) return;
    if (std::none_of(vars.begin(), vars.end(), [&](const IndexVar& var) { return var.id == node.index.id; }))
      vars.push_back(node.index);
  });
  return vars;
}

std::vector<IndexVar> VarsIn(const ExprNode& load) {
  std::vector<IndexVar> vars;
  for (const auto& index : load.operands) {
    for (const auto& var : VarsOf(index)) {
      if (std::none_of(vars.begin(), vars.end(), [&](const IndexVar& other) { return other.id == var.id; }))
        vars.push_back(var);
    }
  }
  return vars;
}

bool IsExpensive(const Expr& expr) {
  bool expensive = false;
  Visit(expr, [&](const ExprNode& node) {
    expensive |= node.kind == Expr::Kind::kReduce;
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

Expr WithoutPowersOfTwo(const Expr& expr) {
  return Rewrite(expr, [](const Expr& e) -> Expr {
    return IsBinary(e, BinaryOp::kPow) && ConstantNumber(e->operands[0]) == 2.0 ? e->operands[1] : Expr();
  });
}

int TreeSize(const Expr& expr) {
  std::unordered_map<const ExprNode*, int> sizes;
  Visit(expr, [&](const ExprNode& node) {  // children first
    int size = 1;
    for (const auto& operand : node.operands) size = std::min(kLongest, size + sizes[operand.get()]);
    sizes[&node] = size;
  });
  return sizes[expr.get()];
}

void VisitValues(const Expr& expr, const std::function<void(const ExprNode&)>& visit) {
  std::unordered_set<const ExprNode*> seen;
  const std::function<void(const ExprNode&)> walk = [&](const ExprNode& node) {
    if (!seen.insert(&node).second) return;
    if (node.kind != Expr::Kind::kLoad) {
      for (const auto& operand : node.operands) walk(*operand);
    }
    visit(node);
  };
  walk(*expr);
}

Expr InIndices(const Expr& expr, const std::vector<IndexVar>& from, const std::vector<IndexVar>& to) {
  return Substitute(expr, [&](const IndexVar& var) -> Expr {
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (from[d].id == var.id) return Expr(to[d]);
    }
    return {};
  });
}

}  // namespace hone::expert
