// hone judge: a process of the evaluator's, started by the evaluator (evaluate/local_evaluator.h); see
// judge/judge_main.h.
#include <nlohmann/json.hpp>

#include "command/command.h"
#include "judge/judge_main.h"

namespace hone::verb_judge {
namespace {

Result<Answer> RunIt(VerbCall&) {
  const int status = JudgeMain();
  return Answer(nlohmann::json(), "", status == 0 ? ExitCode::kDone : ExitCode::kFailed);
}

}  // namespace

HONE_ROW(Verb){.name = "judge",
               .doc = "started by the evaluator (evaluate/local_evaluator.h)",
               .run = RunIt,
               .hidden = true,
               .owns_output = true};

}  // namespace hone::verb_judge
