#include "propose/seat.h"

#include <fmt/format.h>

namespace hone {

Result<Seat> Seat::Take(std::string_view role, const ModelsFile& file, std::string_view model, Ledger& ledger) {
  ModelEntry entry = HONE_TRY(file.Find(model));
  if (ledger.caps().dollars > 0 && !(entry.price.input && entry.price.output)) {
    return Fail(ErrorKind::kUsage,
                fmt::format("--max-dollars: {} has no price for model {}; give its input and output there", file.path(),
                            entry.name));
  }
  auto opened = HONE_TRY(OpenModel(file, model));
  return Seat(role, std::move(entry), std::move(opened), ledger);
}

Result<bool> Seat::Ask(Sitting& sitting, Conversation talk,
                       const std::function<Result<void>(const std::string&)>& read) {
  for (const bool last : {false, true}) {
    const Purpose purpose{
        .parent = sitting.question.parent, .turn = sitting.question.turn, .step = sitting.step++, .role = role_};
    const ModelReply reply = HONE_TRY(ledger_->Ask(*model_, entry_, purpose, talk, sitting.round.notes));
    std::string why;
    if (reply.ending == Ending::kRefusal) {
      why = "it refuses to answer";
    } else if (reply.ending == Ending::kLength) {
      why = "the answer was cut off at the limit of its length; it has to be shorter";
    } else if (auto taken = read(reply.text); !taken) {
      why = std::move(taken).error().message;
    } else {
      return true;
    }
    if (last || reply.ending == Ending::kRefusal) {
      sitting.round.notes.push_back(
          fmt::format("model {} gave nothing for attempt {}: {}", entry_.name, sitting.question.parent, why));
      break;
    }
    talk.turns.push_back(AsTurn(reply));
    talk.turns.push_back({.who = TalkTurn::Who::kUser,
                          .text = fmt::format("Your answer was not understood: {}\n\nWrite all of it once more, in the "
                                              "form that the task asks for.\n",
                                              why)});
  }
  return false;
}

Result<ModelsFile> ModelsOf(const ProposerSetting& setting) {
  return ModelsFile::Read(setting.models.empty() ? ModelsFile::UsualPath() : setting.models);
}

Spent SpentOn(const Question& question, const Ledger& ledger) {
  const Spending spending = ledger.Of(question.parent, question.turn);
  return {.input_tokens = spending.input_tokens, .output_tokens = spending.output_tokens, .dollars = spending.dollars};
}

}  // namespace hone
