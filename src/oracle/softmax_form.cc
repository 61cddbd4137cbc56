#include "oracle/softmax_form.h"

#include <algorithm>
#include <map>

namespace hone {
namespace {

// Whether `e` is `term` with something for each of the indices `over`, the same wherever one occurs, that walk whole
// dimensions of what is loaded.
class OneOfTerms {
 public:
  OneOfTerms(const Graph& graph, const std::vector<IndexVar>& over) : graph_(graph), over_(over) {}

  bool Is(const Expr& term, const Expr& e) {
    if (term->kind == Expr::Kind::kIndex) return e->kind == term->kind && e->index.id == term->index.id;
    if (!SameNode(*term, *e) || term->operands.size() != e->operands.size()) return false;
    for (std::size_t i = 0; i < term->operands.size(); ++i) {
      if (!(term->kind == Expr::Kind::kLoad && IsPlace(*term, i, e->operands[i])) &&
          !Is(term->operands[i], e->operands[i]))
        return false;
    }
    return true;
  }

 private:
  bool IsPlace(const ExprNode& load, std::size_t d, const Expr& at) {
    const Expr& index = load.operands[d];
    if (index->kind != Expr::Kind::kIndex) return false;
    const auto walks =
        std::find_if(over_.begin(), over_.end(), [&](const IndexVar& var) { return var.id == index->index.id; });
    if (walks == over_.end() || graph_.buffers()[static_cast<std::size_t>(load.buffer)].shape[d] != walks->extent)
      return false;
    return SameExpr(places_.try_emplace(walks->id, at).first->second, at);
  }

  const Graph& graph_;
  const std::vector<IndexVar>& over_;
  std::map<int, Expr> places_;
};

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<Stage>& stages) : graph_(graph), stages_(stages) {}

  SoftmaxNodes Find() {
    for (const Stage& stage : stages_) {
      if (!stage.value || stage.sequence >= 0) continue;
      Visit(stage.value, [&](const ExprNode& node) { Look(node); });
    }
    return std::move(found_);
  }

 private:
  void Look(const ExprNode& node) {
    if (node.kind != Expr::Kind::kBinary) return;
    const Expr &a = node.operands[0], &b = node.operands[1];
    if (node.binary == BinaryOp::kDiv && IsUnary(a, UnaryOp::kExp) && IsOfSum(a->operands[0], b))
      found_.quotients.insert(&node);
    if (node.binary == BinaryOp::kSub && IsUnary(b, UnaryOp::kLog) && IsOfSum(a, b->operands[0]))
      found_.logs.insert(b.get());
  }

  // Whether `total` is the sum of the exponents of such as `shifted`, which is one of them.
  bool IsOfSum(const Expr& shifted, const Expr& total) {
    if (!IsBinary(shifted, BinaryOp::kSub) || total->kind != Expr::Kind::kLoad) return false;
    const int made_by = graph_.buffers()[static_cast<std::size_t>(total->buffer)].stage;
    if (made_by < 0) return false;
    const Stage& stage = stages_[static_cast<std::size_t>(made_by)];
    if (!stage.value || stage.sequence >= 0 || stage.value->kind != Expr::Kind::kReduce ||
        stage.value->reduce != ReduceOp::kSum)
      return false;
    const Expr& exponent = stage.value->operands[0];
    if (!IsUnary(exponent, UnaryOp::kExp) || !IsBinary(exponent->operands[0], BinaryOp::kSub)) return false;
    const auto here = [&](const Expr& e) {
      return Substitute(e, [&](const IndexVar& var) -> Expr {
        for (std::size_t d = 0; d < stage.vars.size(); ++d) {
          if (stage.vars[d].id == var.id) return total->operands[d];
        }
        return {};
      });
    };
    const Expr& term = exponent->operands[0];
    const auto& over = stage.value->over;
    for (const IndexVar& var : over) {
      if (UsesIndex(term->operands[1], var.id)) return false;
    }
    if (!OneOfTerms(graph_, over).Is(here(term->operands[0]), shifted->operands[0]) ||
        !SameExpr(here(term->operands[1]), shifted->operands[1]))
      return false;
    found_.shifts.insert(shifted.get());
    found_.shifts.insert(term.get());
    return true;
  }

  const Graph& graph_;
  const std::vector<Stage>& stages_;
  SoftmaxNodes found_;
};

}  // namespace

SoftmaxNodes FindSoftmaxes(const Graph& graph, const std::vector<Stage>& stages) {
  return Finder(graph, stages).Find();
}

}  // namespace hone
