// The typed form of a program, between the language and the back ends: names are resolved to buffers and views, shapes and types are
// known, expressions are Exprs over loop indices. Check makes it; a family's back end reads it. A plain value.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "dsl/program.h"
#include "graph/expr.h"

namespace hone::dsl {

// Memory that a kernel reads or writes. Inputs, parameters and outputs are the caller's; the rest are intermediates of the program.
struct KernelBuffer {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  enum class Home : std::uint8_t { kInput, kParameter, kOutput, kIntermediate } home = Home::kIntermediate;
  int position = 0;  // among those of its home
};

// A buffer seen through strides, already broadcast to the kernel's iteration space (stride 0 where it does not vary).
struct KernelOperand {
  int buffer = -1;
  std::vector<std::int64_t> strides;  // one a dimension of the iteration space
  std::int64_t offset = 0;
};

// One statement. Expressions hold Loads whose `buffer` is an index into `operands` and whose indices are the loop indices of the
// iteration space (exactly `space`, in order), and kIndex nodes of `lets_vars`-free kind for nothing else. Values of lets and of the
// family itself (`it`) appear as Loads of the pseudo-operands kItOperand and kLetOperand - i, with no indices.
inline constexpr int kItOperand = -1;
inline constexpr int kLetOperand = -2;  // let i is kLetOperand - i

struct KernelLet {
  std::string name;
  ReduceOp fold = ReduceOp::kSum;
  Expr body;    // folded over the axes; sees operands and earlier lets
  Expr finish;  // of the folded value (`it`), earlier lets
};

struct Kernel {
  const struct Family* family = nullptr;
  std::string variant;
  std::vector<IndexVar> space;          // iteration space: extents and the indices that expressions use
  std::vector<int> axes;                // reduced dimensions of `space`, sorted
  std::vector<KernelOperand> operands;
  std::vector<Expr> inputs;             // one a family operand, over `space` (matmul: see families/matmul.cc)
  std::vector<KernelLet> lets;
  Expr epilogue;                        // of `it`, operands and lets, over the result's dimensions; just `it` if there is none
  int target = -1;                      // buffer written, dense row-major over `result`
  Shape result;                         // the family's result shape (before a target_shape annotation)
  std::map<std::string, Setting> settings;  // complete: defaults filled in
  Position at;
};

struct KernelProgram {
  std::string name;
  std::vector<KernelBuffer> buffers;
  std::vector<Kernel> kernels;
};

// Resolves names, infers shapes and types, checks settings against the families' knobs. `problem` (may be null) adds the check that
// declarations agree with the problem's tensors by name, shape, type and role.
std::variant<KernelProgram, Complaint> Check(const Program& program, const Problem* problem);

// The program as a C++ module for the CPU (include/hone/module.h): what a person would write with OpenMP and vector types.
std::string EmitCpu(const KernelProgram& program);

}  // namespace hone::dsl
