// nvcc, for modules on a CUDA device: C++ with kernels and the host code that launches them, CUTLASS if it is here
// (target/module_build.h does the rest). It is the first that target/cuda/toolkit.h finds. Thread- and process-safe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "target/module_build.h"

namespace hone::cuda {

struct CudaModuleRequest {
  std::string source;  // CUDA C++17; may include <hone/module.h>, the toolkit's headers and CUTLASS
  std::string arch;    // a real architecture: "sm_90a"
  // CUTLASS 3 needs up to half a minute on an idle machine.
  std::chrono::milliseconds wall{300'000};
  bool lines = false;  // its instructions know their lines of kModuleSource
};

inline constexpr std::string_view kModuleSource = "kernel.cu";  // as nvcc knows it

// A shared object, whose kernels are what target/cuda/fatbin.h reads. Fails with kNotFound when there is no nvcc (the
// message says how to get it), kIo when the cache cannot be written.
Result<Compiled> CompileCudaModule(const CudaModuleRequest& request);

// "nvcc 13.0", for doctor.
Result<std::string> NvccVersion();

// Folders to include from for CUTLASS: of HONE_CUTLASS, or of the Python package nvidia-cutlass of the interpreter that
// HONE_PYTHON names (else python3). kNotFound names the mend.
struct Cutlass {
  std::string version;  // "4.2.0"
  std::vector<std::string> includes;
};
Result<Cutlass> FindCutlass();

// The errors in what nvcc and the compilers behind it say of `file`, in its order.
std::vector<Diagnostic> ParseNvccDiagnostics(std::string_view log, std::string_view file);

}  // namespace hone::cuda
