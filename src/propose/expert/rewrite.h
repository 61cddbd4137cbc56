// Walks over expressions that the expert needs beside those of expr/expr.h.
#pragma once

#include <functional>
#include <vector>

#include "expr/expr.h"

namespace hone::expert {

// Bottom-up: `with` gets each node with its operands done and gives what takes its place, or nothing to keep it.
Expr Rewrite(const Expr& expr, const std::function<Expr(const Expr&)>& with);

// The expression with indices `to` in place of `from`, which are as many.
Expr InIndices(const Expr& expr, const std::vector<IndexVar>& from, const std::vector<IndexVar>& to);

// What a whole number was cast from.
inline Expr WithoutWholeCasts(Expr expr) {
  while (expr->kind == Expr::Kind::kCast && expr->type == ScalarType::kInt) expr = expr->operands[0];
  return expr;
}
std::vector<IndexVar> VarsOf(const Expr& expr);      // the indices that occur, each once; folded ones too
std::vector<IndexVar> VarsIn(const ExprNode& load);  // likewise, in where it reads
bool IsExpensive(const Expr& expr);                  // some function in it costs far more than an addition
// With what they are raised to in the place of powers of two, which are exponents of scales.
Expr WithoutPowersOfTwo(const Expr& expr);

// How long it is when it is written out, every shared part as often as it occurs; at most kLongest.
inline constexpr int kLongest = 1 << 20;
int TreeSize(const Expr& expr);

// Visits what is computed with, not where it is loaded from: positions of loads are left out.
void VisitValues(const Expr& expr, const std::function<void(const ExprNode&)>& visit);

}  // namespace hone::expert
