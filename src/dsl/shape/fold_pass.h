// What a kernel folds, in passes over its elements, whatever it runs on: families make these, back ends write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsl/kernel.h"

namespace hone::dsl {

struct FoldPass {
  struct Item {
    int let = 0;  // its value is LetValue(let) from then on
    ReduceOp fold = ReduceOp::kSum;
    Expr body;
    Expr finish;       // of `it`, the folded value
    std::string name;  // a hint for the variable
    bool nans = true;  // of a maximum: whether a NaN is one; not, where it comes into the result in another way
  };
  std::vector<Item> items;
  Expr keep;  // written to the target at each element, if set: from then on the value kKept
  // Softmax's maximum (item 0, let 0) and sum of exp(body - maximum) (item 1, let 1) in one pass over memory, by
  // blocks. `keep` are then the same exps; the result sees let 1 times the factor that its block still lacks.
  bool online = false;
  // Item 1 is the sum of the squared distances from item 0's mean. Found out by EmitFolds.
  bool moments = false;
};

// The fold that a variant of reduce or scan names: "prod", "max", "min"; else it is a sum.
ReduceOp FoldOfVariant(std::string_view variant);

// Whether the innermost loop of the kernel's nest, as Loops merges it, is one that is folded.
bool FoldsRows(const Kernel& kernel);

// Whether the folded dimensions are one in memory.
bool FoldsOneRange(const Kernel& kernel);

// The folds of the kernel's lets, each in the first pass in which what it needs is known.
std::vector<FoldPass> LetPasses(const Kernel& kernel);

// Whether `squares` sums the squared distances from what `sum` finishes as the mean of `count` elements:
// sum((x - m) * (x - m)) with m = sum(x) / count.
bool IsVariance(const FoldPass::Item& squares, const FoldPass::Item& sum, std::int64_t count);

}  // namespace hone::dsl
