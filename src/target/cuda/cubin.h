// What a cubin says of its kernels, read from its ELF sections: no GPU, no driver and no disassembler needed. About a
// millisecond. Verified against `ptxas -v` for sm_90a, CUDA 13.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "target/cuda/sass.h"

namespace hone::cuda {

struct KernelParameter {
  int offset = 0, bytes = 0;  // in the parameter space
};

// Where in the sources an instruction is from.
struct SourcePlace {
  std::string file;
  int line = 0;  // from 1; 0: not known
};

struct KernelFacts {
  std::string name;           // the symbol
  int registers = 0;          // a thread
  int stack_bytes = 0;        // a thread
  int spill_store_bytes = 0;  // of all spilling instructions of the text once, as ptxas counts them
  int spill_load_bytes = 0;
  int static_shared_bytes = 0;  // a block, without the 1 KiB that the system takes on sm_90
  int barriers = 0;
  int max_threads = 0;                      // __launch_bounds__, 0 = none given
  std::vector<KernelParameter> parameters;  // in order
  // Instructions by name, with the width of memory accesses: "LDG.128", "FFMA", "HGMMA"; those without a name here are
  // counted as "other". NOPs are not counted.
  std::map<std::string, int> instructions;
  std::vector<Instruction> code;    // in order, NOPs included
  std::vector<SourcePlace> places;  // of each of them; none where it was compiled without -lineinfo
};

// In the order of their sections. kCorrupt when it is not a cubin.
Result<std::vector<KernelFacts>> ReadCubin(std::string_view image);

}  // namespace hone::cuda
