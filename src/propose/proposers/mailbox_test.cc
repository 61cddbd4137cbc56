#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "base/testing/must.h"
#include "propose/proposer.h"
#include "propose/testing/small_graph.h"

namespace hone {
namespace {

using testing::Must;
namespace fs = std::filesystem;

constexpr char kGood[] = "idea: first\n```module\nint x;\n```\nidea: second\n```module\nint y;\n```\n";

class MailboxTest : public ::testing::Test {
 protected:
  MailboxTest() {
    attempt_.number = 1;
    attempt_.proposal = {.candidate = {CandidateKind::kModule, "int  y; // known\n"}, .origin = "test", .key = "k"};
  }

  std::string Box() const { return folder_.path() + "/box"; }
  std::unique_ptr<Proposer> Open() {
    const auto chosen = Must(ChooseProposer("mailbox:" + Box()));
    return Must(chosen.row->make({.graph = graph_, .machine = machine_, .parameters = chosen.parameters}));
  }
  // The file that ends so; "" while there is none.
  std::string Find(std::string_view suffix) const {
    for (const auto& entry : fs::directory_iterator(Box())) {
      if (entry.path().string().ends_with(suffix)) return entry.path().string();
    }
    return "";
  }
  std::string Await(std::string_view suffix) const {
    for (int i = 0; i < 500; ++i) {
      if (const std::string path = Find(suffix); !path.empty()) return path;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "no file *" << suffix;
    return "";
  }
  // Answers as soon as it is asked: `first` to the prompt, `second` to the demand of a repair.
  Result<Round> Propose(const Question& question, const std::string& first, const std::string& second = "") {
    const std::unique_ptr<Proposer> proposer = Open();
    std::jthread answerer([&] {
      const std::string prompt = Await(".prompt.md");
      const std::string place = prompt.substr(0, prompt.size() - std::string_view(".prompt.md").size());
      EXPECT_TRUE(WriteFileAtomically(place + ".answer.md", first));
      if (second.empty()) return;
      EXPECT_NE(Must(ReadFile(Await(".repair.md"))).find("It was not understood: "), std::string::npos);
      EXPECT_TRUE(WriteFileAtomically(place + ".answer2.md", second));
    });
    return proposer->Propose(question);
  }
  std::string Closed() const { return nlohmann::json::parse(Must(ReadFile(Find(".closed.json"))))["outcome"]; }

  TempDirectory folder_ = Must(TempDirectory::Create("mailbox"));
  const Graph graph_ = testing::SmallGraph();
  const DeviceModel machine_;
  Attempt attempt_;
};

TEST_F(MailboxTest, AnAnswerBecomesProposalsAndIsNotAskedForAgain) {
  const Round round = Must(Propose({}, kGood));
  ASSERT_EQ(round.proposals.size(), 2u);
  EXPECT_EQ(round.proposals[0].origin, "mailbox: first");
  EXPECT_EQ(Closed(), "answered");
  const std::string prompt = Find(".prompt.md");
  const auto asked = fs::last_write_time(prompt);
  // Another process, nobody at the other end.
  EXPECT_EQ(Must(Open()->Propose({})).proposals.size(), 2u);
  EXPECT_EQ(fs::last_write_time(prompt), asked);
}

TEST_F(MailboxTest, QuestionsHaveTheirOwnFiles) {
  static_cast<void>(Must(Propose({}, kGood)));
  fs::remove(Find(".prompt.md"));
  static_cast<void>(Must(Propose({.turn = 1}, "done")));
  fs::remove(Find(".prompt.md"));
  static_cast<void>(Must(Propose({.parent = 1, .history = {&attempt_}}, "done")));
  int answers = 0;
  for (const auto& entry : fs::directory_iterator(Box())) answers += entry.path().string().ends_with(".answer.md");
  EXPECT_EQ(answers, 3);
}

TEST_F(MailboxTest, AMalformedAnswerGetsOneRepairAndThenCountsAsFailed) {
  EXPECT_EQ(Must(Propose({}, "Sure, here you are", kGood)).proposals.size(), 2u);
  EXPECT_EQ(Closed(), "answered");
  fs::remove_all(Box());
  EXPECT_TRUE(Must(Propose({}, "Sure, here you are", "Sorry")).proposals.empty());
  EXPECT_EQ(Closed(), "failed");
  EXPECT_TRUE(Must(Open()->Propose({})).proposals.empty()) << "nor is it asked again";
}

TEST_F(MailboxTest, WhatRepeatsAnAttemptIsNotProposed) {
  const Question question{.parent = 1, .history = {&attempt_}};
  const Round round = Must(Propose(question, kGood));
  ASSERT_EQ(round.proposals.size(), 1u) << "the second is attempt 1, but for a comment";
  EXPECT_EQ(round.proposals[0].key, "first");
  fs::remove_all(Box());
  EXPECT_TRUE(Must(Propose(question, "idea: again\n```module\nint y;\n```\n")).proposals.empty());
  EXPECT_EQ(Closed(), "repeated");
}

TEST_F(MailboxTest, NothingButAFileOfFairSizeIsRead) {
  const std::string secret = folder_.path() + "/secret";
  ASSERT_TRUE(WriteFileAtomically(secret, kGood));
  for (const std::string what : {"link", "folder", "pipe", "large"}) {
    SCOPED_TRACE(what);
    fs::remove_all(Box());
    const std::unique_ptr<Proposer> proposer = Open();
    std::jthread answerer([&] {
      const std::string prompt = Await(".prompt.md");
      const std::string place = prompt.substr(0, prompt.size() - std::string_view(".prompt.md").size());
      const std::string answer = place + ".answer.md";
      if (what == "link") fs::create_symlink(secret, answer);
      if (what == "folder") fs::create_directory(answer);
      if (what == "pipe") {
        EXPECT_EQ(mkfifo(answer.c_str(), 0600), 0);
      }
      if (what == "large") {
        EXPECT_TRUE(WriteFileAtomically(answer, std::string(2u << 20, 'x')));
      }
      EXPECT_NE(Await(".repair.md"), "");
      EXPECT_TRUE(WriteFileAtomically(place + ".answer2.md", "done"));
    });
    EXPECT_TRUE(Must(proposer->Propose({})).proposals.empty());
    EXPECT_EQ(Closed(), "done");
  }
}

TEST_F(MailboxTest, WaitingEndsWhenItIsAskedTo) {
  const std::unique_ptr<Proposer> proposer = Open();
  std::jthread asker([&] {
    Await(".prompt.md");
    proposer->Interrupt();
  });
  const auto round = proposer->Propose({});
  ASSERT_FALSE(round);
  EXPECT_EQ(round.error().kind, ErrorKind::kInterrupted);
  asker.join();
  EXPECT_EQ(Must(Propose({}, kGood)).proposals.size(), 2u) << "and may be taken up again";
}

TEST_F(MailboxTest, AFolderThatCannotBeMadeIsSaidAtOnce) {
  ASSERT_TRUE(WriteFileAtomically(Box(), "a file"));
  const auto chosen = Must(ChooseProposer("mailbox:" + Box()));
  EXPECT_FALSE(chosen.row->make({.graph = graph_, .machine = machine_, .parameters = chosen.parameters}));
  EXPECT_FALSE(ChooseProposer("mailbox"));
}

}  // namespace
}  // namespace hone
