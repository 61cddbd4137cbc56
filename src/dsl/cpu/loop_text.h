// Elements that stand in a kernel's loops (shape/loops.h), as C++ for the CPU.
#pragma once

#include <string>
#include <vector>

#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"
#include "dsl/shape/loops.h"

namespace hone::dsl {

class LoopText : public Loops {
 public:
  using Loops::Loops;

  // "x[i * 1024 + j]": operand `operand` where each dimension d stands at `index[d]`, cast to the kernel's type.
  std::string Element(const Writer& writer, int operand, const std::vector<std::string>& index) const;
  std::string TargetElement(const Writer& writer, const std::vector<std::string>& index) const;
  std::string MadeElement(const Writer& writer, int target, const std::vector<std::string>& index) const;
  // Asks for the cache lines of `count` elements from `index` on, along the innermost dimension: of the operands that
  // run through memory with the nest (one that stands still in some dimension comes again, and is in a cache by then),
  // into the first-level cache or the second; or of what is made, to be written. What lies behind the end of a buffer
  // does no harm.
  void FetchOperands(Writer& writer, const std::vector<std::string>& index, std::int64_t count, int level = 1) const;
  void FetchTarget(Writer& writer, const std::vector<std::string>& index, std::int64_t count) const;

 private:
  std::string Place(const Writer& writer, int operand, const std::vector<std::string>& index) const;
};

// "y[...]": an operand's element, cast to the type of the kernel's registers. `index` has a text a stride.
std::string ElementText(const KernelProgram& program, const Kernel& kernel, const Writer& writer, int operand,
                        const std::vector<std::string>& index, const std::vector<std::int64_t>& strides,
                        std::int64_t offset);

// "for (long i = 0; i < 1024; ++i)"
std::string For(const std::string& var, std::int64_t extent);

}  // namespace hone::dsl
