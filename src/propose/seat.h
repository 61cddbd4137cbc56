// A role that a language model fills for a proposer: it is asked, its answer is read, and where that is malformed it is
// asked once more. What it costs goes through the ledger.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/ledger.h"
#include "model/model.h"
#include "propose/lookup.h"
#include "propose/proposer.h"

namespace hone {

// Where a question is: its calls count their steps, so that each has the same purpose whenever the question is asked.
struct Sitting {
  const Question& question;
  Round& round;  // its notes
  Library& library;
  LookupDesk desk{library, question};  // what may still be looked up, by all who sit at it
  int step = 0;                        // of the next call
};

// Used by the thread that proposes.
class Seat {
 public:
  // kUsage when there is no such model, no key for it, no price where dollars are capped, or when findings are offered
  // to one that cannot ask for them. The ledger outlives it.
  static Result<Seat> Take(std::string_view role, const ModelsFile& file, std::string_view model,
                           const Advisers& advisers, Ledger& ledger);

  const std::string& role() const { return role_; }
  const std::string& model() const { return entry_.name; }

  // Whether it can look things up: a program that asks for us cannot.
  bool calls_tools() const { return calls_tools_; }
  // Whether it can, and there is something to look into.
  bool looks_up(const Library& library) const { return calls_tools_ && !LookupDesk::Tools(library).empty(); }

  // `read` takes the text of an answer, or says what is malformed about it. False: it was so twice, or the model
  // refused, or looked things up without end; a note says why. Fails as Ledger::Ask.
  Result<bool> Ask(Sitting& sitting, Conversation talk, const std::function<Result<void>(const std::string&)>& read);

  void Interrupt() { model_->Interrupt(); }  // from any thread

 private:
  Seat(std::string_view role, ModelEntry entry, std::unique_ptr<Model> model, bool calls_tools, Ledger& ledger)
      : role_(role), entry_(std::move(entry)), model_(std::move(model)), calls_tools_(calls_tools), ledger_(&ledger) {}
  std::string role_;
  ModelEntry entry_;
  std::unique_ptr<Model> model_;
  bool calls_tools_;
  Ledger* ledger_;
};

// The ledger of a proposer's setting, or one that nobody keeps.
class OwnLedger {
 public:
  explicit OwnLedger(const ProposerSetting& setting)
      : own_(setting.ledger ? nullptr : std::make_unique<Ledger>(Caps{})),
        ledger_(setting.ledger ? setting.ledger : own_.get()) {}
  Ledger& operator*() const { return *ledger_; }
  Ledger* operator->() const { return ledger_; }

 private:
  std::unique_ptr<Ledger> own_;
  Ledger* ledger_;
};

// The models file that a setting names.
Result<ModelsFile> ModelsOf(const ProposerSetting& setting);

// What the calls of a question cost.
Spent SpentOn(const Question& question, const Ledger& ledger);

}  // namespace hone
