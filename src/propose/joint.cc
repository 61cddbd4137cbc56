#include "propose/joint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "target/bound.h"

namespace hone {
namespace {

class JointProposer final : public Proposer {
 public:
  JointProposer(std::vector<Member> prompt, Member slow, double bound_us)
      : prompt_(std::move(prompt)), slow_(std::move(slow)), bound_us_(bound_us) {}

  Pace pace() const override { return slow_.proposer ? Pace::kSlow : Pace::kPrompt; }
  void Interrupt() override {
    if (slow_.proposer) slow_.proposer->Interrupt();
  }

  Result<Round> Propose(const Question& question) override {
    const Attempt* from = question.from();
    if (question.mate != 0) return Cross(question);
    const bool far = slow_.proposer && from != nullptr && bound_us_ > 0 && from->time_us() >= kFar * bound_us_;
    if (far && question.turn == 0) {
      Round round = HONE_TRY(slow_.proposer->Propose(question));
      if (!round.proposals.empty()) return round;
      int first = 0;
      Round instead = HONE_TRY(OfPrompt(question, first)).value_or(Round());
      instead.cost = round.cost;
      instead.notes.insert(instead.notes.begin(), round.notes.begin(), round.notes.end());
      return instead;
    }
    int left = question.turn - (far ? 1 : 0);
    if (auto round = HONE_TRY(OfPrompt(question, left))) return std::move(*round);
    if (!slow_.proposer || (from != nullptr && !from->accepted() && IsOfPrompt(*from))) return Round();
    return slow_.proposer->Propose(WithTurn(question, left + (far ? 1 : 0)));
  }

 private:
  // The first who can; whoever costs nothing before the other.
  Result<Round> Cross(const Question& question) {
    for (const Member& member : prompt_) {
      Round round = HONE_TRY(member.proposer->Propose(question));
      if (!round.proposals.empty()) return round;
    }
    return slow_.proposer ? slow_.proposer->Propose(question) : Round();
  }

  static Question WithTurn(Question question, int turn) {
    question.turn = turn;
    return question;
  }

  // Of the rounds that the prompt ones have for it, the one with this number; nothing, and less by how many there are,
  // when there are not so many. They are asked again for those before: that costs milliseconds.
  Result<std::optional<Round>> OfPrompt(const Question& question, int& number) {
    for (const Member& member : prompt_) {
      for (int turn = 0;; ++turn) {
        Round round = HONE_TRY(member.proposer->Propose(WithTurn(question, turn)));
        if (round.proposals.empty()) break;
        if (number-- == 0) return round;
      }
    }
    return std::nullopt;
  }

  bool IsOfPrompt(const Attempt& attempt) const {
    return std::ranges::any_of(
        prompt_, [&](const Member& member) { return attempt.proposal.origin.starts_with(member.name + ":"); });
  }

  const std::vector<Member> prompt_;
  const Member slow_;  // without a proposer: there is none
  const double bound_us_;
};

// The words of each, "expert" and "team:strong,coder=cheap".
std::vector<std::string> Each(std::string_view words) {
  std::vector<std::string> each;
  for (std::string_view rest = words;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    const std::string_view name = word.substr(0, word.find(':'));
    const bool known = std::ranges::any_of(AllProposers(), [&](const ProposerRow* row) { return row->name == name; });
    if (each.empty() || known || each.back().find(':') == std::string::npos) {
      each.emplace_back(word);
    } else {
      each.back() += fmt::format(",{}", word);
    }
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  return each;
}

}  // namespace

std::unique_ptr<Proposer> Join(std::vector<Member> members, double bound_us) {
  std::vector<Member> prompt;
  Member slow;
  for (Member& member : members) {
    if (member.proposer->pace() == Pace::kPrompt) {
      prompt.push_back(std::move(member));
    } else {
      HONE_CHECK(!slow.proposer, "two slow proposers in one run");
      slow = std::move(member);
    }
  }
  return std::make_unique<JointProposer>(std::move(prompt), std::move(slow), bound_us);
}

Result<ChosenProposers> ChosenProposers::Parse(std::string_view words) {
  ChosenProposers proposers;
  const ProposerRow* slow = nullptr;
  for (const std::string& one : Each(words)) {
    const ProposerRow* row = proposers.chosen_.emplace_back(HONE_TRY(ChooseProposer(one))).row;
    if (row->pace == Pace::kPrompt) continue;
    if (slow != nullptr) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("--proposer: {} and {} both take their time to answer, and one run has "
                              "room for one such: leave one of them out",
                              slow->name, row->name));
    }
    slow = row;
  }
  return proposers;
}

std::string ChosenProposers::Identity() const {
  std::string identity;
  for (const auto& one : chosen_) identity += (identity.empty() ? "" : ",") + one.Identity();
  return identity;
}

Pace ChosenProposers::pace() const {
  const bool slow = std::ranges::any_of(chosen_, [](const auto& one) { return one.row->pace == Pace::kSlow; });
  return slow ? Pace::kSlow : Pace::kPrompt;
}

bool ChosenProposers::Take(std::string_view parameter) const {
  return std::ranges::any_of(chosen_, [&](const auto& one) {
    return std::ranges::any_of(one.row->parameters, [&](const Parameter& its) { return its.name == parameter; });
  });
}

Result<Pace> PaceOfProposers(std::string_view words) {
  std::vector<std::string_view> names;
  for (const ProposerRow* row : AllProposers()) names.push_back(row->name);
  Pace pace = Pace::kPrompt;
  for (const std::string& one : Each(words)) {
    if (AllProposers()[HONE_TRY(ChooseName("proposer", names, one))]->pace == Pace::kSlow) pace = Pace::kSlow;
  }
  return pace;
}

Result<std::unique_ptr<Proposer>> ChosenProposers::Make(const ProposerSetting& setting) const {
  std::vector<Member> members;
  for (const auto& one : chosen_) {
    ProposerSetting own = setting;
    own.parameters = one.parameters;
    members.push_back({std::string(one.row->name), HONE_TRY(one.row->make(own))});
  }
  if (members.size() == 1) return std::move(members.front().proposer);
  return Join(std::move(members), SpeedOfLight(setting.graph, setting.machine).sure_us);
}

}  // namespace hone
