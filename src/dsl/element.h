// The element expressions of nests, made ready to be written: loads become flat addresses, indices that do nothing go,
// neighbouring indices that every address runs through as one are merged. And what can be said of indices and addresses
// without running anything.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dsl/kernel.h"
#include "expr/affine.h"

namespace hone::dsl {

// Where a whole number certainly lies, if that is known. For what is written into a kernel: whole numbers that cannot
// overflow, both ends or nothing. IndexRange of expr/linear_index.h is for algebra, where one end alone may be known;
// it takes no conditions apart, and what the analysis says of a graph follows from that. Were they one, kernels would
// read past a tensor where a bound is a rounded double, or the analysis would say other things than it does.
std::optional<WholeRange> RangeOf(const Expr& whole);

// The ids of indices that the expression uses and does not fold over itself.
std::set<int> FreeIndices(const Expr& expr);

// What the step of an address is along an index; nothing if it is not constant.
std::optional<std::int64_t> StrideAlong(const Expr& address, int index);

// A fold as it stands in an expression: under which condition it is wanted (none: always).
struct GuardedFold {
  Expr fold, guard;
};
// The folds of an expression that are not inside of another one, in the order in which they are needed.
std::vector<GuardedFold> OuterFolds(const Expr& expr, const Expr& guard);
// Both conditions, the second only where the first holds; one may be missing.
Expr BothHold(const Expr& first, const Expr& second);

// An element expression over `indices`, one a dimension of the result, outermost first.
struct FlatElement {
  Expr value;
  std::vector<IndexVar> indices;  // what is left to loop over, outermost first; a merged one has the inner one's id
};

// Makes each Load one flat address of its operand and says whether it may miss that, drops indices of extent 1, merges
// what runs through as one. `fixed` are indices that are no loops of this element: they are left alone.
FlatElement MakeFlat(const Kernel& kernel, const std::set<int>& fixed);

// How many points a space of these indices has.
std::int64_t PointsOf(const std::vector<IndexVar>& indices);

// An element with one fold, which stands in it as kIt; nothing where there is another number of them, or of a sequence.
struct FoldedElement {
  FlatElement element;
  Expr fold;
};
std::optional<FoldedElement> OneFold(const Kernel& kernel);

// Operations of one evaluation, folds in full.
double FoldedOperations(const Expr& expr);

}  // namespace hone::dsl
