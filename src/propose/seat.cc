#include "propose/seat.h"

#include <fmt/format.h>

#include <utility>

namespace hone {

Result<Seat> Seat::Take(std::string_view role, const ModelsFile& file, std::string_view model, const Advisers& advisers,
                        Ledger& ledger) {
  ModelEntry entry = HONE_TRY(file.Find(model));
  if (ledger.caps().dollars > 0 && !(entry.price.input && entry.price.output)) {
    return Fail(ErrorKind::kUsage,
                fmt::format("--max-dollars: {} has no price for model {}; give its input and output there", file.path(),
                            entry.name));
  }
  const bool calls_tools = file.ProviderOf(entry).dialect != nullptr;
  if (advisers.kind == Advisers::Kind::kOffered && !calls_tools) {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("--tools offered: model {} is asked by a program, and so cannot ask for findings; --tools on "
                    "hands them over",
                    entry.name));
  }
  auto opened = HONE_TRY(OpenModel(file, model));
  return Seat(role, std::move(entry), std::move(opened), calls_tools, ledger);
}

Result<bool> Seat::Ask(Sitting& sitting, Conversation talk,
                       const std::function<Result<void>(const std::string&)>& read) {
  if (calls_tools_) talk.tools = LookupDesk::Tools(sitting.library);
  const auto nothing = [&](std::string_view why) {
    sitting.round.notes.push_back(
        fmt::format("model {} gave nothing for attempt {}: {}", entry_.name, sitting.question.parent, why));
    return false;
  };
  int rounds = 0;
  for (bool repaired = false;;) {
    const Purpose purpose{
        .parent = sitting.question.parent, .turn = sitting.question.number(), .step = sitting.step++, .role = role_};
    const ModelReply reply = HONE_TRY(ledger_->Ask(*model_, entry_, purpose, talk, sitting.round.notes));
    if (reply.ending == Ending::kRefusal) return nothing("it refuses to answer");
    const bool cut_off = reply.ending == Ending::kLength;
    std::string why;
    if (cut_off) {
      why = "the answer was cut off at the limit of its length; it has to be shorter";
    } else if (!reply.calls.empty()) {
      if (++rounds > kMostLookupRounds) return nothing("it looks things up and does not answer");
    } else if (auto taken = read(reply.text); !taken) {
      why = std::move(taken).error().message;
    } else {
      return true;
    }
    if (!why.empty() && std::exchange(repaired, true)) return nothing(why);
    talk.turns.push_back(AsTurn(reply));
    // Servers want a result for each call, also for those that are not made.
    for (const ToolCall& call : reply.calls) {
      talk.turns.push_back(cut_off ? TalkTurn{.who = TalkTurn::Who::kTool,
                                              .text = "not called: the answer was cut off",
                                              .call_id = call.id,
                                              .failed = true}
                                   : sitting.desk.Answer(call));
    }
    if (why.empty()) continue;
    talk.turns.push_back({.who = TalkTurn::Who::kUser,
                          .text = fmt::format("Your answer was not understood: {}\n\nWrite all of it once more, in the "
                                              "form that the task asks for.\n",
                                              why)});
  }
}

Result<ModelsFile> ModelsOf(const ProposerSetting& setting) {
  return ModelsFile::Read(setting.models.empty() ? ModelsFile::UsualPath() : setting.models);
}

Spent SpentOn(const Question& question, const Ledger& ledger) {
  const Spending spending = ledger.Of(question.parent, question.number());
  return {.input_tokens = spending.input_tokens, .output_tokens = spending.output_tokens, .dollars = spending.dollars};
}

}  // namespace hone
