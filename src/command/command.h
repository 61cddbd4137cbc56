// The verbs of hone (`hone optimize`, `hone doctor` ...): one file in command/commands/ is one verb, one row of a
// generated table (cmake/Table.cmake). The row says everything that a surface needs: the command line today, other
// surfaces from the same rows later. To add a verb, copy commands/doctor.cc:
//
//   namespace hone::verb_optimize {
//   namespace {
//   constexpr Positional kPositionals[] = {{.name = "problem", .help = "problem.json or a .py file"}};
//   constexpr Option kOptions[] = {{.name = "budget", .type = ValueType::kInteger, .value = "N",
//                                   .help = "attempts at most", .otherwise = "100", .at_least = 1}, kStoreOption};
//   Result<Answer> RunIt(VerbCall& call) {
//     const std::string path = call.Text("problem");
//     const std::int64_t budget = call.Int("budget");
//     ...
//     return Answer(document, text);  // document: nlohmann::json for --json; text: for people
//   }
//   }  // namespace
//   HONE_ROW(Verb){.name = "optimize", .doc = "...", .options = kOptions, .run = RunIt};
//   }  // namespace hone::verb_optimize
//
// A verb never prints: it returns an Answer, or fails with an Error, and says how far it is through call.Progress and
// Note. The surface prints either the text or the document. --help and --json are everybody's and need no declaration.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/parameters.h"
#include "base/result.h"
#include "base/row.h"

namespace hone {

// The same for every verb; `hone --help` lists them.
enum class ExitCode : int {
  kDone = 0,
  kNo = 1,      // done, but the answer is no: candidate refused, nothing faster found
  kUsage = 2,   // the command line or an input file is wrong
  kFailed = 3,  // the world failed: a tool, a file, a device
  kInterrupted = 130,
};
ExitCode ExitCodeOf(ErrorKind kind);

enum class ValueType { kFlag, kText, kInteger, kReal };

struct Option {
  std::string_view name;  // "budget" for --budget
  char letter = 0;        // 'o' for -o as well, 0 = none
  ValueType type = ValueType::kText;
  std::string_view value = "";  // placeholder in the help: N, PATH, S, RUN (a run's id); empty for a flag
  std::string_view help;
  std::string_view otherwise = "";      // the value when it is not given; "" reads as "", 0 or false
  std::optional<double> at_least = {};  // numbers only
  bool reads = false;                   // it names a file or a folder, which has to be there
  bool writes = false;                  // it names a file that is written at the end, and has to be writable now
  bool repeats = false;                 // may be given several times
  // What it may be, when that is a row of a table with its parameters: ChoicesOf<AllStrategies>.
  std::vector<ChoiceHelp> (*choices)() = nullptr;
};

template <auto kAllRows>
std::vector<ChoiceHelp> ChoicesOf() {
  std::vector<ChoiceHelp> choices;
  for (const auto* row : kAllRows()) choices.push_back(HelpOn(row->name, row->doc, row->parameters));
  return choices;
}

enum class Presence { kRequired, kOptional, kRepeated };  // kRepeated: any number, only as the last one

struct Positional {
  std::string_view name;  // "problem"; shown as PROBLEM
  std::string_view help;
  Presence presence = Presence::kRequired;
  bool reads = false;                              // as of an option
  std::string_view run_with = "";                  // the option with which it is a run and no file
  bool run = false;                                // it is a run's id, or may be one
  std::vector<ChoiceHelp> (*choices)() = nullptr;  // that it begins with one of, as of an option
};

// What a verb found.
struct Answer {
  Answer(const nlohmann::json& document, std::string text_for_people, ExitCode exit_code = ExitCode::kDone);
  // For a verb whose own parts already write JSON: one complete document.
  static Answer FromJsonText(std::string json_document, std::string text_for_people,
                             ExitCode exit_code = ExitCode::kDone);
  std::string json;  // printed with --json
  std::string text;  // printed without; a final newline is added if it lacks one
  ExitCode code = ExitCode::kDone;

 private:
  Answer() = default;
};

// With a file that is written last. Where that fails the answer is told all the same, with the reason as `unwritten`
// and as its last line, and is ExitCode::kFailed.
Answer AnswerWithFile(nlohmann::json document, std::string text, ExitCode code, const std::string& path,
                      std::string_view content);

// Where a verb says how far it is. A surface implements it; the command line's is in cli/. Progress and Note come from
// one thread at a time, stages from any.
class Listener {
 public:
  virtual ~Listener() = default;
  // What is being done from now on, "expected outputs 25 %": a surface says so, with the seconds, when that takes long.
  // Empty: nothing that takes long.
  void Stage(std::string_view what);
  std::string stage() const;                         // the last one that was not empty
  virtual void Progress(std::string_view line) = 0;  // replaces the line before it where that is possible
  virtual void Note(std::string_view line) = 0;      // stays
  virtual bool live() const = 0;  // somebody watches a line that can be redrawn: several updates a second are welcome

 private:
  virtual void ShowStage(std::string_view what) { static_cast<void>(what); }
  mutable Mutex stage_mutex_;
  std::string stage_ HONE_GUARDED_BY(stage_mutex_);
};

struct Verb;

// One call of a verb: its arguments, checked against the row, by name. Asking for a name that the row does not declare
// is a bug (HONE_CHECK). Numbers were checked when the call was made, so getters cannot fail.
class VerbCall {
 public:
  // Fails with kUsage and a line that names the argument and the mend.
  static Result<VerbCall> Parse(const Verb& verb, std::span<const std::string> arguments, Listener& listener);

