// The program as a user meets it: build/hone in a process of its own.
#include "cli/cli.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "base/files.h"
#include "base/process.h"

namespace hone {
namespace {

Exit Hone(std::vector<std::string> arguments) {
  const char* program = std::getenv("HONE_PROGRAM");
  arguments.insert(arguments.begin(), program ? program : "hone");
  const auto exit = Run({.argv = std::move(arguments), .environment = InheritedEnvironment()});
  EXPECT_TRUE(exit) << exit.error().message;
  return exit.value_or(Exit{.code = -1});
}

class CliTest : public testing::Test {
  void SetUp() override {
    if (!std::getenv("HONE_PROGRAM")) GTEST_SKIP() << "HONE_PROGRAM does not name the program (ctest sets it)";
  }
};

TEST_F(CliTest, VersionIsOneLine) {
  const Exit exit = Hone({"--version"});
  EXPECT_EQ(exit.code, 0);
  EXPECT_TRUE(exit.output.starts_with("hone ")) << exit.output;
  EXPECT_EQ(exit.error, "");
}

TEST_F(CliTest, HelpListsTheVerbsButNotTheHiddenOnes) {
  const Exit exit = Hone({"--help"});
  EXPECT_EQ(exit.code, 0);
  for (const Verb* verb : AllVerbs()) {
    const bool listed = exit.output.find(fmt::format("\n  {} ", verb->name)) != std::string::npos;
    EXPECT_EQ(listed, !verb->hidden) << verb->name;
  }
}

TEST_F(CliTest, NoVerbIsAUsageErrorThatShowsTheHelp) {
  const Exit exit = Hone({});
  EXPECT_EQ(exit.code, 2);
  EXPECT_EQ(exit.output, "");
  EXPECT_NE(exit.error.find("Make a problem faster:"), std::string::npos);
}

TEST_F(CliTest, AUsageErrorIsOneLineAndCodeTwo) {
  const Exit exit = Hone({"doctor", "--jsn"});
  EXPECT_EQ(exit.code, 2);
  EXPECT_EQ(exit.output, "");
  EXPECT_EQ(exit.error, "hone: unknown option '--jsn'; did you mean '--json'? (see hone doctor --help)\n");
}

TEST_F(CliTest, WithJsonAnErrorIsADocumentToo) {
  const Exit exit = Hone({"docter", "--json"});
  EXPECT_EQ(exit.code, 2);
  const auto document = nlohmann::json::parse(exit.output, nullptr, false);
  ASSERT_TRUE(document.is_object()) << exit.output;
  EXPECT_EQ(document["error"]["kind"], "usage");
}

TEST_F(CliTest, EveryVerbExplainsItselfInTextAndInJson) {
  for (const Verb* verb : AllVerbs()) {
    SCOPED_TRACE(verb->name);
    const std::string name(verb->name);
    const Exit text = Hone({name, "--help"});
    EXPECT_EQ(text.code, 0) << text.error;
    EXPECT_EQ(text.output, HelpText(*verb));
    const Exit json = Hone({name, "--help", "--json"});
    EXPECT_EQ(json.code, 0) << json.error;
    EXPECT_EQ(nlohmann::json::parse(json.output, nullptr, false), Describe(*verb));
  }
}

TEST_F(CliTest, DoctorPrintsOneDocumentThatAgreesWithItsExitCode) {
  const Exit exit = Hone({"doctor", "--json"});
  const auto document = nlohmann::json::parse(exit.output, nullptr, false);
  ASSERT_TRUE(document.is_object()) << exit.output;
  bool required_is_present = true;
  for (const auto& check : document["checks"]) {
    if (check["required"] && !check["present"]) required_is_present = false;
    EXPECT_TRUE(check["present"] || check.contains("mend")) << check["name"];
  }
  EXPECT_EQ(document["fit"], required_is_present);
  EXPECT_EQ(exit.code, required_is_present ? 0 : 1);
}

TEST_F(CliTest, AReaderThatWentAwayIsNoFailure) {
  const char* program = std::getenv("HONE_PROGRAM");
  // More than a pipe holds, so that the writer meets the closed end.
  const auto exit = hone::Run(
      {.argv = {"/bin/bash", "-c", "set -o pipefail; for i in 1 2 3 4 5; do \"$0\" help --json | head -1 || exit; done",
                program}});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 0) << exit->error;
  EXPECT_EQ(exit->error, "");
}

TEST_F(CliTest, AFileThatIsNotThereIsAMistakeInTheCommandLine) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"optimize", "no.py"},
        {"evaluate", "no.json", "no.hk"},
        {"inspect", "no.cu"},
        {"lower", "no.hk"},
        {"import", "no.py"},
        {"graph", "no.py"},
        {"propose", "no.py"},
        {"reference", "no.py"},
        {"export", "--problem", "no.json", "--program", "no.hk", "-o", "x"}}) {
    const Exit exit = Hone(arguments);
    EXPECT_EQ(exit.code, 2) << arguments[0];
    EXPECT_NE(exit.error.find(": No such file or directory"), std::string::npos) << exit.error;
    EXPECT_EQ(exit.error.find('\n'), exit.error.size() - 1) << exit.error;
  }
}

