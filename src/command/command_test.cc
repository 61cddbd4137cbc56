#include "command/command.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/files.h"
#include "command/evaluation_text.h"
#include "command/testing/silence.h"
#include "problem/import/bridge.h"
#include "verdict/baselines.h"

namespace hone {
namespace {

using testing::Silence;

constexpr Positional kPositionals[] = {{.name = "problem", .help = "problem.json"},
                                       {.name = "candidates", .help = "files", .presence = Presence::kRepeated}};
constexpr Option kOptions[] = {
    {.name = "budget",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "attempts",
     .otherwise = "100",
     .at_least = 1},
    {.name = "time", .type = ValueType::kReal, .value = "S", .help = "seconds", .at_least = 0},
    {.name = "output", .letter = 'o', .value = "PATH", .help = "where to write"},
    {.name = "table", .value = "FILE", .help = "rows", .writes = true},
    {.name = "fresh", .type = ValueType::kFlag, .help = "forget what was"},
    kStoreOption};
constexpr Verb kVerb{.name = "try", .doc = "tries", .positionals = kPositionals, .options = kOptions};

Result<VerbCall> Parse(std::vector<std::string> arguments) {
  static Silence silence;
  return VerbCall::Parse(kVerb, arguments, silence);
}

std::string ErrorOf(std::vector<std::string> arguments) {
  const auto call = Parse(std::move(arguments));
  if (call) return "no error";
  EXPECT_EQ(call.error().kind, ErrorKind::kUsage);
  return call.error().message;
}

TEST(CommandTest, WhatCannotBeWrittenIsSaidBeforeAnythingIsDone) {
  EXPECT_EQ(ErrorOf({"p.json", "--table", "/proc/no/x.csv"}).substr(0, 40), "--table: cannot write /proc/no/x.csv: No");
  EXPECT_EQ(ErrorOf({"p.json", "--output", "/proc/no/x.csv"}), "no error");
}

TEST(CommandTest, AnAnswerIsToldThoughItsFileCannotBeWritten) {
  const Answer answer = AnswerWithFile({{"rows", 2}}, "a table", ExitCode::kDone, "/proc/no/x.csv", "1,2");
  EXPECT_EQ(answer.code, ExitCode::kFailed);
  EXPECT_EQ(answer.text.substr(0, 18), "a table\nunwritten ");
  EXPECT_NE(answer.json.find("\"rows\": 2"), std::string::npos) << answer.json;
  EXPECT_NE(answer.json.find("\"unwritten\": \"cannot "), std::string::npos) << answer.json;
}

TEST(CommandTest, ArgumentsAreReadByName) {
  const auto call = Parse({"p.json", "--budget=7", "--time", "1.5", "-o", "out", "a.hk", "--fresh", "--", "-b.hk"});
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->Text("problem"), "p.json");
  EXPECT_EQ(call->Texts("candidates"), (std::vector<std::string>{"a.hk", "-b.hk"}));
  EXPECT_EQ(call->Int("budget"), 7);
  EXPECT_EQ(call->Real("time"), 1.5);
  EXPECT_EQ(call->Text("output"), "out");
  EXPECT_TRUE(call->Flag("fresh"));
  EXPECT_FALSE(call->json());
}

TEST(CommandTest, WhatIsNotGivenHasItsDefault) {
  const auto call = Parse({"p.json"});
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->Int("budget"), 100);
  EXPECT_FALSE(call->Has("budget"));
  EXPECT_EQ(call->Real("time"), 0);
  EXPECT_EQ(call->Text("output"), "");
  EXPECT_TRUE(call->Texts("candidates").empty());
}

TEST(CommandTest, MistakesAreNamedWithTheirMend) {
  EXPECT_EQ(ErrorOf({"p.json", "--buget", "3"}),
            "unknown option '--buget'; did you mean '--budget'? (see hone try --help)");
  EXPECT_EQ(ErrorOf({"p.json", "-x"}), "unknown option '-x' (see hone try --help)");
  EXPECT_EQ(ErrorOf({"p.json", "--budget", "ten"}),
            "--budget needs a whole number of at least 1, not 'ten' (see hone try --help)");
  EXPECT_EQ(ErrorOf({"p.json", "--budget", "0"}),
            "--budget needs a whole number of at least 1, not '0' (see hone try --help)");
  EXPECT_EQ(ErrorOf({"p.json", "--budget", "3x"}),
            "--budget needs a whole number of at least 1, not '3x' (see hone try --help)");
  EXPECT_EQ(ErrorOf({"p.json", "--time", "nan"}),
            "--time needs a number of at least 0, not 'nan' (see hone try --help)");
  EXPECT_EQ(ErrorOf({"p.json", "--output"}), "--output needs a value: --output PATH (see hone try --help)");
  EXPECT_EQ(ErrorOf({"p.json", "--output", "--json"}), "--output needs a value: --output PATH (see hone try --help)");
  EXPECT_EQ(ErrorOf({"p.json", "--fresh=no"}), "--fresh takes no value (see hone try --help)");
  EXPECT_EQ(ErrorOf({}),
            "PROBLEM is missing: hone try PROBLEM [CANDIDATES ...] [options]; problem.json (see hone try --help)");
}

