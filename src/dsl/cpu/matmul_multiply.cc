// The function that multiplies a block of the result in registers.
#include <fmt/format.h>

#include "dsl/cpu/matmul_panels.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kAhead = 64;      // rows of B's panel between what is multiplied and what is fetched
constexpr std::int64_t kSumDepth = 256;  // products summed in a register before they join the block's sum

}  // namespace

void MatmulPanels::WriteMultiply(std::int64_t depth, const MultiplyText& how) {
  const std::string& real = writer_.real();
  const std::int64_t element = writer_.wide() ? 8 : 4;
  // Vectors as wide as the processor's where the block is a multiple of them, else of 32 bytes.
  std::string vector;
  if (nr_ * element % 64 == 0) {
    writer_.Helper("Vector_" + real);
    vector = writer_.wide() ? "DoubleVector" : "FloatVector";
    if (pairs()) writer_.Helper("Vector_pairs");
  } else {
    vector = writer_.Fresh("Vector_" + writer_.TargetName());
  }
  const std::string unit = pairs() ? "PairVector" : vector;
  writer_.BeginFunction();
  if (nr_ * element % 64 != 0) {
    writer_.Line(
        fmt::format("typedef {} {} __attribute__((vector_size(32), aligned({}), may_alias));", real, vector, element));
  }
  const std::int64_t parts = (depth + kSumDepth - 1) / kSumDepth, part = ((depth + parts - 1) / parts + 3) / 4 * 4;
  writer_.Comment(
      fmt::format("tile = the products of kRows rows of A and {} columns of B over `depth`, summed in "
                  "registers{}.",
                  nr_, parts > 1 ? fmt::format(", {} at a time", part) : ""));
  const std::string a = how.a_packed ? fmt::format("const {}* __restrict a", UnitType())
                                     : fmt::format("const {}* const* __restrict a, long a_step", real);
  // On its own, so that nothing of the loops around it takes one of the registers, which the sums fill.
  writer_.Line("template <int kRows>");
  writer_.Open(fmt::format(
      "[[gnu::noinline]] void Multiply_{}(long depth, {}, const {}* __restrict b, long b_step, {}* __restrict tile)",
      writer_.TargetName(), a, UnitType(), real));
  writer_.Line(
      fmt::format("constexpr int kLanes = sizeof({}) / sizeof({}), kVectors = {} / kLanes;", vector, real, nr_));
  if (parts > 1) {
    writer_.Open(fmt::format("for (long from = 0; {}from < depth; from += {})",
                             how.may_be_nothing ? "from == 0 || " : "", part));
    writer_.Line(fmt::format("const long to = from + {} < depth ? from + {} : depth;", part, part));
  }
  writer_.Line(fmt::format("{} sum[kRows][kVectors] = {{}};", vector));
  writer_.Open(parts > 1 ? "for (long k = from; k < to; ++k)" : "for (long k = 0; k < depth; ++k)");
  writer_.Line(fmt::format("{} row[kVectors];", unit));
  writer_.Line("#pragma GCC unroll 16");
  writer_.Line(fmt::format(
      "for (int v = 0; v < kVectors; ++v) row[v] = *reinterpret_cast<const {}*>(b + k * b_step + v * kLanes);", unit));
  if (how.b_packed) {
    writer_.Line("#pragma GCC unroll 16");
    writer_.Line(fmt::format(
        "for (int v = 0; v < kVectors; ++v) __builtin_prefetch(b + (k + {}) * b_step + v * kLanes);", kAhead));
  }
  writer_.Line("#pragma GCC unroll 32");
  writer_.Open("for (int r = 0; r < kRows; ++r)");
  if (pairs()) writer_.Line(fmt::format("const PairVector pair = a[k * {} + r] - PairVector{{}};", mr_));
  writer_.Line("#pragma GCC unroll 16");
  writer_.Line("for (int v = 0; v < kVectors; ++v) " +
               (pairs() ? std::string("AddPairs(sum[r][v], row[v], pair);")
                        : fmt::format("sum[r][v] += {} * row[v];",
                                      how.a_packed ? fmt::format("a[k * {} + r]", mr_) : "a[r][k * a_step]")));
  writer_.Close();
  writer_.Close();
  writer_.Line("#pragma GCC unroll 32");
  writer_.Open("for (int r = 0; r < kRows; ++r)");
  writer_.Line("#pragma GCC unroll 16");
  writer_.Open("for (int v = 0; v < kVectors; ++v)");
  writer_.Line(fmt::format("auto* at = reinterpret_cast<{}*>(tile + r * {} + v * kLanes);", vector, nr_));
  writer_.Line(parts > 1 ? "*at = from == 0 ? sum[r][v] : *at + sum[r][v];" : "*at = sum[r][v];");
  writer_.Close();
  writer_.Close();
  if (parts > 1) writer_.Close();
  writer_.Close();
  writer_.EndFunction();
}

}  // namespace hone::dsl
