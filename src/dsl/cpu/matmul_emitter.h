// What all ways to multiply matrices on the CPU have in common: their threads, elements of the operands and of the
// result, and the loops over batches. Each way's text is written by a class of its own over this one.
#pragma once

#include <string>
#include <vector>

#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {

inline constexpr std::int64_t kFewRows = 8;  // up to here reading the other operand once is all that matters

std::vector<Setting> MatmulThreads(const Kernel& kernel);
inline constexpr Knob kMatmulThreadsKnob{"threads", kThreadsKnob.doc, MatmulThreads, CheckThreads};

class MatmulEmitter {
 public:
  MatmulEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : program_(program), kernel_(kernel), writer_(writer), shape_(kernel) {}

 protected:
  // "y[i * 64 + j]": an operand's element, cast to the type of the kernel's registers. `index` as MatmulShape::Index
  // has it.
  std::string Element(int operand, const std::vector<std::string>& index) const;
  // An expression of elements there; `it` is the product. May write lines.
  std::string Text(const Expr& expr, const std::vector<std::string>& index, const std::string& it = "");
  // Where the result's element is stored.
  std::string Target(const std::string& i, const std::string& j) const;
  // The loops over batches around all else, and which matrix a batch has where it chooses one.
  void OpenBatches();
  void CloseBatches();
  // How many loops threads share: those over batches and so many more, which have to stand next to them.
  int SharedLoops(int more) const { return BatchLoops() + (shape_.chooses ? 0 : more); }

  const KernelProgram& program_;
  const Kernel& kernel_;
  Writer& writer_;
  MatmulShape shape_;

 private:
  bool IsChosen(const LoopDim& batch) const { return shape_.chooses && batch.reduced; }
  int BatchLoops() const;
};

}  // namespace hone::dsl
