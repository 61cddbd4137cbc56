// The program as a user meets it: build/hone in a process of its own.
#include "cli/cli.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

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
  EXPECT_NE(exit.error.find("Verbs:"), std::string::npos);
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
