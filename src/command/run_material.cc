#include "command/run_material.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/date.h"
#include "command/flags.h"
#include "search/record.h"

namespace hone {
namespace {

// The evaluation that speaks for the best attempt: its latest confirmation's where that held, else its own.
Result<void> Prove(Store& store, RunMaterial& material) {
  const int best = material.run.best_attempt;
  if (best == 0) return {};
  if (static_cast<std::size_t>(best) > material.evaluations.size())
    return Fail(ErrorKind::kCorrupt, fmt::format("run {} has no attempt {}, its best", material.run.id, best));
  material.proof = material.evaluations[static_cast<std::size_t>(best) - 1];
  for (const ConfirmationRecord& confirmation : material.confirmations) {
    if (confirmation.attempt != best || confirmation.outcome != Name(Outcome::kAccepted)) continue;
    material.proof = HONE_TRY(ReadConfirmation(store, confirmation));
    material.confirmed = true;
  }
  return {};
}

}  // namespace

Result<RunMaterial> ReadRunMaterial(Store& store, const RunRecord& run) {
  RunMaterial material{.run = run};
  const bool killed = run.state == RunState::kRunning && !HONE_TRY(store.Active(run.id));
  material.state = killed ? "killed" : Name(run.state);
  material.summary = HONE_TRY(store.Summarize(run));
  const std::string problem = HONE_TRY(store.Blob(run.problem_blob));
  material.problem = HONE_TRY(ParseProblem(problem, fmt::format("the problem of run {}", run.id)));
  for (const auto& flag : FlagsOfRun(run.flags)) material.flags.push_back(flag.value("sentence", ""));
  material.attempts = HONE_TRY(store.Attempts(run.id));
  for (const AttemptRecord& attempt : material.attempts) {
    Evaluation evaluation;
    if (attempt.ended()) evaluation = HONE_TRY(ReadEvaluation(attempt.evaluation, {}));
    material.evaluations.push_back(std::move(evaluation));
    for (const std::string& key : {attempt.source_blob, attempt.log_blob}) {
      if (!key.empty() && !material.texts.contains(key)) material.texts[key] = HONE_TRY(store.Blob(key));
    }
  }
  material.rounds = HONE_TRY(store.Rounds(run.id));
  material.confirmations = HONE_TRY(store.Confirmations(run.id));
  HONE_TRY(Prove(store, material));
  material.made_by = fmt::format("hone {}, {}", HONE_VERSION, Today());
  return material;
}

}  // namespace hone