TEST(CommandTest, AnArgumentTooManyIsRefused) {
  static Silence silence;
  const Verb verb{.name = "alone", .doc = "d"};
  const std::vector<std::string> arguments{"x"};
  const auto call = VerbCall::Parse(verb, arguments, silence);
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().message, "unexpected argument 'x': alone takes none (see hone alone --help)");
}

TEST(CommandTest, HelpIsGivenBeforeAnythingIsDemanded) {
  const auto call = Parse({"--help"});
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_TRUE(call->Flag("help"));
}

TEST(CommandTest, HelpNamesEveryArgumentWithItsDefault) {
  const std::string help = HelpText(kVerb);
  for (const std::string word : {"Usage: hone try PROBLEM [CANDIDATES ...] [options]", "--budget N", "(default: 100)",
                                 "-o, --output PATH", "--json", "--help", "Exit codes:"})
    EXPECT_NE(help.find(word), std::string::npos) << word << " is not in\n" << help;
}

TEST(CommandTest, TheDescriptionIsAJsonSchemaOfTheArguments) {
  const nlohmann::json arguments = Describe(kVerb)["arguments"];
  EXPECT_EQ(arguments["properties"]["budget"],
            (nlohmann::json{{"type", "integer"}, {"description", "attempts"}, {"minimum", 1.0}, {"default", 100}}));
  EXPECT_EQ(arguments["properties"]["fresh"]["type"], "boolean");
  EXPECT_EQ(arguments["properties"]["candidates"]["type"], "array");
  EXPECT_EQ(arguments["required"], nlohmann::json::array({"problem"}));
}

TEST(CommandTest, HelpNamesEveryRowOfATableThatAnOptionChooses) {
  const Verb& optimize = **FindVerb("optimize");
  const std::string help = HelpText(optimize);
  std::size_t rows = 0;
  for (const Option& option : optimize.options) {
    for (const ChoiceHelp& one : ChoicesOf(option)) {
      ++rows;
      EXPECT_NE(help.find("\n    " + one.words), std::string::npos) << one.words << " is not in\n" << help;
    }
  }
  EXPECT_GE(rows, 5u);
  for (const std::string words : {"epsilon:0.35,throttle=5,dead=3", "replay:FILE"})
    EXPECT_NE(help.find(words), std::string::npos) << words;
  const nlohmann::json examples = Describe(optimize)["arguments"]["properties"]["proposer"]["examples"];
  EXPECT_NE(std::find(examples.begin(), examples.end(), "replay:FILE"), examples.end());
}

TEST(CommandTest, HelpAndPyTorchsSideNameEveryBaselineAndNoOther) {
  std::string modes;
  for (const BaselineRow& row : kBaselines) {
    for (const std::string_view verb : {"optimize", "evaluate"}) {
      const auto& options = (*FindVerb(verb))->options;
      const auto baseline =
          std::find_if(options.begin(), options.end(), [](const Option& one) { return one.name == "baseline"; });
      ASSERT_NE(baseline, options.end());
      EXPECT_NE(baseline->help.find(row.name), std::string::npos) << verb << " does not name " << row.name;
    }
    if (row.torch) modes += fmt::format("{}\"{}\"", modes.empty() ? "" : ", ", row.name);
  }
  EXPECT_NE(BaselineBridge().find(fmt::format("MODES = ({})", modes)), std::string::npos) << modes;
}

TEST(CommandTest, ANearVerbIsProposed) {
  const auto verb = FindVerb("docter");
  ASSERT_FALSE(verb);
  EXPECT_EQ(verb.error().message, "unknown verb 'docter'; did you mean 'doctor'? (see hone --help)");
}

TEST(CommandTest, AnAnswerInJsonIsAlwaysUtf8) {
  const Answer answer(nlohmann::json{{"name", "\xff"}}, "");
  EXPECT_TRUE(nlohmann::json::accept(answer.json)) << answer.json;
}

TEST(CommandTest, TheStoreIsTheOptionThenTheEnvironmentThenTheDataDirectory) {
  unsetenv("HONE_STORE");
  EXPECT_EQ(StorePath(*Parse({"p.json"})), DataDirectory() + "/runs.sqlite");
  setenv("HONE_STORE", "/elsewhere.sqlite", 1);
  EXPECT_EQ(StorePath(*Parse({"p.json"})), "/elsewhere.sqlite");
  EXPECT_EQ(StorePath(*Parse({"p.json", "--store", "here.sqlite"})), "here.sqlite");
  unsetenv("HONE_STORE");
}

