// hone sanitized: a process of the evaluator's, started under compute-sanitizer (evaluate/certify.h).
#include "worker/sanitized.h"

#include <nlohmann/json.hpp>

#include "command/command.h"

namespace hone::verb_sanitized {
namespace {

Result<Answer> RunIt(VerbCall&) {
  const int status = SanitizedMain();
  return Answer(nlohmann::json(), "", status == 0 ? ExitCode::kDone : ExitCode::kFailed);
}

}  // namespace

HONE_ROW(Verb){.name = "sanitized",
               .doc = "started under compute-sanitizer (evaluate/certify.h)",
               .run = RunIt,
               .hidden = true,
               .owns_output = true};

}  // namespace hone::verb_sanitized
