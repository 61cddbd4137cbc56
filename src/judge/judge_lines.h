// What the orchestrator and the judge say to each other, one line of JSON each:
//
//   {"open": JudgeOpening}      comes first, and again for another problem; the answer is {"open": true}
//   {"evaluate": JudgeRequest}  the answer is {"evaluation": Evaluation}
//
// Before an answer there may be lines {"stage": "expected outputs 25 %"}; in place of one comes {"error": Error}.
#pragma once

#include <string>

#include "base/record.h"
#include "judge/judge.h"
#include "verdict/verdict_fields.h"

namespace hone {

struct JudgeOpening {
  std::string problem, folder;  // as JSON, and where its files are
  JudgeOptions options;
};

template <SameAs<OutsideBaseline> Of>
void Fields(Of& baseline, auto&& field) {
  field("name", baseline.name);
  field("mode", baseline.mode);
  field("argv", baseline.argv);
  field("environment", baseline.environment);
  field("directory", baseline.directory);
  field("files", baseline.files);
  field("device", baseline.device);
  field("own", baseline.own);
}

// But `stage`, which is told in lines of its own.
template <SameAs<JudgeOptions> Of>
void Fields(Of& options, auto&& field) {
  field("program", options.program);
  field("threads", options.threads);
  field("dice", options.dice);
  field("sandbox", options.sandbox, ByName<SandboxPolicy>{Name, ParseSandboxPolicy});
  field("call_wall_ms", options.call_wall);
  field("outside", options.outside);
  field("form", options.form, ByName<Form>{Name, ParseForm});
}

template <SameAs<JudgeOpening> Of>
void Fields(Of& opening, auto&& field) {
  field("problem", opening.problem);
  field("folder", opening.folder);
  field("options", opening.options);
}

template <SameAs<EvaluateRequest> Of>
void Fields(Of& request, auto&& field) {
  field("time", request.time);
  field("timing_budget_ms", request.timing_budget);
  field("confidence", request.confidence);
  field("baselines", request.baselines);
  field("in_turn", request.in_turn);
  field("fresh_draws", request.fresh_draws);
  field("range_full", request.range_full);
  field("certify", request.certify);
  field("bound_us", request.bound_us);
  field("best_us", request.best_us);
}

template <SameAs<JudgeRequest> Of>
void Fields(Of& request, auto&& field) {
  field("form", request.form, ByName<Form>{Name, ParseForm});
  field("library", request.library);
  field("asked", request.asked);
  field("known", request.known);
  field("earlier_us", request.earlier_us);
}

}  // namespace hone