// Of every verb there is, so that a new one is held to the same.
// "HONE_DATA" in the sources, tests and what serves tests alone apart.
std::set<std::string> VariablesInSources(const std::string& folder) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || path.find("_test.") != path.npos || path.find("/testing/") != path.npos) continue;
    const std::string text = ReadFile(path).value_or("");
    const std::regex literal("\"(HONE_[A-Z_]+|XDG_[A-Z_]+_HOME|CUDA_(HOME|PATH|VISIBLE_DEVICES))\"");
    for (std::sregex_iterator it(text.begin(), text.end(), literal), end; it != end; ++it) found.insert((*it)[1]);
  }
  return found;
}

TEST(CommandTest, TheHelpNamesTheVariablesThatTheCodeReads) {
  const char* source = std::getenv("HONE_SOURCE");
  if (!source) GTEST_SKIP() << "HONE_SOURCE does not name the sources (ctest sets it)";
  std::string all;
  for (const Variable& variable : Variables()) all += fmt::format("{}, ", variable.name);
  std::set<std::string> read = VariablesInSources(std::string(source) + "/src");
  EXPECT_TRUE(read.contains("HONE_DATA"));
  for (const std::string& name : read) EXPECT_NE(all.find(name + ","), std::string::npos) << name;
  for (const Variable& variable : Variables()) {
    const bool ours = variable.name.starts_with("HONE_");
    EXPECT_TRUE(!ours || read.contains(std::string(variable.name))) << variable.name;
  }
}

TEST(CommandTest, AFileThatIsNotThereIsAUsageError) {
  static Silence silence;
  static constexpr Positional kFile[] = {{.name = "problem", .help = "p", .reads = true}};
  static constexpr Option kModel[] = {{.name = "model", .value = "PATH", .help = "m", .reads = true}};
  const Verb verb{.name = "try", .doc = "tries", .positionals = kFile, .options = kModel};
  const std::vector<std::string> absent = {"/no/such.json"}, there = {"/etc/passwd"},
                                 no_model = {"/etc/passwd", "--model", "/no/such.py"};
  EXPECT_EQ(VerbCall::Parse(verb, absent, silence).error().message,
            "PROBLEM: cannot find /no/such.json: No such file or directory (see hone try --help)");
  EXPECT_EQ(VerbCall::Parse(verb, no_model, silence).error().kind, ErrorKind::kUsage);
  EXPECT_TRUE(VerbCall::Parse(verb, there, silence));
}

TEST(CommandTest, ASpeedUpIsSaidAsFasterOrSlower) {
  EXPECT_EQ(SpeedWords(3.761, "eager"), "3.76x faster than eager");
  EXPECT_EQ(SpeedWords(0.0625, "eager"), "16.0x slower than eager");
  EXPECT_EQ(SpeedWords(1.001, "eager"), "as fast as eager");
  EXPECT_EQ(SpeedWords(0, "eager"), "not compared with eager");
  EXPECT_EQ(SpeedupText(0.0027), "0.0027x");
}

TEST(CommandTest, EveryVerbsRowIsComplete) {
  std::set<std::string_view> names;
  for (const Verb* verb : AllVerbs()) {
    SCOPED_TRACE(verb->name);
    EXPECT_TRUE(names.insert(verb->name).second) << "two verbs of this name";
    EXPECT_TRUE(
        std::all_of(verb->name.begin(), verb->name.end(), [](unsigned char c) { return std::islower(c) || c == '-'; }));
    EXPECT_NE(verb->run, nullptr);
    EXPECT_FALSE(verb->doc.empty());
    EXPECT_EQ(verb->doc.find('\n'), std::string_view::npos);
    EXPECT_TRUE(verb->hidden || !verb->json.empty()) << "say what --json prints";
    EXPECT_TRUE(verb->hidden || verb->place > 0) << "say where it stands in the list";
    std::set<std::string_view> arguments{"json", "help"};
    for (const Positional& positional : verb->positionals) {
      EXPECT_TRUE(arguments.insert(positional.name).second) << positional.name;
      const bool last = &positional == &verb->positionals.back();
      EXPECT_TRUE(last || positional.presence != Presence::kRepeated) << "only the last may be repeated";
    }
    for (const Option& option : verb->options) {
      EXPECT_TRUE(arguments.insert(option.name).second) << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_EQ(option.value.empty(), option.type == ValueType::kFlag)
          << option.name << ": a placeholder, unless a flag";
    }
    EXPECT_TRUE(Describe(*verb).is_object());
    const std::string help = HelpText(*verb);
    EXPECT_NE(help.find("Exit codes:"), std::string::npos);
  }
}

TEST(CommandTest, AHeadroomIsNotNegative) {
  Silence silence;
  const std::vector<std::string> words = {"p.json", "--headroom", "-1"};
  const auto call = VerbCall::Parse(**FindVerb("optimize"), words, silence);
  ASSERT_FALSE(call);
  EXPECT_TRUE(call.error().message.starts_with("--headroom needs a number of at least 0, not '-1'"))
      << call.error().message;
}

}  // namespace
}  // namespace hone
