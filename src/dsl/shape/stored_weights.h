// Sums of few rows times columns that memory holds as whole numbers of 8 or of 4 bits, two a byte, or as reals of 8
// bits, as quantized layers have their weights: what such a fold of a nest reads where, and how an element becomes a
// real of 16 bits. Numbers lie along what is summed, or, of 8 bits, across it: columns side by side.
//
//   nest [m < 16, n < 4096] (sum [g < 32, k < 64, h < 2] (x[m, g * 128 + k * 2 + h] *
//       (real(select(h == 1, floordiv(w[n, g * 64 + k], 16), and(w[n, g * 64 + k], 15))) - 8) * s[n, g]))
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dsl/element.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Where an element of an operand lies: offset + of_row * row + (k / of_k) * step, where row is m of x and n of others.
struct PlaceAlongK {
  int operand = -1;
  std::int64_t offset = 0, of_row = 0, step = 0, of_k = 1;
};

struct StoredWeights {
  FlatElement element;  // of the result, the sum in it as kIt
  std::optional<IndexVar> m;
  IndexVar n;
  std::int64_t k = 1;
  PlaceAlongK x, bytes;
  int bits = 8;
  bool across = false;   // columns are neighbours; a step of K is bytes.step
  bool is_real = false;  // the numbers are f8e4m3 or f8e5m2, of which the next three say nothing
  // Of the first and the second element of a byte (of a whole byte: of it): whether its highest bit is a sign, and what
  // is added to it.
  std::array<bool, 2> is_signed = {};
  std::array<int, 2> more = {};
  bool high_first = false;  // of two elements of a byte
  // From the number, as a real, to what x is multiplied with, in this order. The other side of each is a number
  // or is loaded; `reversed`: that comes first.
  struct Step {
    BinaryOp op = BinaryOp::kMul;
    bool reversed = false;
    std::variant<double, PlaceAlongK> other;
  };
  std::vector<Step> steps;
};

// What the kernel, a nest, is, or why it is none such.
std::variant<StoredWeights, std::string> StoredWeightsOf(const Kernel& kernel);

}  // namespace hone::dsl
