// Where the CUDA toolkit is. NVRTC, headers, libraries and programs are all looked for in this order: the folder
// HONE_CUDA names, `cuda/` beside the program (where `./dev cuda` puts it), the toolkit of nvcc on the PATH, the
// folders CUDA_HOME and CUDA_PATH name, /usr/local/cuda, and what the loader finds by itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone::cuda {

struct Toolkit {
  std::string root;                   // "/usr/local/cuda-13.0"; empty when only the loader knows
  std::string nvrtc;                  // path or name to open
  std::vector<std::string> includes;  // folders with the device headers, cuda_fp16.h among them; may be empty
};

// The first that has NVRTC. kNotFound names the mend.
Result<Toolkit> FindToolkit();

// NVIDIA's libraries that plans may call, and the one that counts what kernels do. They are large and not of the
// toolkit's smallest part: absent on many machines, and in Python's packages where PyTorch brought them.
enum class Library : std::uint8_t { kCublasLt, kCudnn, kCupti };

// Its path, or the name that the loader knows it by. Looked for in the toolkits' folders, in the `nvidia` packages of
// HONE_PYTHON (else python3), and where the loader looks by itself. Looks once a process. Thread-safe. kNotFound names
// the mend.
Result<std::string> FindLibrary(Library library);

// The toolkits' programs of this name that are there, "nvcc" or "compute-sanitizer", the one to use first. Where the
// order says so the PATH itself is asked: what it has need not lie in a toolkit.
std::vector<std::string> ToolkitPrograms(std::string_view name);

// Where the interpreter HONE_PYTHON (else python3) looks for packages, without the user's own; empty where there is
// none. Asks it once a process. Thread-safe.
std::vector<std::string> PackageFolders();

}  // namespace hone::cuda
