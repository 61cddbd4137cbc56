#include "judge/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "judge/gate.h"
#include "oracle/compare.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kQuietWall = milliseconds(500);

}  // namespace

void Findings::Add(const SeenOutputs& seen) {
  componentwise &= !seen.normwise;
  official &= seen.official_allclose.value_or(true);
  error_over_budget = std::max(error_over_budget, seen.error_over_budget);
  error_over_honest = std::max(error_over_honest, seen.error_over_honest);
}

Result<WorkerAnswer> Examination::Ask(const Request& question, const std::string& draw, std::uint32_t calls) {
  auto answer = HONE_TRY(worker.Ask(question, settings.call_wall * calls));
  if (!answer) answer.error().evidence->draw = draw;
  return answer;
}

Result<Refusal> Examination::Tell(const Request& question, const std::string& draw) {
  const auto answer = HONE_TRY(Ask(question, draw));
  return answer ? Refusal() : Refusal(answer.error());
}

Result<WorkerAnswer> Examination::Call(const Request& question, const DrawnInputs& inputs) {
  auto answer = HONE_TRY(Ask(question, inputs.name));
  if (!answer) return answer;
  returned_at = Clock::now();
  returned_ns = worker.ProcessorNanoseconds();
  const LookedAtCall call{.inputs = inputs, .slot = question.slots[0], .reply = answer->said};
  if (auto refusal = HONE_TRY(PassGates(&Gate::called, *this, call)))
    return WorkerAnswer(tl::unexpected(std::move(*refusal)));
  return answer;
}

Result<Refusal> Examination::Prepare(const DrawnInputs& inputs) {
  HONE_TRY(trial.Load(inputs, 0));
  HONE_TRY(trial.Poison(0, kPoison));
  HONE_TRY(trial.Poison(1, kOtherPoison));
  Request prepare;
  prepare.ask = Ask::kPrepare;
  return Tell(prepare, inputs.name);
}

Result<Refusal> Examination::Release(const DrawnInputs& inputs) {
  Request release;
  release.ask = Ask::kRelease;
  return Tell(release, inputs.name);
}

Result<SeenOutputs> Examination::Look(const DrawnInputs& inputs, std::size_t slot, std::uint16_t poison) {
  SeenOutputs seen;
  for (std::size_t i = 0; i < trial.outputs(); ++i) {
    const auto trespass = HONE_TRY(trial.FindTrespass(slot, i));
    if (!trespass) continue;
    const Tensor& tensor = trial.output(i);
    seen.refusal =
        Refuse(Outcome::kOutOfBounds,
               trespass->offset < 0 ? fmt::format("wrote {} bytes before the start of output '{}' ({} bytes in all)",
                                                  -trespass->offset, tensor.name, trespass->count)
                                    : fmt::format("wrote {} bytes past the end of output '{}' ({} bytes in all)",
                                                  trespass->offset - tensor.bytes() + 1, tensor.name, trespass->count),
               inputs.name);
    seen.refusal->evidence->output = tensor.name;
    return seen;
  }
  for (std::size_t i = 0; i < trial.outputs(); ++i) {
    auto check = HONE_TRY(trial.Compare(inputs, slot, i, poison));
    if (!check.right() && inputs.outliers && !settings.full_range) {
      const auto norm = HONE_TRY(trial.CompareNorm(inputs, slot, i, poison));
      if (norm.right() && !check.unlike) {
        seen.normwise = true;
        check = {.error_over_budget = std::sqrt(norm.errors / norm.budgets)};
      }
    }
    if (!check.right()) {
      seen.refusal = WrongVerdict(trial.output(i), check, inputs.name);
      return seen;
    }
    const double honest = inputs.honest_ratio[i];
    seen.error_over_budget = std::max(seen.error_over_budget, check.error_over_budget);
    seen.error_over_honest = std::max(seen.error_over_honest, check.error_over_budget * kBudgetFactor *
                                                                  std::max(1.0, honest) / (honest > 0 ? honest : 1.0));
    if (inputs.own) seen.official_allclose = seen.official_allclose.value_or(true) && check.official;
  }
  return seen;
}

bool Examination::AwaitQuiet(milliseconds least) const {
  const auto begin = Clock::now();
  std::this_thread::sleep_for(least);
  while (worker.Busy()) {
    if (Clock::now() - begin > kQuietWall) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

}  // namespace hone
