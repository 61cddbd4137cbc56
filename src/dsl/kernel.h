// The typed form of a program, between the language and the back ends: names are resolved to buffers and views, shapes
// and types are known, expressions are Exprs over loop indices. Check makes it; a family's back end reads it. A plain
// value.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "dsl/program.h"
#include "expr/expr.h"
#include "target/device_model.h"

namespace hone {
struct Plan;  // candidate/plan.h
}

namespace hone::dsl {

// Memory that a kernel reads or writes. Inputs, parameters and outputs are the caller's; the rest are intermediates of
// the program.
struct KernelBuffer {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  enum class Home : std::uint8_t { kInput, kParameter, kOutput, kIntermediate } home = Home::kIntermediate;
  int position = 0;    // among those of its home
  bool fixed = false;  // an intermediate that is made once, when the plan is prepared (dsl/once.h)
  // Of an output: the input whose memory it is. Whatever reads that one comes before the kernel that makes this one,
  // or is that kernel: it then reads what it is about to write there, or in the same row, by this buffer.
  int updates = -1;
};

// A buffer seen through strides, already broadcast to the kernel's iteration space (stride 0 where it does not vary).
// In a nest: a buffer or a view of it in its own dimensions.
struct KernelOperand {
  int buffer = -1;
  std::vector<std::int64_t> strides;  // one a dimension of the iteration space; in a nest, of the tensor or view
  std::int64_t offset = 0;
  Shape extents = {};  // in a nest: of the tensor or view; empty elsewhere
};

// One statement. Expressions hold Loads whose `buffer` is an index into `operands` and whose indices are the loop
// indices of the iteration space (exactly `space`, in order). What the family itself and lets make are the values kIt
// and LetValue(i). What a program writes as `it` for a value that is known (the operand of a map or a norm, an earlier
// link of the chain) has been replaced by that value.
//
// In a nest, `epilogue` is the whole element expression over `space`: a Load carries one index expression a dimension
// of its operand (element [i, j] is at offset + i * strides[0] + j * strides[1]), Reduces stand anywhere. What is not
// taken by a Select may lie out of range. Nests with the same attribute `sequence` stand one after another and run in
// lockstep along space[along], backwards if `reversed`: as stages of graph/graph.h. They may read each other's targets,
// so that a target may be among the operands, also of nests that come earlier.
struct KernelLet {
  std::string name;
  ReduceOp fold = ReduceOp::kSum;
  Expr body;    // folded over the axes; sees operands and earlier lets
  Expr finish;  // of the folded value (`it`), earlier lets
};

// What is written beside the target, in the same loops: likewise dense over `result`.
struct KernelAlso {
  int target = -1;  // buffer
  DType target_type = DType::kF32;
  Expr value;           // as an epilogue
  bool of_row = false;  // one for each row that a norm folds, dense: of lets and of what is the same along the axes
};

struct Kernel {
  const struct Family* family = nullptr;
  const struct Way* way = nullptr;  // how it is computed (dsl/way.h); the checker chooses it with the settings
  std::string variant;
  Attributes attributes;
  std::vector<IndexVar> space;             // iteration space: extents and the indices that expressions use
  std::map<int, std::string> index_names;  // that users gave a nest's indices, those of its folds too, by their ids
  std::vector<int> axes;                   // reduced dimensions of `space`, sorted
  std::vector<KernelOperand> operands;
  std::vector<Expr> inputs;  // one a family operand, over `space` (matmul: see families/matmul.cc)
  // Of attention whose rows of q and k are in two parts: elements of the first; 0: they are in one. An input is then
  // one part before that place along the last dimension, and the other from it on.
  std::int64_t first_part = 0;
  std::vector<KernelLet> lets;
  Expr epilogue;                // of `it`, operands and lets, over the result's dimensions; just `it` if there is none.
                                // map and norm: the whole element expression, without `it`
  int target = -1;              // buffer written, dense row-major over `result`
  Shape result;                 // the family's result shape (before a target_shape annotation)
  DType compute = DType::kF32;  // what reals are computed in
  std::vector<DType> operand_types;         // one an operand: what its memory holds
  std::vector<bool> operand_is_parameter;   // one an operand: what is made of it alone is made once
  DType target_type = DType::kF32;          // what the target's memory holds
  std::vector<KernelAlso> also;             // further results
  std::map<std::string, Setting> settings;  // complete: defaults filled in
  // What it is to run on, which legal and sensible settings depend on; shared by all of a program. Never null.
  std::shared_ptr<const DeviceModel> device;
  std::string text;  // the statement, for comments
  Position at;
};

struct KernelProgram {
  std::string name;
  std::shared_ptr<const DeviceModel> device;  // never null
  std::vector<KernelBuffer> buffers;
  std::vector<Kernel> kernels;
};

// The end of the run of kernels that `kernel` begins: of its whole sequence, or kernel + 1.
std::size_t SequenceEnd(const KernelProgram& program, std::size_t kernel);
std::vector<int> AllDims(const Kernel& kernel);  // 0, 1, ... of `space`
// The dimensions of `space` that the result has, in its order: all of them, or those that are not reduced.
std::vector<int> ResultDims(const Kernel& kernel);
// Of the target, along each dimension of `space`; 0 along those that the result has not.
std::vector<std::int64_t> TargetStridesOf(const Kernel& kernel);
// Without kernels that write no element.
KernelProgram WithoutEmpty(KernelProgram program);
// The buffers that it writes, the target first; those of which it writes an element at each place of its result.
std::vector<int> TargetsOf(const Kernel& kernel);
std::vector<int> ElementTargetsOf(const Kernel& kernel);
// The values of those elements, in the same order.
std::vector<Expr> ElementsOf(const Kernel& kernel);
// The operand that an input is, and its element type; the input has to be a load.
const KernelOperand& InputOperand(const Kernel& kernel, std::size_t input);
DType InputType(const Kernel& kernel, std::size_t input);
// The operands that the expressions load, each once, in order.
std::vector<int> OperandsOf(const std::vector<Expr>& exprs);
// The buffers that an expression of the kernel loads, each once, in order.
std::vector<int> BuffersOf(const Kernel& kernel, const Expr& expr);
// What reals are computed in: f64 if the target or an operand is f64, else f32.
DType ComputeType(const KernelProgram& program, const Kernel& kernel);
ScalarType ScalarOf(DType dtype);
// A setting that the checker has found well-formed.
std::int64_t IntSetting(const Kernel& kernel, const std::string& knob);
std::string WordSetting(const Kernel& kernel, const std::string& knob);  // "" if the value is a number
std::vector<std::int64_t> TupleSetting(const Kernel& kernel, const std::string& knob);
std::string ToString(const Setting& setting);

// Resolves names, infers shapes and types, checks settings against the families' knobs. `problem` (may be null) adds
// the check that declarations agree with the problem's tensors by name, shape, type and role. Settings that the program
// leaves open are filled in for the device; without one, for a processor with one thread.
std::variant<KernelProgram, Complaint> Check(const Program& program, const Problem* problem,
                                             const DeviceModel& device = {});
// Likewise of a program that differs from one that was checked in the settings of these statements alone, in order:
// names, shapes and types are as they were. `before`: what Check made of that one, for the device that it is for.
std::variant<KernelProgram, Complaint> CheckSettings(const Program& program, std::span<const std::size_t> changed,
                                                     KernelProgram before);

// The program as a C++ module for the CPU (include/hone/module.h): what a person would write with OpenMP and vector
// types.
std::string EmitCpu(const KernelProgram& program);

// The program as a plan for a CUDA device. It has to be checked for one.
Plan EmitCuda(const KernelProgram& program);

}  // namespace hone::dsl
