// hone worker: a process of the evaluator's, started by the judge (judge/worker_process.h); see worker/worker.h.
#include "worker/worker.h"

#include <nlohmann/json.hpp>

#include "command/command.h"

namespace hone::verb_worker {
namespace {

Result<Answer> RunIt(VerbCall&) {
  const int status = WorkerMain();
  return Answer(nlohmann::json(), "", status == 0 ? ExitCode::kDone : ExitCode::kFailed);
}

}  // namespace

HONE_ROW(Verb){.name = "worker",
               .doc = "started by the judge (judge/worker_process.h)",
               .run = RunIt,
               .hidden = true,
               .owns_output = true};

}  // namespace hone::verb_worker
