#include "search/asker.h"

#include <utility>

#include "base/check.h"
#include "base/date.h"
#include "search/record.h"

namespace hone {

Asker::Asker(Store& store, const Tree& tree, Proposer& proposer, std::uint64_t seed, Bell& bell)
    : store_(store),
      tree_(tree),
      proposer_(proposer),
      seed_(seed),
      errand_(bell, proposer.pace() == Pace::kSlow ? Errand<Round>::Where::kThread : Errand<Round>::Where::kHere,
              [&proposer] { proposer.Interrupt(); }) {}

Result<void> Asker::Load(const std::string& run, int known) {
  run_ = run;
  known_ = known;
  rounds_ = HONE_TRY(store_.Rounds(run, known));
  recorded_ = known + static_cast<int>(rounds_.size());
  for (int i = 0; i < static_cast<int>(rounds_.size()); ++i) {
    const RoundRecord& round = rounds_[static_cast<std::size_t>(i)];
    recorded_at_.emplace(std::pair(round.parent, round.turn), i);
  }
  return {};
}

void Asker::Ask(int parent, int mate) {
  HONE_CHECK(!asked_, "a second question while one is not answered");
  asked_ = {.parent = parent, .mate = mate, .turn = tree_.node(parent).rounds, .asked_ms = UnixMilliseconds()};
}

namespace {

// What was dropped when it was chosen waits until it is chosen again: what was decided before knew of it.
std::vector<Proposal> WithoutDropped(std::vector<Proposal> proposals) {
  std::erase_if(proposals, [](const Proposal& one) { return one.dropped && !one.doubt.starts_with(kBuildDoubt); });
  return proposals;
}

}  // namespace

Result<std::optional<Asker::Answer>> Asker::Take(const Now& now) {
  if (!asked_) return std::nullopt;
  const bool prompt = proposer_.pace() == Pace::kPrompt;
  if (const auto known = recorded_at_.find({asked_->parent, asked_->turn}); known != recorded_at_.end()) {
    const RoundRecord* answered = &rounds_[static_cast<std::size_t>(known->second)];
    if (!prompt && !now.idle && now.events < answered->moment) return std::nullopt;
    const TreeNode& parent = tree_.node(answered->parent);
    Answer answer{answered->parent, answered->mate, answered->number,
                  WithoutDropped(HONE_TRY(ReadProposals(store_, *answered, parent.attempt.proposal.candidate.text)))};
    asked_.reset();
    return answer;
  }
  if ((!prompt && now.replaying) || !withheld_.empty()) return std::nullopt;
  if (!errand_.begun()) {
    PutQuestion();
    errand_.Begin([this] { return proposer_.Propose(question_); });
  }
  if (!prompt && !errand_.Done()) return std::nullopt;
  Result<Round> round = errand_.End();
  if (!round && round.error().kind == ErrorKind::kSpent) {
    withheld_ = round.error().message;
    return std::nullopt;
  }
  return Keep(HONE_TRY(std::move(round)), now);
}

Result<void> Asker::Cancel(const Now& now) {
  if (errand_.begun()) {
    // What ends a question that was taken back is no failure.
    if (Result<Round> round = errand_.Cancel()) HONE_TRY(Keep(std::move(*round), now));
  }
  asked_.reset();
  return {};
}

// Its history only grows: to begin it anew each time would cost more, in all, than what is asked.
void Asker::PutQuestion() {
  question_.parent = asked_->parent;
  question_.mate = asked_->mate;
  question_.crossed = static_cast<int>(tree_.node(asked_->parent).mates->size());
  question_.turn = asked_->turn - question_.crossed;
  while (static_cast<int>(question_.history.size()) < tree_.attempts())
    question_.history.push_back(&tree_.node(static_cast<int>(question_.history.size()) + 1).attempt);
  const std::uint64_t which =
      (static_cast<std::uint64_t>(asked_->parent) << 32U) + static_cast<std::uint64_t>(asked_->turn);
  question_.random = Random(Random::Mix(seed_) ^ Random::Mix(which + 1));
}

Result<Asker::Answer> Asker::Keep(Round round, const Now& now) {
  const RoundRecord record{.run = run_,
                           .number = known_ + static_cast<int>(rounds_.size()) + 1,
                           .parent = asked_->parent,
                           .mate = asked_->mate,
                           .turn = asked_->turn,
                           .moment = now.events,
                           .asked_ms = asked_->asked_ms,
                           .answered_ms = UnixMilliseconds(),
                           .input_tokens = round.cost.input_tokens,
                           .output_tokens = round.cost.output_tokens,
                           .dollars = round.cost.dollars};
  HONE_TRY(store_.AddRound(record, ProposalRecords(round.proposals)));
  rounds_.push_back(record);
  asked_.reset();
  return Answer{record.parent, record.mate, record.number, WithoutDropped(std::move(round.proposals)),
                std::move(round.notes)};
}

}  // namespace hone
