// Where the CUDA toolkit is. Looked for in this order: the folder HONE_CUDA names, `cuda/` beside the program (where
// `./dev cuda` puts it), the toolkit of nvcc on the PATH, /usr/local/cuda, and what the loader finds by itself.
#pragma once

#include <string>
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

}  // namespace hone::cuda
