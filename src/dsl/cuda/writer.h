// A plan in the making: CUDA C++ text with indentation, names that do not clash, and the buffers and launches that go
// with it. One DeviceWriter a program; a family's back end writes kernels with it:
//
//   out.BeginKernel("rows", 256);                         // text of the body goes to Line, Open, Close
//   out.Launch({.grid = rows, .reads = {0}, .writes = {1}});
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candidate/plan.h"
#include "dsl/cuda/beside.h"
#include "dsl/kernel.h"

namespace hone::dsl {

class DeviceWriter {
 public:
  explicit DeviceWriter(const KernelProgram& program);

  // --- Text.
  void Line(std::string_view line);  // indented
  void Open(std::string_view head);  // "head {"
  void Close();
  void CloseWith(std::string_view tail);  // "}tail"
  // "#pragma unroll" in front of what is opened next.
  void Unroll() { Line("#pragma unroll"); }
  std::string Fresh(const std::string& hint);  // a name of our own in this kernel: `hint`, or hint_2 ... if taken
  const std::string& BufferName(int buffer) const { return names_[static_cast<std::size_t>(buffer)]; }
  const std::string& TargetName() const { return BufferName(kernel_->target); }
  // A function of the head, by its name; emits its definition and those it needs. Gives the name back.
  std::string Helper(std::string_view name);
  // Whole definitions of a family's own, once a text.
  void Define(const std::string& text);

  // --- Types.
  void Begin(const Kernel& kernel);  // begins a statement: which reals it computes in
  const KernelProgram& program() const { return program_; }
  const Kernel& kernel() const { return *kernel_; }
  bool wide() const { return wide_; }
  std::string Type(ScalarType type) const;  // of a value in a register: "float", "long", "bool"
  std::string Number(double value) const;
  // How two values are folded, as a type of the head, and what changes nothing; of "argmax" and "argmin" for a Place.
  std::string How(ReduceOp op);
  std::string Neutral(ReduceOp op, ScalarType type) const;
  // The type of indices: "int" where every buffer of the program can be counted in it.
  const std::string& index_type() const { return index_type_; }

  // --- Memory and launches.
  // Memory of the plan's own; the name to read and write it by.
  std::string Scratch(const std::string& hint, DType dtype, std::int64_t count);
  // What follows is the body of a kernel named after the statement's target and `hint`.
  void BeginKernel(const std::string& hint, std::int64_t threads, int blocks_a_processor = 0);
  // First in a kernel's body: each thread's number among `count`, those beyond it return. Gives its name.
  std::string OpenThreads(const std::string& hint, std::int64_t count);
  // The kernel waits here until what was launched before it is done, where the device begins kernels early; without it
  // that is first of all. Before it, on every path of every thread, nothing is read or written but shared memory.
  void Await();
  struct LaunchShape {
    std::int64_t grid_x = 1, grid_y = 1, grid_z = 1, cluster_x = 1;
    std::vector<int> reads, writes;                               // buffers of the program
    std::vector<std::string> scratch_reads, scratch_writes;       // by the names that Scratch gave
    std::int64_t shared_bytes = 0;                                // dynamic
    std::int64_t together = 1;                                    // blocks that wait for each other
    bool prepare = false;                                         // on parameters, once
    std::vector<std::pair<std::string, TensorMapArgument>> maps;  // the first parameters, by name
    bool writes_maps = false;  // the last of them is of what the kernel writes, the target
    bool aside = false;        // it may be one launch with others (dsl/cuda/beside.h): it has one grid dimension
    std::int64_t static_shared_bytes = 0;  // of the kernel, where it is aside
  };
  // Ends the kernel and has it launched. One that differs from an earlier kernel of the program by its names alone is
  // that kernel: the layers of a deep network are compiled once.
  void Launch(const LaunchShape& shape);

  // A library's call, after the launches so far.
  void Call(PlanStep step, bool prepare = false);
  // Memory of so many bytes that calls of libraries share one after the other; its name.
  std::string Workspace(std::int64_t bytes);

  Plan Finish();  // the plan; the writer is spent

 private:
  bool IsOnce() const;  // the statement under way

  const KernelProgram& program_;
  const Kernel* kernel_ = nullptr;
  std::vector<std::string> names_;  // of buffers
  std::string index_type_ = "int";
  bool wide_ = false;
  std::string text_, kernel_name_, comment_;
  std::vector<KernelText> kernels_;
  std::int64_t threads_ = 0;
  int blocks_a_processor_ = 0;
  int depth_ = 0;
  bool awaits_ = false;  // the kernel under way says where
  // The kernel under way as another that differs by its names alone has it: its parameters and the names that Fresh
  // gave are numbers. `definition` begins with the parameters.
  std::string WithoutNames(const std::string& definition, std::vector<std::string> names) const;

  std::set<std::string> taken_, helpers_, functions_, kernel_names_;
  std::vector<std::string> fresh_;                // in this kernel
  std::map<std::string, std::string> same_text_;  // what WithoutNames made of a kernel, its name
  std::vector<std::string> head_;                 // helpers' definitions, in order
  std::map<std::string, DType> scratch_;
  std::string workspace_;  // its name; empty: none so far
  Plan plan_;
  std::vector<StepUse> uses_;  // of plan_.steps
};

// Buffers that the kernels read, without repeats.
std::vector<int> OperandBuffers(std::span<const Kernel> kernels);
// The element of a buffer as a value in a register.
std::string LoadedText(const DeviceWriter& writer, int buffer, const std::string& element);
std::string DeviceType(DType dtype);  // of one element in memory
// "Pack<float, 4>", with its definition; and such a pack in memory, as a value.
std::string PackType(DeviceWriter& writer, const std::string& element, std::int64_t count);
std::string PackText(const std::string& pack_type, const std::string& memory, const std::string& address);

}  // namespace hone::dsl
