// Expressions as CUDA C++.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// A longer sum of reals goes by parts, so that its rounding errors stay those of a tree.
inline constexpr std::int64_t kLongSum = 512;

// Writes expressions as CUDA C++: lines for what is used more than once, for folds and for what may only be looked at
// under a condition; the rest in place.
class DeviceExpr {
 public:
  // Gives the text of a load (its operands not yet written), of `it` and of lets.
  using LoadText = std::function<std::string(const ExprNode& load)>;
  DeviceExpr(DeviceWriter& writer, LoadText load) : writer_(writer), load_(std::move(load)) { scopes_.emplace_back(); }

  // What is computed once a row may take longer: a reciprocal root in two operations, each rounded right, is half as
  // far off as the device's own.
  void TakeTime() { takes_time_ = true; }
  // What is rounded to 16 bits gains nothing from more than the units for such functions give: exponentials and
  // quotients within 2^-20, 1 + tanh(x) too, 1 + erf(x) within 3e-7. So it is from here on where each of `exprs` is
  // kept as its type, of 16 bits at most, and nothing that jumps or magnifies hangs on such a function: a quotient that
  // is rounded to a whole number, or compared, is exact.
  void BeCoarseWhereRounded(const std::vector<Expr>& exprs, const std::vector<DType>& types);
  // Gives the name of 1 / divisor where somebody has computed that once and for all, or "".
  void Reciprocals(std::function<std::string(const Expr& divisor)> known) { reciprocal_ = std::move(known); }

  // From here on a warp writes one and the same element: the terms of its sums are shared among the threads, `lane`
  // being the thread's number in the warp, and every thread has the totals. What conditions hang on is the same for
  // all.
  void ShareSums(const std::string& lane) { lane_ = lane; }
  // Whether that is worth it: some sum of reals is as long as a warp, and none so long that it goes by parts.
  static bool HasSumsToShare(const Expr& expr);
  void Call(const IndexVar& index, const std::string& name) { indices_[index.id] = name; }
  const std::string& NameOf(int index) const { return indices_.at(index); }
  std::string Text(const Expr& expr);
  // Of one scope: what they have in common is computed once.
  std::vector<std::string> Texts(const std::vector<Expr>& exprs);
  std::string Address(const Expr& expr);  // of a whole number that is a place in a buffer
  // A text of type `type` for memory: conversion of a value to what a buffer holds.
  static std::string Stored(const std::string& value, ScalarType type, DType dtype);

 private:
  void Count(const Expr& expr);
  std::string Compose(const Expr& expr);
  std::string Fold(const ExprNode& fold);
  std::string Branches(const ExprNode& select);
  std::string OnePlus(const ExprNode& sum);
  std::string CoarseQuotient(const ExprNode& quotient);
  static bool IsAboveOne(const Expr& e);
  DeviceWriter& writer_;
  LoadText load_;
  std::function<std::string(const Expr&)> reciprocal_;
  std::map<int, std::string> indices_;
  std::map<const ExprNode*, int> uses_;
  std::vector<std::map<const ExprNode*, std::string>> scopes_;
  std::vector<Expr> kept_;  // so that addresses of nodes stay theirs
  bool in_address_ = false, takes_time_ = false, coarse_ = false;
  std::string lane_;  // empty: a thread has its elements for itself
  int fold_depth_ = 0;
};

// Whether an expression rounds to whole numbers, compares, or is otherwise far off where what it is of is a little.
bool TellsApart(const Expr& expr);
// The text of 1 / divisor, if that is a number of which there is one; else empty.
std::string InverseText(const DeviceWriter& out, const Expr& divisor);

}  // namespace hone::dsl
