#include "evaluate/profiled_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/bubblewrap.h"
#include "base/files.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

// Answers with how many questions it was asked, in place of the chip; ends, hangs or talks nonsense when it is asked to
// profile a plan of that name.
constexpr const char* kStandIn = R"(#!/bin/sh
read -r setup
asked=0
while read -r question; do
  asked=$((asked + 1))
  case "$question" in
    *crash*) echo 'it was the kernel' >&2; kill -9 $$;;
    *fault*) echo '{"failed": "an illegal address"}'; exit 3;;
    *hang*) sleep 100;;
    *nonsense*) echo 'nonsense';;
    *see:*) path=${question##*see:}; path=${path%%\"*}; [ -e "$path" ] && echo '{"chip": "seen"}' || echo '{"chip": "hidden"}';;
    *widths*) echo '{"metrics": ["a"], "kernels": [{"name": "k", "values": [1, 2]}]}';;
    *) echo "{\"chip\": \"$asked\"}";;
  esac
done
)";

class ProfiledProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    ASSERT_TRUE(WriteFileAtomically(program_, kStandIn));
    ASSERT_EQ(chmod(program_.c_str(), 0700), 0);
  }
  Result<ProfiledReport> Ask(const std::string& plan, milliseconds wall = milliseconds(20'000)) {
    return process_.Ask({.built = plan}, wall);
  }
  TempDirectory folder_ = TempDirectory::Create("profiled-test").value();
  std::string program_ = folder_.path() + "/stand-in";
  ProfiledProcess process_{{.problem = "{}"}, {.program = program_}};
};

TEST_F(ProfiledProcessTest, OneProcessAnswersForManyCandidates) {
  EXPECT_EQ(process_.starts(), 0);
  for (const char* count : {"1", "2", "3"}) {
    const auto report = Ask("fine");
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->chip, count);
  }
  EXPECT_EQ(process_.starts(), 1);
}

TEST_F(ProfiledProcessTest, ACandidateThatEndsItIsNamedTheReasonAndTheNextGetsAnother) {
  ASSERT_TRUE(Ask("fine"));
  const auto crashed = Ask("crash");
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().kind, ErrorKind::kTool);
  EXPECT_NE(crashed.error().message.find("it was the kernel"), std::string::npos) << crashed.error().message;
  const auto next = Ask("fine");
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->chip, "1");
  EXPECT_EQ(process_.starts(), 2);
}

TEST_F(ProfiledProcessTest, WhatItSaysOfAFaultIsTheErrorAndEndsIt) {
  const auto failed = Ask("fault");
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("an illegal address"), std::string::npos) << failed.error().message;
  ASSERT_TRUE(Ask("fine"));
  EXPECT_EQ(process_.starts(), 2);
}

TEST_F(ProfiledProcessTest, ACandidateThatHangsIsEndedAtTheWall) {
  const auto hung = Ask("hang", milliseconds(200));
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().kind, ErrorKind::kTool);
  ASSERT_TRUE(Ask("fine"));
  EXPECT_EQ(process_.starts(), 2);
}

TEST_F(ProfiledProcessTest, WhatIsNoReportIsCorrupt) {
  EXPECT_EQ(Ask("nonsense").error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(Ask("widths").error().kind, ErrorKind::kCorrupt);
  EXPECT_TRUE(Ask("fine"));
}

TEST_F(ProfiledProcessTest, WhereForeignCodeRunsNothingButItsFoldersIsSeen) {
  if (!BubblewrapWorks() || !BubblewrapMountsProc()) GTEST_SKIP() << "bubblewrap does not work here";
  const TempDirectory given = TempDirectory::Create("given").value(), other = TempDirectory::Create("other").value();
  ProfiledProcess confined({}, {.program = program_, .confined = true, .seen = {given.path()}});
  const auto look = [&](ProfiledProcess& process, const std::string& path) {
    const auto report = process.Ask({.built = "see:" + path}, milliseconds(20'000));
    return report ? report->chip : report.error().message;
  };
  EXPECT_EQ(look(confined, given.path()), "seen");
  EXPECT_EQ(look(confined, other.path()), "hidden");
  EXPECT_EQ(look(process_, other.path()), "seen") << "a plan's process is held by its device context";
}

TEST_F(ProfiledProcessTest, AProgramThatIsNotThereIsOneLine) {
  ProfiledProcess nobody({}, {.program = "/nonexistent/hone"});
  const auto report = nobody.Ask({}, milliseconds(5000));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message.find('\n'), std::string::npos) << report.error().message;
}

}  // namespace
}  // namespace hone