  bool Has(std::string_view name) const;  // given, not defaulted
  bool Flag(std::string_view name) const;
  std::string Text(std::string_view name) const;  // an option or a positional; "" for an absent one without default
  std::vector<std::string> Texts(
      std::string_view name) const;  // of an option given several times, or a kRepeated positional
  std::int64_t Int(std::string_view name) const;
  double Real(std::string_view name) const;
  bool json() const { return Flag("json"); }

  void Progress(std::string_view line) { listener_->Progress(line); }
  void Note(std::string_view line) { listener_->Note(line); }
  void Stage(std::string_view what) { listener_->Stage(what); }
  Listener& listener() { return *listener_; }

  // From the first call on, Ctrl-C and SIGTERM set this flag (base/interrupt.h) instead of ending the program: look at
  // it often, end within a second and answer with ExitCode::kInterrupted and what there is; an error will do where
  // there is nothing. A second Ctrl-C ends the program at once. A verb that never calls this is simply ended by the
  // signal.
  const std::atomic<bool>& CatchInterrupts();

 private:
  VerbCall(const Verb& verb, Listener& listener) : verb_(&verb), listener_(&listener) {}
  Result<void> Add(std::string_view name, ValueType type, std::optional<double> at_least, std::string value);
  Result<void> FindFiles() const;  // those that arguments name and that have to be there, or writable
  std::string_view Default(std::string_view name) const;
  const Verb* verb_;
  Listener* listener_;
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
};

enum class VerbGroup { kRuns, kKernels, kProblems, kCode, kMachine };

struct Verb {
  std::string_view name;  // the file's name, with - for _
  std::string_view doc;   // one line for the list of verbs
  // Its place in that list: verbs stand in the order of use.
  VerbGroup group = VerbGroup::kMachine;
  int place = 0;
  std::string_view help = "";  // more; paragraphs are filled to the width, lines that begin with a space stay
  std::span<const Positional> positionals = {};
  std::span<const Option> options = {};
  std::string_view json = "";  // what the document of --json holds: its keys and their units
  std::string_view no = "";    // what exit code 1 means here; "" = never given
  Result<Answer> (*run)(VerbCall& call) = nullptr;
  bool hidden = false;       // not listed: processes that hone starts itself
  bool owns_output = false;  // speaks a protocol on standard output; its Answer's text should be empty
  bool only_reads = false;   // changes nothing but caches
};

std::span<const Verb* const> AllVerbs();              // sorted by file name
Result<const Verb*> FindVerb(std::string_view name);  // kUsage with a proposal if unknown

std::string Upper(std::string_view name);  // "problem" -> "PROBLEM", as positionals are shown
std::string Synopsis(const Verb& verb);    // "hone optimize PROBLEM [options]"

inline constexpr std::size_t kTextColumns = 100;  // that no line of help or of a list is wider than, unless a name is

std::string HelpText();                     // hone --help
std::string HelpText(const Verb& verb);     // hone VERB --help
nlohmann::json Describe(const Verb& verb);  // hone VERB --help --json: name, doc, help, JSON Schema of the arguments
// The command line behind the verb's name that says what an object of that schema says; null is an argument that is not
// given. kUsage with a line that names the argument and the mend. What VerbCall::Parse looks for is not looked for.
Result<std::vector<std::string>> ArgumentsOf(const Verb& verb, const nlohmann::json& arguments);

// Of every verb, beside those of its row.
std::span<const Option> CommonOptions();
// All options of a verb.
std::vector<Option> OptionsOf(const Verb& verb);
// What the option may be; empty when that is anything.
std::vector<ChoiceHelp> ChoicesOf(const Option& option);
// The verbs that are listed, in the order of use.
std::vector<const Verb*> ListedVerbs();

std::string ManualPage();  // hone help --man: all of it, for man

// What no verb's help can say: hone help environment, hone help words.
struct HelpTopic {
  std::string_view name;
  std::string_view doc;
  std::string (*text)() = nullptr;
};
std::span<const HelpTopic> HelpTopics();

// An environment variable that hone reads.
struct Variable {
  std::string_view name;
  std::string_view help;
};
std::span<const Variable> Variables();

// A word that outputs and documents use in a meaning of their own.
struct Term {
  std::string_view word;
  std::string_view meaning;
};
std::span<const Term> Glossary();

// What every verb that searches takes.
inline constexpr Option kSeedOption{.name = "seed",
                                    .type = ValueType::kInteger,
                                    .value = "S",
                                    .help = "of every choice by chance",
                                    .otherwise = "1",
                                    .at_least = 0};
inline constexpr Option kThreadsOption{.name = "threads",
                                       .type = ValueType::kInteger,
                                       .value = "N",
                                       .help = "threads that kernels and baselines may use (default: all cores)",
                                       .at_least = 1};
inline constexpr Option kPythonOption{
    .name = "python", .value = "PATH", .help = "interpreter with PyTorch, for .py problems and their baselines"};

// --store of every verb that reads or writes runs, and what it means: the option, else $HONE_STORE, else runs.sqlite in
// DataDirectory().
inline constexpr Option kStoreOption{.name = "store",
                                     .value = "PATH",
                                     .help =
                                         "run store (default: $HONE_STORE, else "
                                         "runs.sqlite in the data directory)"};
std::string StorePath(const VerbCall& call);

// --models of every verb that asks proposers.
inline constexpr Option kModelsOption{.name = "models",
                                      .value = "FILE",
                                      .help =
                                          "the language models that proposers can ask, and who serves them (default: "
                                          "models.toml in the settings folder; docs/models.md)",
                                      .reads = true};

// What to type to start this program once more: "hone" if that is what PATH leads to, else its path, from here if it
// lies below.
std::string ProgramAsTyped();
std::string DefaultStorePath();

}  // namespace hone
