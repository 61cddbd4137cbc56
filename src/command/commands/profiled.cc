// hone profiled: a process of the evaluator's, runs a candidate for its profile (evaluate/device_profile.h).
#include "worker/profiled.h"

#include <nlohmann/json.hpp>

#include "command/command.h"

namespace hone::verb_profiled {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "setup", .help = "a file with what it is told", .presence = Presence::kOptional}};

Result<Answer> RunIt(VerbCall& call) {
  const int status = ProfiledMain(call.Text("setup"));
  return Answer(nlohmann::json(), "", status == 0 ? ExitCode::kDone : ExitCode::kFailed);
}

}  // namespace

HONE_ROW(Verb){.name = "profiled",
               .doc = "runs a candidate for its profile (evaluate/device_profile.h)",
               .positionals = kPositionals,
               .run = RunIt,
               .hidden = true,
               .owns_output = true};

}  // namespace hone::verb_profiled
