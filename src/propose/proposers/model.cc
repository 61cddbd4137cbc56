// Asks one language model, as the mailbox asks whoever answers (prompt.h, answer.h): a question, and where the answer
// is malformed once more. Which model that is, and who serves it, stands in the models file (model/models_file.h).
//
// It can look things up before it answers (lookup.h).
//
//   brief (the same each time) | question --> answer --> well-formed? --yes--> what is new of it
//                                                             '--no--> why not --> once more, then nothing
#include "propose/answer.h"
#include "propose/digest.h"
#include "propose/lookup.h"
#include "propose/prompt.h"
#include "propose/proposer.h"
#include "propose/seat.h"
#include "propose/shelf.h"

namespace hone::proposer_model {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "name", .type = Parameter::Type::kWord, .help = "as the models file calls it"},
    kQuestionTokens,
    kLookupTokens};

class ModelProposer final : public Proposer {
 public:
  ModelProposer(const ProposerSetting& setting, OwnLedger ledger, Library library, Seat seat)
      : graph_(setting.graph),
        machine_(setting.machine),
        bound_(SpeedOfLight(graph_, machine_)),
        tokens_(static_cast<std::size_t>(setting.parameters.Integer("tokens"))),
        advisers_(setting.advisers),
        shelf_(ShelfOf(setting)),
        digest_(setting.recalled == nullptr ? std::string() : DigestOf(*setting.recalled)),
        ledger_(std::move(ledger)),
        library_(std::move(library)),
        seat_(std::move(seat)) {}

  Pace pace() const override { return Pace::kSlow; }
  void Interrupt() override { seat_.Interrupt(); }

  Result<Round> Propose(const Question& question) override {
    const PromptSetting setting{.graph = graph_,
                                .machine = machine_,
                                .bound = bound_,
                                .tokens = tokens_,
                                .advisers = advisers_,
                                .shelf = &shelf_,
                                .lookups = seat_.looks_up(library_),
                                .digest = digest_};
    Round round;
    Sitting sitting{question, round, library_};
    const auto read = [&](const std::string& text) -> Result<void> {
      round.proposals = HONE_TRY(ParseAnswer(text, seat_.model()));
      return {};
    };
    const bool answered =
        HONE_TRY(seat_.Ask(sitting,
                           {.system = RenderBrief(setting),
                            .turns = {{.who = TalkTurn::Who::kUser, .text = RenderQuestion(question, setting)}}},
                           read));
    if (answered) DropRepeats(round.proposals, question);
    round.cost = SpentOn(question, *ledger_);
    return round;
  }

 private:
  const Graph graph_;
  const DeviceModel machine_;
  const Bound bound_;
  const std::size_t tokens_;
  const Advisers advisers_;
  const Shelf shelf_;
  const std::string digest_;
  const OwnLedger ledger_;
  Library library_;
  Seat seat_;
};

Result<std::unique_ptr<Proposer>> Make(const ProposerSetting& setting) {
  const ModelsFile file = HONE_TRY(ModelsOf(setting));
  OwnLedger ledger(setting);
  Seat seat = HONE_TRY(Seat::Take("model", file, setting.parameters.Word("name"), setting.advisers, *ledger));
  Library library = HONE_TRY(Library::Open(setting));
  return std::make_unique<ModelProposer>(setting, std::move(ledger), std::move(library), std::move(seat));
}

}  // namespace

HONE_ROW(ProposerRow){.name = "model",
                      .doc = "a language model that the models file names (docs/models.md)",
                      .parameters = kParameters,
                      .pace = Pace::kSlow,
                      .make = Make};

}  // namespace hone::proposer_model
