#include "search/asker.h"

#include <algorithm>
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

Result<void> Asker::Load(const std::string& run) {
  run_ = run;
  rounds_ = HONE_TRY(store_.Rounds(run));
  recorded_ = static_cast<int>(rounds_.size());
  return {};
}

void Asker::Ask(int parent, int mate) {
  HONE_CHECK(!asked_, "a second question while one is not answered");
  asked_ = {.parent = parent, .mate = mate, .turn = tree_.node(parent).rounds, .asked_ms = UnixMilliseconds()};
}

namespace {

std::vector<Proposal> WithoutDropped(std::vector<Proposal> proposals) {
  std::erase_if(proposals, [](const Proposal& one) { return one.dropped; });
  return proposals;
}

}  // namespace

Result<std::optional<Asker::Answer>> Asker::Take(const Now& now) {
  if (!asked_) return std::nullopt;
  const bool prompt = proposer_.pace() == Pace::kPrompt;
  const auto answered = std::find_if(rounds_.begin(), rounds_.end(), [&](const RoundRecord& round) {
    return round.parent == asked_->parent && round.turn == asked_->turn;
  });
  if (answered != rounds_.end()) {
    if (!prompt && !now.idle && now.events < answered->moment) return std::nullopt;
    Answer answer{answered->parent, answered->mate, answered->number,
                  WithoutDropped(HONE_TRY(ReadProposals(store_, *answered)))};
    asked_.reset();
    return answer;
  }
  if ((!prompt && now.replaying) || !withheld_.empty()) return std::nullopt;
  if (!errand_.begun()) errand_.Begin([this, question = TheQuestion()] { return proposer_.Propose(question); });
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

Question Asker::TheQuestion() const {
  const int crossed = static_cast<int>(tree_.node(asked_->parent).mates.size());
  Question question{.parent = asked_->parent, .turn = asked_->turn - crossed, .mate = asked_->mate, .crossed = crossed};
  for (const TreeNode& node : tree_.nodes()) {
    if (node.attempt.number > 0) question.history.push_back(&node.attempt);
  }
  const std::uint64_t which =
      (static_cast<std::uint64_t>(asked_->parent) << 32U) + static_cast<std::uint64_t>(asked_->turn);
  question.random = Random(Random::Mix(seed_) ^ Random::Mix(which + 1));
  return question;
}

Result<Asker::Answer> Asker::Keep(Round round, const Now& now) {
  const RoundRecord record{.run = run_,
                           .number = static_cast<int>(rounds_.size()) + 1,
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
