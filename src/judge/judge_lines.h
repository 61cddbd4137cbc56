// What the orchestrator and the judge say to each other, one line of JSON each:
//
//   {"begin": JudgeOpening}     comes first, and again for another problem; no device is touched until the answer, and
//                               after it; that is {"begun": true}
//   {"open": true}              comes next; the answer is {"open": JudgeOpened}
//   {"evaluate": JudgeRequest}  the answer is {"evaluation": Evaluation}
//   {"energy": EnergyQuestion}  the answer is {"energy": EnergyAnswer}
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

struct JudgeOpened {
  std::string no_energy;  // Judge::WhyNoEnergy
};

struct EnergyAnswer {
  std::vector<EnergyOrWhy> of;  // each candidate
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
  field("expected", options.expected);
  field("form", options.form, ByName<Form>{Name, ParseForm});
}

template <SameAs<JudgeOpening> Of>
void Fields(Of& opening, auto&& field) {
  field("problem", opening.problem);
  field("folder", opening.folder);
  field("options", opening.options);
}

template <SameAs<JudgeOpened> Of>
void Fields(Of& opened, auto&& field) {
  field("no_energy", opened.no_energy);
}

template <SameAs<EnergyRequest> Of>
void Fields(Of& request, auto&& field) {
  field("window_ms", request.window);
  field("windows", request.windows);
  field("idle", request.idle);
}

template <SameAs<EnergyCandidate> Of>
void Fields(Of& candidate, auto&& field) {
  field("form", candidate.form, ByName<Form>{Name, ParseForm});
  field("library", candidate.library);
  field("call_us", candidate.call_us);
}

template <SameAs<EnergyQuestion> Of>
void Fields(Of& question, auto&& field) {
  field("candidates", question.candidates);
  field("asked", question.asked);
}

template <SameAs<EnergyAnswer> Of>
void Fields(Of& answer, auto&& field) {
  field("of", answer.of);
}

template <SameAs<EvaluateRequest> Of>
void Fields(Of& request, auto&& field) {
  field("time", request.time);
  field("timing_budget_ms", request.timing_budget);
  field("confidence", request.confidence);
  field("baselines", request.baselines);
  field("in_turn", request.in_turn);
  field("fresh_draws", request.fresh_draws);
  field("first_look", request.first_look);
  field("range_full", request.range_full);
  field("certify", request.certify);
  field("bound_us", request.bound_us);
  field("best_us", request.best_us);
}

template <SameAs<JudgeRequest> Of>
void Fields(Of& request, auto&& field) {
  field("form", request.form, ByName<Form>{Name, ParseForm});
  field("library", request.library);
  field("ours", request.ours);
  field("asked", request.asked);
  field("known", request.known);
  field("earlier_us", request.earlier_us);
}

}  // namespace hone
