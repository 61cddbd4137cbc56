// Functions of a real that the CPU back end writes into a module itself, in single precision: without branches, so that
// the loop around them becomes vectors with the function's body inside, where libm's vector versions are calls. They
// hold for every float: infinities, NaN, overflow; results below the smallest normal number are exact or zero.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace hone::dsl {

struct MathFunction {
  std::string_view libm;                  // "exp": what libm calls it; "" for a part of others
  std::string_view name;                  // "Exp"
  std::array<std::string_view, 3> needs;  // names of others that have to stand before it, or ""
  std::string_view text;                  // its definition, with the error that it has
  double ulp = 0;                         // largest error, in units in the last place of the result
};

// In the order in which they may be written.
std::span<const MathFunction> MathFunctions();
// By libm's name; null if libm's own is as good.
const MathFunction* FindMathFunction(std::string_view libm);
// By its own name; null if there is none.
const MathFunction* FindOwnFunction(std::string_view name);

}  // namespace hone::dsl