// A problem of sums of rows: its operator, and arguments beside x and dim.
std::string SumsOfRows(const std::string& op, const std::string& more = "") {
  return R"({"hone_problem": 1, "name": "sums", "contract": "fp32", "tensors": [
      {"name": "x", "shape": [4, 4], "dtype": "f32", "role": "input",
       "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
      {"name": "y", "shape": [4], "dtype": "f32", "role": "output"}],
    "graph": [{"op": ")" +
         op + R"(", "args": {"self": "%x", "dim": [1])" + more + R"(}, "outputs": ["y"]}]})";
}

TEST_F(CliTest, WhatIsWrongWithAGraphIsNamedWithItsFileAndPlace) {
  const auto folder = TempDirectory::Create("hone-cli");
  ASSERT_TRUE(folder);
  const std::string path = folder->path() + "/p.json";
  ASSERT_TRUE(WriteFileAtomically(path, SumsOfRows("sum", R"(, "keepdims": false)")));
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"graph", path}, {"optimize", path}}) {
    const Exit exit = Hone(verb);
    EXPECT_EQ(exit.code, 2);
    EXPECT_EQ(exit.error, "hone: " + path +
                              ": /graph/0/args/keepdims (sum): the operator has no such argument; did you mean "
                              "'keepdim'?\n");
  }
}

TEST_F(CliTest, AnImportThatCannotBeOptimizedIsWrittenAndNoSuccess) {
  const auto folder = TempDirectory::Create("hone-cli");
  ASSERT_TRUE(folder);
  const std::string path = folder->path() + "/p.json", out = folder->path() + "/out.json";
  ASSERT_TRUE(WriteFileAtomically(path, SumsOfRows("aten._linalg_svd.default")));
  const Exit exit = Hone({"import", path, "-o", out});
  EXPECT_EQ(exit.code, 1);
  EXPECT_NE(exit.error.find("imported, but hone cannot optimize it yet: "), std::string::npos) << exit.error;
  EXPECT_TRUE(ReadFile(out));
}

TEST_F(CliTest, ARunThatIsRefusedLeavesNothingAndThatThereIsNoneIsANo) {
  const auto folder = TempDirectory::Create("hone-cli");
  ASSERT_TRUE(folder);
  const std::string path = folder->path() + "/p.json", store = folder->path() + "/runs.sqlite";
  ASSERT_TRUE(WriteFileAtomically(path, SumsOfRows("sum")));
  const Exit refused =
      Hone({"optimize", path, "--no-torch", "--proposer", "model:nobody", "--models", "/dev/null", "--store", store});
  EXPECT_EQ(refused.code, 2) << refused.error;
  EXPECT_NE(refused.error.find("has no model 'nobody'"), std::string::npos) << refused.error;
  const Exit none = Hone({"runs", "--store", store});
  EXPECT_EQ(none.code, 0);
  EXPECT_TRUE(none.output.starts_with("no runs yet in ")) << none.output;
  EXPECT_EQ(Hone({"runs", "--problem", "nope", "--store", store}).code, 1);
  const Exit more = Hone({"propose", path, "-n", "3", "--store", store});
  EXPECT_EQ(more.code, 2);
  EXPECT_NE(more.error.find(" has no run '" + path + "': here a run is named by its id"), std::string::npos)
      << more.error;
}

