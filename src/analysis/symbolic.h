// What the elements of a graph's buffers are as formulas: extents of one fall away, constants fold, indices become
// linear where they are, and sums of products are brought into one form in which equal things cancel. So x minus its
// mean over a dimension of extent one is found to be zero, and a mean of what was centred before.
//
// The rules are those of exact arithmetic on finite numbers. A parameter that the problem draws as a constant counts as
// that constant. Nothing here asks which operator a stage came from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expr/expr.h"
#include "expr/linear_index.h"
#include "graph/graph.h"

namespace hone {

// coefficient * Sum over `over` of the product of `factors`; a factor is never a number, a sum or a product.
struct Term {
  double coefficient = 1;
  std::vector<IndexVar> over;
  std::vector<Expr> factors;
};
using Polynomial = std::vector<Term>;  // the sum of its terms; empty = 0

bool IsTruth(const Expr& factor);  // a number where a condition holds, another one (1 and 0 as a rule) elsewhere
// A number, a load, or a sum, product or choice of such at the top: looking into it brings its parts into reach.
bool IsPolynomial(const Expr& value);

class Symbolic {
 public:
  explicit Symbolic(const Graph& graph);

  // The element of a stage's buffer with what folds folded and what only renames followed.
  const Expr& Value(std::size_t stage) const { return values_[stage]; }
  // All elements of a buffer are this number (a truth value as 0 or 1), if that is known.
  std::optional<double> Constant(int buffer) const { return constants_[static_cast<std::size_t>(buffer)]; }
  // The same with buffers that other analyses know to be constant; later stages have to be defined after it.
  void SetConstant(int buffer, double value);
  // Works out Value of one stage; stages in order, each once. True if it turned out constant because terms cancelled.
  bool Define(std::size_t stage);

  Expr Simplify(const Expr& expr);
  // `expr` as a polynomial in the elements of buffers; those that `inlined` names are replaced by what they are.
  // Nothing when that grows beyond a limit.
  using Inlined = std::function<bool(int buffer)>;
  std::optional<Polynomial> Expand(const Expr& expr, const Inlined& inlined);

 private:
  friend class Expander;
  const Graph* graph_;
  std::vector<Expr> values_;                      // by stage
  std::vector<std::optional<double>> constants_;  // by buffer
};

}  // namespace hone
