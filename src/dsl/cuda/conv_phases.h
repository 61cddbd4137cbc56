// A transposed convolution whose stride is not 1, or that has groups, as convolutions without gaps. Outputs at stride *
// m
// + phase see the same places of the window, other ones in each phase. Each phase of z and y is a product of its own;
// those of x are outputs of one product, (o, phase), and of the inputs that any of them sees those that it does not see
// meet weights of zero. Neighbours along x are then made by one block, so that lines of the result are whole when they
// leave the cache.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsl/cuda/matmul_text.h"
#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"
#include "dsl/shape/convolution.h"

namespace hone::dsl {

// Whether it is made so.
bool LeavesApart(const Kernel& conv);
// Products that a convolution is made of.
std::int64_t ConvProductsOf(const Kernel& conv);
// Why no such convolution can be, or nothing.
std::optional<std::string> WhyNotApart(const Kernel& conv);

// Along one dimension: the inputs that any phase sees, from the lowest one on, counted from where the output's place
// divided by the stride is.
struct SeenInputs {
  std::int64_t low = 0, count = 1;
};

// All phases of a transposed one at once, as a convolution that is not: its outputs are those of every phase of z, y
// and x, and of the inputs that any of them sees those that it does not see meet weights of zero. Another is itself.
Convolution TogetherOf(const Kernel& conv);

class ConvPhase {
 public:
  ConvPhase(const Kernel& conv, std::int64_t number);  // below ConvProductsOf

  // The phase as a convolution that is not transposed: its outputs are (o, phase of x), along x rounded up.
  Convolution Shape() const;
  std::int64_t OutputsOfOne() const { return Phases(2); }  // phases of x

  // The weights of all phases, [phase of z, phase of y, group, o, phase of x], channels of a group, inputs that any
  // phase sees along each of the last `spatial` dimensions.
  hone::Shape Weights(std::size_t spatial) const;
  // Where in w, [o, places.., channel], the weight (row, inputs.., channel) is. `within` is told what has to hold;
  // elsewhere it is zero.
  void FindWeight(std::vector<Expr>& at, const std::function<void(Expr)>& within) const;
  // The row of this phase's first output; and the place among the inputs that are seen of the place `place` of Shape().
  std::int64_t FirstWeight() const;
  std::string WeightPlace() const;

  // Lines that find the place of column `n` of the product; which output its row `m` is of; and, behind those lines,
  // what has to hold for the target to have the element ("": nothing), and where it is.
  void OpenColumn(DeviceWriter& out, const MatmulText& text, const std::vector<std::string>& batches) const;
  // So many rows below one another, the first at a multiple of that, are side by side in the target.
  std::int64_t SideBySide() const;
  std::string OutputOf(const std::string& m) const;
  std::string IsThere(const std::string& m) const;
  // Of the operand `operand` of the convolution's chain: whether it is another number for each pixel; whether those
  // beside a position's elements are read as one; and, behind those lines, where the one beside row `m` is. The
  // strides of `reads` are the product's.
  bool ReadsPixels(int operand) const;
  bool LiesSideBySide(const KernelOperand& reads, int operand) const;
  std::string Place(const KernelOperand& reads, int operand, const std::vector<std::string>& batches,
                    const std::string& m) const;
  std::string Target(const DeviceWriter& out, const std::vector<std::string>& batches, const std::string& m) const;

 private:
  std::int64_t Phases(std::size_t d) const { return static_cast<std::int64_t>(whole_.phases[d].size()); }
  const Phase& phase(std::size_t d) const { return whole_.phases[d][d == 2 ? 0 : own_[d]]; }
  std::int64_t FirstSeen(std::size_t d) const;

  Convolution whole_;
  std::size_t own_[2] = {0, 0};  // this phase along z and y
  std::int64_t number_;
  SeenInputs seen_[3];
};

}  // namespace hone::dsl