TEST_F(CliTest, ARunOfAnotherNumberOfThreadsIsAnother) {
  const auto folder = TempDirectory::Create("hone-cli");
  ASSERT_TRUE(folder);
  const std::string path = folder->path() + "/p.json", store = folder->path() + "/runs.sqlite";
  ASSERT_TRUE(WriteFileAtomically(path, SumsOfRows("sum")));
  const auto optimized = [&](std::vector<std::string> threads) {
    std::vector<std::string> words = {"optimize", path,         "--json", "--no-torch", "--budget",
                                      "1",        "--headroom", "0.99",   "--store",    store};
    words.insert(words.end(), threads.begin(), threads.end());
    const Exit exit = Hone(words);
    EXPECT_LE(exit.code, 1) << exit.error;
    return nlohmann::json::parse(exit.output);
  };
  const nlohmann::json first = optimized({});
  const int cores = first["machine"]["threads"];
  EXPECT_EQ(optimized({"--threads", std::to_string(cores)})["run"], first["run"]);
  EXPECT_NE(optimized({"--threads", std::to_string(cores + 1)})["run"], first["run"]);
}

TEST_F(CliTest, NoLineOfHelpIsWiderThanATerminal) {
  std::vector<std::vector<std::string>> pages = {{"--help"}};
  for (const Verb* verb : AllVerbs()) pages.push_back({std::string(verb->name), "--help"});
  for (const HelpTopic& topic : HelpTopics()) pages.push_back({"help", std::string(topic.name)});
  for (const auto& page : pages) {
    std::string text = Hone(page).output;
    EXPECT_FALSE(text.empty()) << page.back();
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      EXPECT_LE(end, kTextColumns) << text.substr(0, end);
  }
}

TEST_F(CliTest, OptimizeIsTheFirstVerbOfTheHelp) {
  const std::string text = Hone({"--help"}).output;
  const auto at = [&](std::string_view verb) { return text.find(fmt::format("\n  {} ", verb)); };
  EXPECT_LT(at("optimize"), at("runs"));
  EXPECT_LT(at("runs"), at("show"));
  EXPECT_LT(at("show"), at("export"));
  for (const Verb* verb : ListedVerbs()) EXPECT_LE(at("optimize"), at(verb->name)) << verb->name;
}

// What bash offers for `hone WORDS`.
std::string Completed(std::vector<std::string> words) {
  std::vector<std::string> argv = {"/bin/bash", "-c",
                                   "source <(\"$0\" completion bash); COMP_WORDS=(\"$0\" \"$@\"); "
                                   "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _hone; echo \"${COMPREPLY[*]}\"",
                                   std::getenv("HONE_PROGRAM")};
  argv.insert(argv.end(), words.begin(), words.end());
  const auto exit = hone::Run({.argv = std::move(argv), .environment = InheritedEnvironment()});
  return exit ? exit->output + exit->error : exit.error().message;
}

TEST_F(CliTest, BashCompletesStrategiesAndProposersWithTheirParts) {
  EXPECT_EQ(Completed({"compare", "gre"}), "greedy\n");
  EXPECT_EQ(Completed({"compare", "greedy", "mcts:mem"}), "mcts:memory=\n");
  EXPECT_EQ(Completed({"compare", "mcts:memory=0,pri"}), "mcts:memory=0,prior=\n");
  EXPECT_EQ(Completed({"optimize", "--search", "ste"}), "steer\n");
  EXPECT_EQ(Completed({"optimize", "--search", "steer:sta"}), "steer:starts=\n");
  EXPECT_NE(Completed({"compare", "--su"}).find("--suite"), std::string::npos);
  // As bash has it, which breaks a word at its colon and keeps what stands before.
  const std::string line = "hone compare greedy mcts:mem";
  const auto typed = hone::Run(
      {.argv = {"/bin/bash", "-c",
                fmt::format("source <(\"$0\" completion bash); COMP_LINE='{}'; COMP_POINT={}; COMP_WORDS=(hone compare "
                            "greedy mcts : mem); COMP_CWORD=5; _hone; echo \"${{COMPREPLY[*]}}\"",
                            line, line.size()),
                std::getenv("HONE_PROGRAM")},
       .environment = InheritedEnvironment()});
  ASSERT_TRUE(typed);
  EXPECT_EQ(typed->output, "memory=\n");
}

