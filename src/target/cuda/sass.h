// The machine code of a CUDA kernel, one instruction at a time, as far as one may conclude something from it: which
// unit it is for, how much memory it moves, where it branches to, what it waits for. NVIDIA does not document the
// encoding; what stands here was found by comparing compiled probes with `ptxas -v`, for sm_80 to sm_120, CUDA 13.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hone::cuda {

// What carries an instruction out, or what kind it is.
enum class Unit : std::uint8_t {
  kGlobalLoad,
  kGlobalStore,
  kLocal,   // a thread's own memory: spills, and arrays whose index is not known
  kShared,  // shared memory
  kBulk,    // copies into or out of shared memory that run on by themselves
  kAtomic,
  kSingleAdd,    // FADD, FMUL: one operation where a fused one would be two
  kSingleFused,  // FFMA
  kSingleOther,
  kDouble,
  kHalf,
  kTensor,   // mma.sync
  kTensors,  // wgmma
  kInteger,
  kConvert,  // by the slow unit
  kSpecial,  // MUFU: reciprocals, roots, exponentials ...
  kMove,
  kShuffle,
  kBarrier,
  kBranch,
  kOther,
};

struct Instruction {
  std::string_view name;   // "LDG"; "other" where we have none. Lives as long as the program, as `width` does
  std::string_view width;  // of a memory access: ".128"
  Unit unit = Unit::kOther;
  std::uint8_t bytes = 0;      // that a thread loads or stores; 0 for other instructions
  bool predicated = false;     // only some threads may do it
  bool spill = false;          // of a register; the cubin says which
  std::int8_t announces = -1;  // the scoreboard, 0 to 5, that it releases when its result is there; -1: none
  std::uint8_t waits = 0;      // the scoreboards that it waits for, as bits
  std::int32_t target = -1;    // of a branch within the kernel: an index
};

// The text of one kernel, for the architecture's number (90 for sm_90a); NOPs included.
std::vector<Instruction> Decode(std::string_view text, int architecture);

// Whether every thread, before it reads or writes memory that others have, or ends, waits until what was launched
// before is done (griddepcontrol.wait): such a kernel may begin while the one before it ends. Prefetches may come
// before. What we have no name for is taken to read or write.
bool WaitsFirst(std::span<const Instruction> code);

// A stretch of code that ends in a branch to its beginning. What a compiler puts behind a kernel's end and jumps back
// from is none.
struct Loop {
  std::size_t begin = 0, end = 0;  // instructions, end excluded
  int depth = 1;                   // how many loops it is in, itself among them
  bool innermost = true;
};
std::vector<Loop> LoopsOf(std::span<const Instruction> code);  // by their beginning

}  // namespace hone::cuda
