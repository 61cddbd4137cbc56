#include "model/exec_model.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr std::size_t kLongestWords = 400;  // bytes of what a program that failed said last

class ExecModel final : public Model {
 public:
  ExecModel(ModelEntry entry, Provider provider) : entry_(std::move(entry)), provider_(std::move(provider)) {}

  Asked Ask(const Conversation& conversation, const GoOn&) override {
    interrupted_ = false;
    Asked asked;
    auto reply = Once(conversation, asked.tries);
    if (!reply) {
      asked.untold = asked.tries;
      asked.reply =
          Rethrow(std::move(reply).error(), fmt::format("model {} ({}): ", entry_.name, provider_.command[0]));
      return asked;
    }
    asked.usage = reply->usage;
    if (!asked.usage.input_tokens && !asked.usage.output_tokens && !asked.usage.dollars) asked.untold = 1;
    asked.reply = std::move(*reply);
    return asked;
  }

  void Interrupt() override { interrupted_ = true; }

 private:
  Result<ModelReply> Once(const Conversation& conversation, int& tries) const {
    const TempDirectory work = HONE_TRY(TempDirectory::Create("ask")),
                        beside = HONE_TRY(TempDirectory::Create("system"));
    const std::string system = beside.path() + "/system.md";
    HONE_TRY(WriteFileAtomically(system, conversation.system));
    bool takes_system = false;
    Command command{.directory = work.path(), .wall = provider_.wall, .interrupt = &interrupted_};
    for (const std::string& word : provider_.command) {
      takes_system = takes_system || word.find("{system}") != word.npos;
      command.argv.push_back(Filled(Filled(word, "{model}", entry_.model), "{system}", system));
    }
    if (!FindProgram(command.argv[0]))
      return Fail(ErrorKind::kUsage, "there is no such program in PATH; see its command in the models file");
    command.environment = InheritedEnvironment();
    for (const std::string& name : provider_.environment) {
      if (const char* value = std::getenv(name.c_str()))
        command.environment.push_back(fmt::format("{}={}", name, value));
    }
    if (!takes_system) command.input = conversation.system + "\n\n";
    for (const TalkTurn& turn : conversation.turns) {
      if (turn.who == TalkTurn::Who::kModel) command.input += "You answered:\n\n";
      command.input += turn.text + "\n\n";
    }
    ++tries;
    const Exit exit = HONE_TRY(Run(command));
    if (exit.timed_out)
      return Fail(ErrorKind::kTimeout, fmt::format("it was not done within {:.3g} s",
                                                   std::chrono::duration<double>(provider_.wall).count()));
    const bool on_errors = !exit.ok() && provider_.format->complains == ExecFormat::Complains::kOnErrors;
    const std::string& said = on_errors ? exit.error : exit.output;
    auto reply = provider_.format->read(said);
    // What it says itself says more than its exit status.
    if (!exit.ok() && (reply || said.empty())) {
      const std::string words = Printable(LastLine(exit.error)).substr(0, kLongestWords);
      return Fail(ErrorKind::kTool, fmt::format("it {}{}{}", exit.Describe(), words.empty() ? "" : ": ", words));
    }
    return reply;
  }

  static std::string Filled(std::string word, std::string_view name, const std::string& value) {
    const std::size_t at = word.find(name);
    return at == word.npos ? word : word.replace(at, name.size(), value);
  }

  const ModelEntry entry_;
  const Provider provider_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace

std::unique_ptr<Model> MakeExecModel(ModelEntry entry, Provider provider) {
  return std::make_unique<ExecModel>(std::move(entry), std::move(provider));
}

}  // namespace hone