TEST_F(CliTest, BashCompletesVerbsOptionsAndFiles) {
  EXPECT_EQ(Completed({"opt"}), "optimize\n");
  EXPECT_EQ(Completed({"optimize", "--bud"}), "--budget\n");
  EXPECT_EQ(Completed({"optimize", "--target", "cu"}), "cuda\n");
  EXPECT_EQ(Completed({"optimize", "/etc/pass"}).substr(0, 11), "/etc/passwd");
  EXPECT_EQ(Completed({"help", "env"}), "environment\n");
  for (const Verb* verb : ListedVerbs())
    EXPECT_NE(Completed({std::string(verb->name), "--js"}).find("--json"), std::string::npos) << verb->name;
}

TEST_F(CliTest, EveryShellsCompletionNamesEveryVerbAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = Hone({"completion", shell}).output;
    for (const Verb* verb : ListedVerbs()) {
      EXPECT_NE(script.find(verb->name), std::string::npos) << shell << " " << verb->name;
      for (const Option& option : verb->options)
        EXPECT_NE(script.find(option.name), std::string::npos) << shell << " " << option.name;
    }
  }
  EXPECT_EQ(Hone({"completion", "csh"}).code, 2);
}

TEST_F(CliTest, TheManualPageHoldsEveryVerbAndFormats) {
  const std::string page = Hone({"help", "--man"}).output;
  EXPECT_TRUE(page.starts_with(".TH HONE 1"));
  for (const Verb* verb : ListedVerbs()) {
    const std::string name = std::regex_replace(std::string(verb->name), std::regex("-"), "\\-");
    EXPECT_NE(page.find(".SS hone " + name), std::string::npos) << name;
  }
  EXPECT_NE(page.find("HONE_CACHE_MAX"), std::string::npos);
  if (!FindProgram("man")) GTEST_SKIP() << "there is no man here to format the page with";
  const auto formatted =
      hone::Run({.argv = {"man", "--warnings", "-l", "-"}, .environment = InheritedEnvironment(), .input = page});
  ASSERT_TRUE(formatted);
  EXPECT_EQ(formatted->error, "");
}

class TerminalTest : public testing::Test {
 protected:
  std::string Written() {
    std::string text(static_cast<std::size_t>(std::ftell(file_)), '\0');
    std::rewind(file_);
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }
  std::FILE* file_ = std::tmpfile();
};

TEST_F(TerminalTest, AStageThatTakesLongIsALineEveryFewSecondsWhereNobodyRedraws) {
  {
    Terminal terminal(file_);
    Listener& listener = terminal;
    listener.Stage("importing");
    listener.Stage("expected outputs 25 %");
    std::this_thread::sleep_for(std::chrono::milliseconds(3600));
    listener.Stage("");
    EXPECT_EQ(listener.stage(), "expected outputs 25 %");
  }
  EXPECT_EQ(Written(), "expected outputs 25 %, 3 s\n");
}

TEST_F(TerminalTest, AShortStageIsNotShown) {
  {
    Terminal terminal(file_);
    static_cast<Listener&>(terminal).Stage("importing");
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    terminal.Note("done");
  }
  EXPECT_EQ(Written(), "done\n");
}

TEST_F(CliTest, OutputThatCannotBeWrittenIsAFailure) {
  const char* program = std::getenv("HONE_PROGRAM");
  const auto exit = hone::Run({.argv = {"/bin/sh", "-c", "\"$0\" --help > /dev/full", program}});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 3) << exit->error;
}

TEST_F(CliTest, LoweringAProgramOfNothingButLibraryCallsSaysSo) {
  const auto folder = TempDirectory::Create("lower");
  ASSERT_TRUE(folder);
  const std::string program = folder->path() + "/conv.hk";
  ASSERT_TRUE(WriteFileAtomically(program,
                                  "program one\ninput x: f32[1, 8, 6, 9]\nparam w: f32[3, 8, 3, 3]\n"
                                  "output y: f32[1, 3, 6, 9]\ny = conv(x, w) by {padding: 1}\n"));
  const Exit exit = Hone({"lower", program, "--target", "cuda"});
  EXPECT_EQ(exit.code, 0) << exit.error;
  EXPECT_EQ(exit.output, "// No kernels: every step is a library's call; --plan shows them.\n");
  EXPECT_NE(Hone({"lower", program, "--target", "cuda", "--plan"}).output.find("\"sources\": []"), std::string::npos);
}

}  // namespace
}  // namespace hone
