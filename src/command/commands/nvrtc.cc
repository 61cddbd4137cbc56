// hone nvrtc: a process that compiles one foreign source for a device, started by whoever has it (target/cuda/nvrtc.h).
#include "target/cuda/nvrtc.h"

#include <nlohmann/json.hpp>

#include "command/command.h"

namespace hone::verb_nvrtc {
namespace {

Result<Answer> RunIt(VerbCall&) {
  const int status = cuda::NvrtcMain();
  return Answer(nlohmann::json(), "", status == 0 ? ExitCode::kDone : ExitCode::kFailed);
}

}  // namespace

HONE_ROW(Verb){.name = "nvrtc",
               .doc = "started for foreign CUDA sources (target/cuda/nvrtc.h)",
               .run = RunIt,
               .hidden = true,
               .owns_output = true};

}  // namespace hone::verb_nvrtc
