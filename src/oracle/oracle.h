// The oracle: what the outputs of a problem are, in double precision, and how far from them an honest implementation at
// the contract's precision may be. Compiled once per graph from the operators' element definitions
// (oracle/loop_nest.h).
//
// The budget of an element is measured, not guessed. A first-order error analysis runs beside the values and gives each
// element a scale: the error that rounding every operation once would cause. A sum of products has u * sum |a||b| of
// its own roundings; errors that the terms bring along (operands rounded to tf32, say) add up as independent ones do,
// unless all pull one way (generated_code/numbers.h). An honest implementation (the same definitions in the contract's
// precision, sums in order) runs too, and its largest error on that scale, at least 1, says how such errors really add
// up here; sums of terms of one sign have what adding them in order costs in their scale already, as of a few such sums
// all may be right by chance. The budget is kBudgetFactor times that, times the scale.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "oracle/whole_output.h"

namespace hone {

// A candidate may be this much worse than the honest implementation's worst element. 4: two independent summation
// orders differ by up to twice each one's error, and vector math functions are good to 4 ulp where scalar ones are good
// to 1.
inline constexpr double kBudgetFactor = 4;

// The scale of an element about which the error analysis says nothing, in an output of which that is so of most
// (oracle.cc): `worst` is the honest implementation's largest error there, relative to 1 + |value|, on the inputs and
// on some that differ from them in the last bit. With kBudgetFactor no stricter than KernelBench's tolerance of 1e-4.
double UndecidedScale(double worst, double value);

// Which inputs these are, and what the infinity of one of 16 bits is.
bool HasNeighbours(DType dtype);
std::uint16_t InfinityOf16Bits(DType dtype);

struct Expected {
  std::vector<double> value;   // of one output, row-major; ints and bools as doubles
  std::vector<double> budget;  // absolute, >= 0; infinity where the contract's precision cannot decide the element
                               // (overflow of the honest implementation, a comparison within rounding error); 0 where
                               // that and the value are NaN
  std::vector<double> scale;   // budget / (kBudgetFactor * max(1, honest_ratio))
  double honest_ratio = 0;     // largest honest error / scale
  double open_error = 0;       // largest honest error where the budget is infinite
  double size = 0;             // of the largest finite value
  std::optional<ExpectedWhole> whole;  // where the error analysis says nothing about most of the elements
};

// Not thread-safe: one Run at a time.
class Oracle {
 public:
  static Result<Oracle> Compile(const Graph& graph);
  // inputs: one pointer a tensor of role input or parameter, in the problem's order. One Expected an output.
  Result<std::vector<Expected>> Run(const std::vector<const void*>& inputs, int threads) const;
  Oracle(Oracle&&) noexcept;
  Oracle& operator=(Oracle&&) noexcept;
  ~Oracle();

 private:
  struct State;
  // Gives outputs about which the error analysis says nothing a scale.
  void DecideOutputs(const std::vector<const void*>& inputs, std::vector<Expected>& outputs, int threads) const;
  explicit Oracle(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone
