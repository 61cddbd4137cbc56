// C++ text in the making: lines with indentation, names that do not clash, and a record of what the text leans on
// (helper functions, libm functions, scratch memory), from which the module's head is written. One Writer a module; not
// thread-safe.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/kernel.h"

namespace hone::dsl {

class Writer {
 public:
  explicit Writer(const KernelProgram& program);

  void Line(std::string_view line);        // indented
  void Open(std::string_view head);        // "head {"
  void Close(std::string_view tail = "");  // "}tail"
  void Indent() { ++depth_; }              // after a Close whose tail opens again: "} else {"
  void Comment(std::string_view text);     // wrapped
  void Blank();
  std::string Take();  // the text so far; starts anew
  // What is written between these two is a function of its own, in front of the kernel's.
  void BeginFunction();
  void EndFunction();
  std::string TakeFunctions();

  // Begins a kernel: which reals it computes in, how many threads it may have.
  void Begin(const Kernel& kernel);
  const Kernel& kernel() const { return *kernel_; }
  const KernelProgram& program() const { return program_; }
  const std::string& real() const { return real_; }  // "float" or "double"
  bool wide() const { return real_ == "double"; }
  std::string TypeName(ScalarType type) const;  // of a value in a register
  std::string Number(double value) const;       // a literal of real()
  const std::string& BufferName(int buffer) const;
  const std::string& TargetName() const { return BufferName(kernel_->target); }

  // A name of our own in the current kernel: `hint`, or hint_2 ... if taken.
  std::string Fresh(const std::string& hint);

  // "#pragma omp parallel for ..." unless the kernel runs on one thread.
  void ParallelFor(int collapse, std::string_view schedule = "static");
  bool parallel() const { return parallel_; }
  std::string ThreadsText() const;  // an int expression: how many threads this kernel may use

  // What the text leans on.
  std::string Helper(std::string_view name);  // "Max": emits its definition at the head; gives the name back
  // "exp" -> "Exp" of dsl/cpu/math.h, where there is one for the kernel's type, else libm's "exp", declared with its
  // vector versions.
  std::string Libm(const std::string& function);
  std::string MapMax(bool max);  // the OpenMP reduction of max or min that keeps NaNs
  // Memory of `count` elements of `type` that lives from hone_prepare to hone_release and is passed to this kernel by
  // name.
  std::string Scratch(const std::string& hint, const std::string& type, std::int64_t count);
  // A call to make in hone_prepare, on parameter buffers and scratch memory of this kernel.
  struct Preparation {
    std::string function;
    std::vector<int> buffers;
    std::vector<std::string> scratch;
  };
  void Prepare(Preparation preparation) { preparations_.push_back(std::move(preparation)); }

  struct ScratchMemory {
    std::string name, type;
    std::int64_t count = 0;
    const Kernel* kernel = nullptr;
  };
  const std::vector<ScratchMemory>& scratch() const { return scratch_; }
  const std::vector<Preparation>& preparations() const { return preparations_; }
  std::string Head() const;  // declarations and helpers that the text so far needs

 private:
  const KernelProgram& program_;
  const Kernel* kernel_ = nullptr;
  std::vector<std::string> names_;  // of buffers
  std::string real_ = "float";
  bool parallel_ = false;
  std::string text_, outer_text_, functions_;
  int depth_ = 0, outer_depth_ = 0;
  std::set<std::string> taken_;  // names of the current kernel
  std::set<std::string> helpers_;
  std::set<std::string> libm_;
  std::vector<ScratchMemory> scratch_;
  std::vector<Preparation> preparations_;
};

}  // namespace hone::dsl
