// Sums of few rows times columns that memory holds as whole numbers of 8 or of 4 bits, or as reals of 8 bits, as
// quantized layers have their weights: what such a fold of a nest reads where, and how an element becomes a real of 16
// bits. Numbers lie along what is summed, or across it: columns side by side. Numbers of 4 bits are two in a byte, or
// eight in a word of 32 bits: neighbours along what is summed (GPTQ) or eight columns (AWQ). Those of bytes may be
// places in a table of 16 reals (NF4, FP4).
//
//   nest [m < 16, n < 4096] (sum [g < 32, k < 64, h < 2] (x[m, g * 128 + k * 2 + h] *
//       (real(select(h == 1, floordiv(w[n, g * 64 + k], 16), and(w[n, g * 64 + k], 15))) - 8) * s[n, g]))
//   nest [m < 16, n < 512, c < 8] (sum [g < 32, k < 128] (x[m, g * 128 + k] * (real(and(floordiv(w[g * 128 + k, n],
//       2 ** (4 * c)), 15) - and(floordiv(z[g, n], 2 ** (4 * c)), 15)) * s[g, n * 8 + c])))
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

// Where an element of an operand lies: offset + (row / of_rows) * of_row + (k / of_k) * step, where row is m of x and n
// of others.
struct PlaceAlongK {
  int operand = -1;
  std::int64_t offset = 0, of_row = 0, of_rows = 1, step = 0, of_k = 1;
};

// Numbers of 4 bits, eight in a word of 32: for each of eight neighbours, the how manyth four bits of it are the
// neighbour's.
using NibblesOfWord = std::array<int, 8>;
inline constexpr NibblesOfWord kNibblesInOrder = {0, 1, 2, 3, 4, 5, 6, 7};

struct StoredWeights {
  FlatElement element;  // of the result, the sum in it as kIt
  std::optional<IndexVar> m;
  std::vector<IndexVar> n;  // the result's columns, as so many indices
  std::int64_t columns = 1, k = 1;
  PlaceAlongK x, bytes;
  int bits = 8;
  bool across = false;  // columns are neighbours; a step of K is bytes.step
  // Where bytes.operand is words of 32 bits, which have eight neighbours along K (bytes.of_k is 8), in order, or eight
  // columns (bytes.of_rows is 8).
  std::optional<NibblesOfWord> of_words;
  bool is_real = false;  // the numbers are f8e4m3 or f8e5m2, of which the next three say nothing
  // Of the first and the second element of a byte (of a whole byte: of it): whether its highest bit is a sign, and what
  // is added to it.
  std::array<bool, 2> is_signed = {};
  std::array<int, 2> more = {};
  bool high_first = false;  // of two elements of a byte
  // Where numbers of 4 bits are places in a table of 16, side by side: which operand. It is of as many bits as x has or
  // of f32, and so is the result then.
  std::optional<int> table;
  // Zeros that are eight in a word as well, each for its column, are taken away from the numbers first: from the
  // numbers without what is to be added, each `more` higher than its bits say.
  struct Zeros {
    PlaceAlongK words;
    NibblesOfWord of_words;
    int more = 0;
  };
  std::optional<Zeros> zeros;
  // From the number, as a real, to what x is multiplied with, in this order. The other side of each is a number
  // or is loaded; `reversed`: that comes first. From the first on that is of f32, the result is, too, until all is
  // done.
  struct Step {
    BinaryOp op = BinaryOp::kMul;
    bool reversed = false;
    std::variant<double, PlaceAlongK> other;
    std::optional<int> power =
        {};  // of a byte that is loaded: the other side is 2 to the power of that and this, an f32
  };
  std::vector<Step> steps;
};

// What the kernel, a nest, is, or why it is none such.
std::variant<StoredWeights, std::string> StoredWeightsOf(const Kernel& kernel);

}  // namespace hone::dsl
