// The functions that expressions may call: those of expr/expr.h by their names there, and composites that stand for
// several.
#pragma once

#include <span>
#include <string_view>

#include "expr/expr.h"

namespace hone::dsl {

struct Function {
  std::string_view name;
  int arguments = 1;
  std::string_view doc;  // "0.5 * x * (1 + erf(x / sqrt(2)))"
  Expr (*build)(std::span<const Expr> arguments);
  bool whole_only = false;  // wants int or bool arguments
};

std::span<const Function> AllFunctions();
const Function* FindFunction(std::string_view name, std::size_t arguments);
const Function* FindFunction(std::string_view name);

}  // namespace hone::dsl
