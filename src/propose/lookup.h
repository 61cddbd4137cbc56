// What a language model can look up before it answers: its tools. Each is a question to data that hone has: an index of
// code, the language's page, findings, what won earlier runs. None opens a file, starts a process or reaches a network,
// whatever its arguments say, and what comes back is bounded.
//
//   question --> model: calls --> LookupDesk: known? well-formed? within the caps? --> Lookup --> text, in a fence
//                  ^                                                                                |
//                  '--------------------------------------------------------------------------------'
//
// To add one, copy lookups/read_code.cc: one file is one lookup, its name is the one that models call.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/row.h"
#include "index/code_index.h"
#include "model/conversation.h"
#include "propose/past_winner.h"
#include "propose/proposer.h"

namespace hone {

inline constexpr int kMostLookups = 24;                   // of one question, over all who sit at it
inline constexpr int kMostLookupRounds = 12;              // answers in a row that call something
inline constexpr std::size_t kLongestLookup = 16u << 10;  // bytes of one

// How much all lookups of a question may bring: a parameter of whoever asks models.
inline constexpr Parameter kLookupTokens{.name = "lookups",
                                         .type = Parameter::Type::kInteger,
                                         .help =
                                             "how much a model may look up for a question, in tokens, about; 0 = "
                                             "nothing",
                                         .otherwise = "12000",
                                         .at_least = 0,
                                         .at_most = 1e6};

// What there is to look into. Used by the thread that proposes.
struct Library {
  std::optional<CodeIndex> index = {};
  std::vector<PastWinner> winners = {};
  bool findings = false;  // they are not in the question, and can be asked for
  std::size_t bytes = 0;  // of all lookups of a question; 0 = none are offered

  // Fails as CodeIndex::Open.
  static Result<Library> Open(const ProposerSetting& setting);
};

struct Lookup {
  std::string_view name;                          // the file's name
  std::string_view doc;                           // for the model
  std::string_view schema;                        // of its arguments: JSON Schema of an object
  bool (*has)(const Library& library) = nullptr;  // whether there is something to look into; null: there always is
  // The arguments are as the schema has them. An error's message goes to the model.
  Result<std::string> (*answer)(const nlohmann::json& arguments, const Question& question, Library& library) = nullptr;
};
std::span<const Lookup* const> AllLookups();  // sorted by name

// The lookups of one question, and what is left of its caps.
class LookupDesk {
 public:
  LookupDesk(Library& library, const Question& question)
      : library_(&library), question_(&question), bytes_(library.bytes) {}

  // What is offered; the same for all questions of a run.
  static std::vector<ModelTool> Tools(const Library& library);

  // The turn that answers the call: never an error of ours, whatever was called and how.
  TalkTurn Answer(const ToolCall& call);

 private:
  Result<std::string> Found(const ToolCall& call);
  Library* library_;
  const Question* question_;
  int calls_ = 0;
  std::size_t bytes_;
};

}  // namespace hone
