// Asks one language model, as the mailbox asks whoever answers (prompt.h, answer.h): a question, and where the answer
// is malformed once more. Which model that is, and who serves it, stands in the models file (model/models_file.h).
//
//   brief (the same each time) | question --> answer --> well-formed? --yes--> what is new of it
//                                                             '--no--> why not --> once more, then nothing
#include "model/model.h"

#include <fmt/format.h>

#include "propose/answer.h"
#include "propose/prompt.h"
#include "propose/proposer.h"

namespace hone {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "name", .type = Parameter::Type::kWord, .help = "as the models file calls it"},
    {.name = "tokens",
     .type = Parameter::Type::kInteger,
     .help = "how long a question may be, about",
     .otherwise = "8000",
     .at_least = 1000,
     .at_most = 1e6}};

class ModelProposer final : public Proposer {
 public:
  ModelProposer(const ProposerSetting& setting, ModelEntry entry, std::unique_ptr<Model> model)
      : graph_(setting.graph),
        machine_(setting.machine),
        bound_(SpeedOfLight(graph_, machine_)),
        entry_(std::move(entry)),
        model_(std::move(model)),
        tokens_(static_cast<std::size_t>(setting.parameters.Integer("tokens"))) {}

  Pace pace() const override { return Pace::kSlow; }
  void Interrupt() override { model_->Interrupt(); }

  Result<Round> Propose(const Question& question) override {
    const PromptSetting setting{graph_, machine_, bound_, tokens_};
    Conversation talk{.system = RenderBrief(setting)};
    talk.turns.push_back({.who = Turn::Who::kUser, .text = RenderQuestion(question, setting)});
    Round round;
    for (const bool last : {false, true}) {
      const Reply reply = HONE_TRY(Ask(talk, round));
      auto proposals = Read(reply);
      if (proposals) {
        DropRepeats(*proposals, question);
        round.proposals = std::move(*proposals);
        return round;
      }
      const std::string& why = proposals.error().message;
      if (last || reply.ending == Ending::kRefusal) {
        round.notes.push_back(
            fmt::format("model {} gave nothing for attempt {}: {}", entry_.name, question.parent, why));
        return round;
      }
      talk.turns.push_back(AsTurn(reply));
      talk.turns.push_back({.who = Turn::Who::kUser,
                            .text = fmt::format("Your answer was not understood: {}\n\nWrite all of it once more, in "
                                                "the form that the task asks for.\n",
                                                why)});
    }
    return round;
  }

 private:
  Result<Reply> Ask(const Conversation& talk, Round& round) {
    Asked asked = model_->Ask(talk);
    round.cost.input_tokens += asked.usage.input_tokens.value_or(0);
    round.cost.output_tokens += asked.usage.output_tokens.value_or(0);
    std::ranges::move(asked.notes, std::back_inserter(round.notes));
    return std::move(asked.reply);
  }

  Result<std::vector<Proposal>> Read(const Reply& reply) const {
    if (reply.ending == Ending::kRefusal) return Fail(ErrorKind::kUsage, "it refuses to answer");
    if (reply.ending == Ending::kLength)
      return Fail(ErrorKind::kUsage, "the answer was cut off at the limit of its length; it has to be shorter");
    return ParseAnswer(reply.text, entry_.name);
  }

  const Graph graph_;
  const DeviceModel machine_;
  const Bound bound_;
  const ModelEntry entry_;
  const std::unique_ptr<Model> model_;
  const std::size_t tokens_;
};

Result<std::unique_ptr<Proposer>> Make(const ProposerSetting& setting) {
  const auto file = HONE_TRY(ModelsFile::Read(setting.models.empty() ? ModelsFile::UsualPath() : setting.models));
  const ModelEntry entry = HONE_TRY(file.Find(setting.parameters.Word("name")));
  return std::make_unique<ModelProposer>(setting, entry, HONE_TRY(OpenModel(file, entry.name)));
}

}  // namespace

HONE_PROPOSER(model){.name = "model",
                     .doc = "a language model that the models file names (docs/models.md)",
                     .parameters = kParameters,
                     .make = Make};

}  // namespace hone
