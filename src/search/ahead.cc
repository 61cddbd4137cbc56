#include "search/ahead.h"

#include <memory>
#include <vector>

#include "base/check.h"

namespace hone {
namespace {

// Of a search that tries nothing.
class IdleEvaluator final : public Evaluator {
 public:
  Result<Evaluation> Evaluate(const Candidate&, const EvaluateRequest&) override {
    HONE_CHECK(false, "a search that asks ahead tries nothing");
    return Evaluation();
  }
  std::string WhyNoEnergy() const override { return ""; }
  void Interrupt() override {}
};

}  // namespace

Result<Round> AskedElsewhere::Propose(const Question&) { return Fail(ErrorKind::kSpent, why_); }

Result<SearchOutcome> ProposeAhead(Store& store, RunRecord run, Proposer& proposer, SearchSettings settings,
                                   int proposals, const SearchHooks& hooks) {
  settings.ask_ahead = proposals;
  std::vector<IdleEvaluator> idle(static_cast<std::size_t>(settings.run.lanes));
  std::vector<Evaluator*> evaluators;
  for (IdleEvaluator& one : idle) evaluators.push_back(&one);
  return RunSearch(store, std::move(run), proposer, evaluators, settings, hooks);
}

int Pending(const Tree& tree) {
  std::size_t pending = 0;
  for (const TreeNode& node : tree.nodes()) pending += node.waiting.size();
  return static_cast<int>(pending);
}

std::optional<int> NextToAsk(const Tree& tree) {
  std::optional<int> least;
  const auto look = [&](int number) {
    const TreeNode& node = tree.node(number);
    if (!node.exhausted && (!least || node.rounds < tree.node(*least).rounds)) least = number;
  };
  for (const int number : tree.ranked()) {
    if (tree.InReach(number)) look(number);
  }
  look(0);
  return least;
}

}  // namespace hone
