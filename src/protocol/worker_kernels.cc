#include "protocol/worker_kernels.h"

#include <string_view>
#include <utility>

#include "target/cuda/nvrtc.h"

namespace hone {

extern const std::string_view kWorkerKernelsText;

Result<std::string> CompileWorkerKernels(const std::string& arch) {
  cuda::CubinRequest request;
  request.name = "worker.cu";
  request.arch = arch;
  request.source = kWorkerKernelsText;
  auto compiled = HONE_TRY(cuda::CompileCubin(request));
  if (!compiled.ok())
    return Fail(ErrorKind::kTool, "NVRTC refuses the worker's kernels: " + compiled.errors.front().message);
  return std::move(compiled.cubin);
}

}  // namespace hone
