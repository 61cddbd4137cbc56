#include "search/finals.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace hone {
namespace {

// One window of a few ticks: a tick more or less is a tenth of it, which is enough to leave out who has no chance.
constexpr EnergyRequest kScreen{.window = std::chrono::milliseconds(500), .windows = 1, .idle = false};
// A time of the search was taken in a fraction of a second: who is this much beyond the limit may be within it.
constexpr double kDoubt = 0.01;

struct Ranked {
  int attempt = 0;
  Objective::Values values;
};

// Those that can be ranked, best first.
std::vector<Ranked> Rank(std::vector<Ranked> ranked, const Objective& objective) {
  std::erase_if(ranked, [](const Ranked& one) { return one.values.empty(); });
  objective.Rank(ranked);
  return ranked;
}

}  // namespace

bool IsUndisturbed(const Evaluation& confirmed) {
  if (!confirmed.timing || !confirmed.timing->disturbed.empty()) return false;
  const auto& against = confirmed.timing->against;
  // There is no speed-up over a baseline that is wrong, however often it is measured.
  return against.empty() || against.front().speedup || !against.front().wrong.empty();
}

std::vector<std::string> Unmeasured(const Evaluation& confirmed, const std::vector<std::string>& baselines) {
  std::vector<std::string> left = baselines;
  std::erase_if(left, [&](const std::string& name) {
    const bool compared =
        confirmed.timing &&
        std::ranges::any_of(confirmed.timing->against, [&](const Comparison& one) { return one.baseline == name; });
    // As the judge says it (judge/race.cc).
    return compared || std::ranges::any_of(confirmed.how->notes, [&](const std::string& note) {
             return note.starts_with(fmt::format("baseline '{}'", name));
           });
  });
  return left;
}

std::vector<Confirmed> LastWords(std::vector<Confirmed> all) {
  std::vector<Confirmed> words;
  for (Confirmed& one : all) {
    const auto earlier = std::ranges::find(words, one.attempt, &Confirmed::attempt);
    if (earlier != words.end()) {
      const bool says_less = one.evaluation.verdict.accepted() && !IsUndisturbed(one.evaluation);
      if (says_less && earlier->evaluation.verdict.accepted() && IsUndisturbed(earlier->evaluation)) continue;
      words.erase(earlier);
    }
    words.push_back(std::move(one));
  }
  return words;
}

std::vector<int> Contenders(const Tree& tree, const Objective& objective) {
  std::vector<int> contenders(tree.ranked().begin(), tree.ranked().end());
  if (!objective.NeedsEnergy()) return contenders;
  const double limit = tree.best_us() * (1 + objective.Slower()) * (1 + kDoubt);
  std::erase_if(contenders, [&](int number) { return tree.Value(number) > limit; });
  if (contenders.size() > kScreened) contenders.resize(kScreened);
  return contenders;
}

Result<std::vector<int>> Finalists(const Tree& tree, const Objective& objective, std::size_t count,
                                   Evaluator& evaluator) {
  std::vector<int> contenders = Contenders(tree, objective);
  if (!objective.NeedsEnergy()) contenders.resize(std::min(count, contenders.size()));
  const std::size_t most = std::min(count, kEnergyFinalists);
  if (!objective.NeedsEnergy() || contenders.size() <= most) return contenders;
  std::vector<Confirmed> screened;
  for (const int number : contenders) screened.push_back({number, tree.node(number).attempt.evaluation});
  HONE_TRY(MeasureEnergy(screened, tree, kScreen, evaluator));
  std::vector<Ranked> ranked;
  for (const Confirmed& one : screened) ranked.push_back({one.attempt, objective.Of(one.evaluation)});
  std::vector<int> finalists = {contenders.front()};
  for (const Ranked& one : Rank(std::move(ranked), objective)) {
    if (finalists.size() < most && one.attempt != contenders.front()) finalists.push_back(one.attempt);
  }
  return finalists;
}

Result<void> MeasureEnergy(std::vector<Confirmed>& confirmed, const Tree& tree, const EnergyRequest& request,
                           Evaluator& evaluator) {
  std::vector<Candidate> candidates;
  std::vector<double> call_us;
  std::vector<Evaluation*> theirs;
  for (Confirmed& one : confirmed) {
    if (!one.evaluation.verdict.accepted() || !one.evaluation.timing) continue;
    candidates.push_back(tree.node(one.attempt).attempt.proposal.candidate);
    call_us.push_back(one.evaluation.timing->LikelyUs());
    theirs.push_back(&one.evaluation);
  }
  if (candidates.empty()) return {};
  std::vector<EnergyOrWhy> measured = HONE_TRY(evaluator.MeasureEnergy(candidates, call_us, request));
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (measured[i].energy) theirs[i]->timing->energy = std::move(*measured[i].energy);
    if (!measured[i].why.empty()) theirs[i]->how->notes.push_back("energy: " + measured[i].why);
  }
  return {};
}

int Winner(const std::vector<Confirmed>& confirmed, const Objective& objective) {
  for (const Objective& by : {objective, Objective()}) {
    std::vector<Ranked> ranked;
    for (const Confirmed& one : confirmed) ranked.push_back({one.attempt, by.Of(one.evaluation)});
    ranked = Rank(std::move(ranked), by);
    if (!ranked.empty()) return ranked.front().attempt;
  }
  return 0;
}

}  // namespace hone
