// Three roles, each with a language model of its own, as STARK has them (arXiv 2510.16996): one plans a change and
// marks the places in the attempt's text, one writes it, one repairs what was refused.
//
//   begin, accepted --> planner: change, anchors --> is that the attempt's text? --> tried before? --> coder: a
//   candidate
//                                                    '-- no: once more              '-- yes: nothing   without anchors?
//   refused ----------> debugger: the evidence --> a candidate
//
// Each sees what it needs (prompt.h), the most useful first; each answer is checked by machine before the next is
// asked.
#include <fmt/format.h>

#include "propose/answer.h"
#include "propose/digest.h"
#include "propose/lookup.h"
#include "propose/prompt.h"
#include "propose/proposer.h"
#include "propose/seat.h"
#include "propose/shelf.h"
#include "propose/team/plan.h"

namespace hone {

extern const std::string_view kPlannerRole, kCoderRole, kDebuggerRole;  // the texts of team/*.md

}  // namespace hone

namespace hone::proposer_team {
namespace {

constexpr Parameter Role(std::string_view name, std::string_view help) {
  return {.name = name, .type = Parameter::Type::kWord, .help = help, .otherwise = name};
}
constexpr Parameter kParameters[] = {Role("planner", "the model that says what to change, as the models file calls it"),
                                     Role("coder", "the model that writes it"),
                                     Role("debugger", "the model that repairs what was refused"), kQuestionTokens,
                                     kLookupTokens};

struct Seats {
  Seat planner, coder, debugger;
};

class Team final : public Proposer {
 public:
  Team(const ProposerSetting& setting, OwnLedger ledger, Library library, Seats seats)
      : graph_(setting.graph),
        machine_(setting.machine),
        bound_(SpeedOfLight(graph_, machine_)),
        tokens_(static_cast<std::size_t>(setting.parameters.Integer("tokens"))),
        advisers_(setting.advisers),
        shelf_(ShelfOf(setting)),
        digest_(setting.recalled == nullptr ? std::string() : DigestOf(*setting.recalled)),
        ledger_(std::move(ledger)),
        library_(std::move(library)),
        seats_(std::move(seats)) {}

  Pace pace() const override { return Pace::kSlow; }
  void Interrupt() override {
    for (Seat* seat : {&seats_.planner, &seats_.coder, &seats_.debugger}) seat->Interrupt();
  }

  Result<Round> Propose(const Question& question) override {
    Round round;
    Sitting sitting{question, round, library_};
    const Attempt* from = question.from();
    HONE_TRY(from && !from->accepted() ? Repair(sitting) : Improve(sitting));
    DropRepeats(round.proposals, question);
    round.cost = SpentOn(question, *ledger_);
    return round;
  }

 private:
  PromptSetting Setting(const Seat& seat, std::string_view role, std::string_view form, PromptView view) const {
    return {.graph = graph_,
            .machine = machine_,
            .bound = bound_,
            .tokens = tokens_,
            .role = role,
            .form = form,
            .view = view,
            .advisers = advisers_,
            .shelf = &shelf_,
            .lookups = seat.looks_up(library_),
            .digest = digest_};
  }
  static Conversation Talk(const PromptSetting& setting, std::string question) {
    return {.system = RenderBrief(setting), .turns = {{.who = TalkTurn::Who::kUser, .text = std::move(question)}}};
  }

  Result<void> Improve(Sitting& sitting) {
    const Question& question = sitting.question;
    const Attempt* from = question.from();
    const std::string form = PlanForm();
    const PromptSetting setting = Setting(seats_.planner, kPlannerRole, form, PromptView::kAll);
    std::optional<ChangePlan> plan;
    const auto read = [&](const std::string& text) -> Result<void> {
      plan = HONE_TRY(ParsePlan(text, from));
      return {};
    };
    HONE_TRY(seats_.planner.Ask(sitting, Talk(setting, RenderQuestion(question, setting)), read));
    if (!plan) return {};
    for (const Attempt* one : question.history) {
      if (one->parent != question.parent || !SameChange(one->proposal.key, plan->change)) continue;
      sitting.round.notes.push_back(fmt::format("model {} planned for attempt {} what attempt {} was: {}",
                                                seats_.planner.model(), question.parent, one->number, plan->change));
      return {};
    }
    const PromptSetting coding = Setting(seats_.coder, kCoderRole, {}, PromptView::kCode);
    HONE_TRY(seats_.coder.Ask(
        sitting, Talk(coding, RenderPlan(*plan, question.parent) + "\n" + RenderQuestion(question, coding)),
        [&](const std::string& text) { return Take(text, plan->kind, sitting.round); }));
    for (Proposal& proposal : sitting.round.proposals) {
      proposal.key = plan->change;
      proposal.origin = fmt::format("team: {}", plan->change);
      if (proposal.predicted_us == 0 && plan->gain > 0 && from) proposal.predicted_us = from->time_us() / plan->gain;
    }
    return {};
  }

  Result<void> Repair(Sitting& sitting) {
    const PromptSetting setting = Setting(seats_.debugger, kDebuggerRole, {}, PromptView::kRepair);
    HONE_TRY(seats_.debugger.Ask(sitting, Talk(setting, RenderQuestion(sitting.question, setting)),
                                 [&](const std::string& text) { return Take(text, std::nullopt, sitting.round); }));
    for (Proposal& proposal : sitting.round.proposals) proposal.origin = fmt::format("team, repair: {}", proposal.key);
    return {};
  }

  // One candidate, without anchors, of the kind that was asked for; or none, which is said by a word.
  static Result<void> Take(const std::string& text, std::optional<CandidateKind> kind, Round& round) {
    auto proposals = HONE_TRY(ParseAnswer(text, "team"));
    if (proposals.size() > 1) return Fail(ErrorKind::kUsage, "it has several candidates where one is asked for");
    for (const Proposal& one : proposals) {
      if (HasAnchor(one.candidate.text)) {
        return Fail(ErrorKind::kUsage,
                    fmt::format("the candidate still has {} or {}: leave the anchors out", kAnchorBegins, kAnchorEnds));
      }
      if (kind && one.candidate.kind != *kind) {
        return Fail(ErrorKind::kUsage, fmt::format("the candidate is a {} and the plan is for a {}",
                                                   Name(one.candidate.kind), Name(*kind)));
      }
    }
    round.proposals = std::move(proposals);
    return {};
  }

  const Graph graph_;
  const DeviceModel machine_;
  const Bound bound_;
  const std::size_t tokens_;
  const Advisers advisers_;
  const Shelf shelf_;
  const std::string digest_;
  const OwnLedger ledger_;
  Library library_;
  Seats seats_;
};

Result<std::unique_ptr<Proposer>> Make(const ProposerSetting& setting) {
  const ModelsFile file = HONE_TRY(ModelsOf(setting));
  OwnLedger ledger(setting);
  const auto take = [&](std::string_view role) {
    return Seat::Take(role, file, setting.parameters.Word(role), setting.advisers, *ledger);
  };
  Seats seats{HONE_TRY(take("planner")), HONE_TRY(take("coder")), HONE_TRY(take("debugger"))};
  Library library = HONE_TRY(Library::Open(setting));
  return std::make_unique<Team>(setting, std::move(ledger), std::move(library), std::move(seats));
}

}  // namespace

HONE_ROW(ProposerRow){.name = "team",
                      .doc = "language models as planner, coder and debugger (docs/models.md)",
                      .parameters = kParameters,
                      .pace = Pace::kSlow,
                      .make = Make};

}  // namespace hone::proposer_team
