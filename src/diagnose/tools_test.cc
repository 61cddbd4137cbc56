#include "diagnose/tools.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bubblewrap.h"
#include "base/files.h"
#include "base/json_schema.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::vector<Subject> TwoSubjects(double text_bytes) {
  std::vector<Subject> subjects(2);
  subjects[0].profile = Profile(Scope::kLaunch, "relu");
  subjects[0].profile.Set("text_bytes", text_bytes, FactSource::kCubin);
  subjects[0].profile.SetWord("occupancy_limit", "warps", FactSource::kLaunch);
  subjects[1].profile = Profile(Scope::kPlan, "plan.json");
  return subjects;
}

class ToolsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!BubblewrapWorks()) GTEST_SKIP() << "bubblewrap does not work here";
    folder_ = std::make_unique<TempDirectory>(*TempDirectory::Create("tools"));
  }

  void Write(const std::string& name, const std::string& text) const {
    const fs::path path = fs::path(folder_->path()) / name;
    ASSERT_TRUE(WriteFileAtomically(path.string(), text));
    fs::permissions(path, fs::perms::owner_all);
  }
  // The only tool's answer.
  ToolAnswer Ask(const ToolSettings& settings = {}) const {
    const auto answers = AskTools(folder_->path(), subjects_, settings);
    EXPECT_TRUE(answers) << answers.error().message;
    return answers && !answers->empty() ? answers->front() : ToolAnswer{};
  }

  std::unique_ptr<TempDirectory> folder_;
  std::vector<Subject> subjects_ = TwoSubjects(200 << 10);
};

TEST_F(ToolsTest, TheExamplesFindWhatTheyAreFor) {
  const fs::path examples = fs::path(std::getenv("HONE_SOURCE")) / "examples" / "tools";
  auto answers = AskTools(examples.string(), subjects_);
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 2u);
  EXPECT_EQ((*answers)[0].wrong, "");
  ASSERT_EQ((*answers)[0].findings.size(), 1u);
  EXPECT_EQ((*answers)[0].findings[0].rule, "tool:code_size.py");
  EXPECT_EQ((*answers)[0].findings[0].evidence, "200 KiB of instructions, where 128 KiB stay near");
  EXPECT_EQ((*answers)[1].wrong, "");
  EXPECT_TRUE((*answers)[1].findings.empty());
  for (int i = 0; i < 5; ++i) subjects_.push_back(subjects_[0]);
  answers = AskTools(examples.string(), subjects_);
  ASSERT_TRUE(answers);
  ASSERT_EQ((*answers)[1].findings.size(), 1u) << (*answers)[1].wrong;
  EXPECT_EQ((*answers)[1].findings[0].subject, "plan.json");
}

TEST_F(ToolsTest, AToolReadsWhatTheSchemaSays) {
  Write("echo.sh", "#!/bin/sh\ncat >&2\nexit 3\n");
  const ToolAnswer answer = Ask();
  EXPECT_NE(answer.wrong.find("exited with status 3: {"), std::string::npos) << answer.wrong;
  const auto document = nlohmann::json::parse(answer.wrong.substr(answer.wrong.find('{')), nullptr, false);
  ASSERT_TRUE(document.is_object()) << answer.wrong;
  const auto text = ReadFile(std::string(std::getenv("HONE_SOURCE")) + "/docs/profiles.schema.json");
  const auto issue = JsonSchema(text.value()).Validate(document);
  EXPECT_FALSE(issue) << issue->pointer << ": " << issue->message;
}

TEST_F(ToolsTest, WhatGoesWrongIsSaidAndIsNeverFatal) {
  Write("a_crash.sh", "#!/bin/sh\nkill -SEGV $$\n");
  Write("b_words.sh", "#!/bin/sh\necho all is well\n");
  Write("c_stranger.sh",
        "#!/bin/sh\necho '{\"findings\": [{\"subject\": \"gelu\", \"title\": \"t\", \"evidence\": \"1\"}]}'\n");
  Write("d_greedy.sh",
        "#!/bin/sh\necho '{\"findings\": [{\"subject\": \"relu\", \"title\": \"t\", \"evidence\": \"1\", \"lost\": "
        "7}]}'\n");
  Write("e_good.sh",
        "#!/bin/sh\necho '{\"findings\": [{\"subject\": \"relu\", \"title\": \"t\", \"evidence\": \"1\", \"lost\": "
        "0.5}]}'\n");
  const auto answers = AskTools(folder_->path(), subjects_);
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 5u);
  EXPECT_NE((*answers)[0].wrong, "");
  EXPECT_EQ((*answers)[1].wrong, "its output is no JSON");
  EXPECT_EQ((*answers)[2].wrong, "no profile has the subject 'gelu'");
  EXPECT_NE((*answers)[3].wrong.find("/findings/0/lost"), std::string::npos) << (*answers)[3].wrong;
  EXPECT_EQ((*answers)[4].wrong, "");
  ASSERT_EQ((*answers)[4].findings.size(), 1u);
  EXPECT_EQ((*answers)[4].findings[0].lost, 0.5);
}

TEST_F(ToolsTest, AToolThatDoesNotEndIsEnded) {
  Write("sleep.sh", "#!/bin/sh\nsleep 100\n");
  EXPECT_NE(Ask({.wall = std::chrono::milliseconds(300)}).wrong.find("ran past"), std::string::npos);
}

TEST_F(ToolsTest, AToolSeesNoFilesOfOursAndNoNetwork) {
  Write("look.sh",
        "#!/bin/sh\ntest -e \"$0\" && test ! -e /root && test ! -e /home && ! grep -q : /proc/net/route 2>/dev/null && "
        "echo '{\"findings\": []}'\n");
  EXPECT_EQ(Ask().wrong, "");
}

TEST_F(ToolsTest, AFolderWithoutToolsIsRefused) {
  const auto answers = AskTools(folder_->path(), subjects_);
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().kind, ErrorKind::kUsage);
  EXPECT_NE(answers.error().message.find("holds no executable file"), std::string::npos);
}

}  // namespace
}  // namespace hone
