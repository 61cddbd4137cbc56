// The loop nest of a kernel: its iteration space with neighbouring dimensions merged wherever every operand allows it,
// and the text of an element's address in it, which all back ends write alike. What is left is what a person would loop
// over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/kernel.h"

namespace hone::dsl {

struct LoopDim {
  std::int64_t extent = 1;
  bool reduced = false;
  std::vector<std::int64_t> strides;  // one an operand
  std::int64_t target_stride = 0;
  std::string var;  // "i"
};

class Loops {
 public:
  // Merged dimensions, outermost first; at least one. Dimensions of extent 1 are gone.
  explicit Loops(const KernelProgram& program, const Kernel& kernel);

  std::vector<LoopDim> dims;

  // Of an operand's elements and the result's, one a dimension; and the place of an element where each dimension d
  // stands at `index[d]`: "i * 1024 + j".
  std::vector<std::int64_t> Strides(int operand) const;
  std::vector<std::int64_t> TargetStrides() const;
  std::string OperandAddress(int operand, const std::vector<std::string>& index) const;
  std::string TargetAddress(const std::vector<std::string>& index) const;
  std::vector<std::string> Vars() const;
  std::int64_t Count(bool reduced) const;

 protected:
  const KernelProgram* program_;
  const Kernel* kernel_;
};

// Extents from which on dimensions are worth turning.
struct Shortest {
  std::int64_t inner = 1;   // the innermost of the result
  std::int64_t across = 1;  // the one along which an operand lies side by side
  std::int64_t apart = 1;   // elements that lie no further apart count as side by side: 2, the parts of complex numbers
};
// The dimension along which an operand with these strides lies side by side, if that is not the innermost one.
std::optional<std::size_t> AcrossDim(const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& extents,
                                     const Shortest& shortest);
// Whether some operand of the kernel has such a dimension.
bool ReadsAcross(const Kernel& kernel, const Shortest& shortest);

// "i * 1024 + j", "0" if nothing is left.
std::string Address(const std::vector<std::string>& index, const std::vector<std::int64_t>& strides,
                    std::int64_t offset);

// The same of a dense tensor over the first dimensions of the kernel's space, as many as `index` has.
std::string DenseAddress(const Kernel& kernel, const std::vector<std::string>& index);

}  // namespace hone::dsl
