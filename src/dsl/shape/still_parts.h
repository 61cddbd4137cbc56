// What stands still while a row is folded: parts of an expression that are the same for all of its elements, and cost
// more than reading them again.
#pragma once

#include <functional>

#include "dsl/kernel.h"

namespace hone::dsl {

// The expression with what `with` gives for each such part, the largest of them.
Expr WithStillParts(const Kernel& kernel, const Expr& expr, const std::function<Expr(const Expr& part)>& with);

}  // namespace hone::dsl
