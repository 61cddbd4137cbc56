// The loop nest of a kernel: its iteration space with neighbouring dimensions merged wherever every operand allows it,
// and the text of an element's address in it. What is left is what a person would loop over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/cpu/writer.h"
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

  // "x[i * 1024 + j]": operand `operand` where each dimension d stands at `index[d]`, cast to the kernel's type.
  std::string Element(const Writer& writer, int operand, const std::vector<std::string>& index) const;
  std::string TargetElement(const Writer& writer, const std::vector<std::string>& index) const;
  // Asks for the cache lines of `count` elements from `index` on, along the innermost dimension: of the operands that
  // run through memory with the nest (one that stands still in some dimension comes again, and is in a cache by then),
  // into the first-level cache or the second; or of the target, to be written. What lies behind the end of a buffer
  // does no harm.
  void FetchOperands(Writer& writer, const std::vector<std::string>& index, std::int64_t count, int level = 1) const;
  void FetchTarget(Writer& writer, const std::vector<std::string>& index, std::int64_t count) const;
  // Of an operand's elements and the result's, one a dimension; and the place of an element where each dimension d
  // stands at `index[d]`: "i * 1024 + j".
  std::vector<std::int64_t> Strides(int operand) const;
  std::vector<std::int64_t> TargetStrides() const;
  std::string OperandAddress(int operand, const std::vector<std::string>& index) const;
  std::string TargetAddress(const std::vector<std::string>& index) const;
  std::vector<std::string> Vars() const;
  std::int64_t Count(bool reduced) const;

 private:
  std::string Place(const Writer& writer, int operand, const std::vector<std::string>& index) const;

  const KernelProgram* program_;
  const Kernel* kernel_;
};

// Extents from which on dimensions are worth turning.
struct Shortest {
  std::int64_t inner = 1;   // the innermost of the result
  std::int64_t across = 1;  // the one along which an operand lies side by side
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

// "y[...]": an operand's element, cast to the type of the kernel's registers. `index` has a text a stride.
std::string ElementText(const KernelProgram& program, const Kernel& kernel, const Writer& writer, int operand,
                        const std::vector<std::string>& index, const std::vector<std::int64_t>& strides,
                        std::int64_t offset);

// "for (long i = 0; i < 1024; ++i)"
std::string For(const std::string& var, std::int64_t extent);

}  // namespace hone::dsl
