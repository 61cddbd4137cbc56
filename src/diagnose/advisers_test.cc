#include "diagnose/advisers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "base/testing/must.h"

namespace hone {
namespace {

using testing::Must;

// A launch whose loads and stores are narrow, and which spills nothing.
std::vector<Profile> Narrow() {
  Profile profile(Scope::kLaunch, "kernel");
  profile.Set("wide_access_share", 0.1, FactSource::kCubin);
  profile.Set("access_bytes", 4, FactSource::kCubin);
  profile.Set("load_share", 0.5, FactSource::kCubin);
  profile.Set("spill_share", 0, FactSource::kCubin);
  return {profile};
}

TEST(AdvisersTest, TheyReadBackAndAFolderThatIsNoneIsRefused) {
  const TempDirectory folder = Must(TempDirectory::Create("advisers"));
  for (const std::string words : {"none", "raw", "offered", "on", folder.path().c_str()}) {
    const Advisers advisers = Must(Advisers::Parse(words));
    EXPECT_EQ(advisers.Text(), words);
    EXPECT_EQ(advisers.folder.empty(), words != folder.path());
  }
  const auto wrong = Advisers::Parse("of");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(wrong.error().message,
            "--tools of: it is none, raw, offered, on, or a folder with executables, and there is no such folder");
}

TEST(AdvisersTest, NobodyFindsNothingAndTheClassIsStillKnown) {
  std::vector<Profile> profiles = Narrow();
  profiles[0].Set("issue_to_memory", 0.1, FactSource::kCubin);
  const Diagnosis none = Must(AskAdvisers({Advisers::Kind::kNone}, profiles)).diagnosis;
  EXPECT_TRUE(none.findings.empty());
  EXPECT_NE(none.subjects.at(0).classification.decided(), nullptr);
}

TEST(AdvisersTest, RulesSayWhatFactsMean) {
  const Diagnosis on = Must(AskAdvisers({Advisers::Kind::kOn}, Narrow())).diagnosis;
  ASSERT_EQ(on.findings.size(), 1u);
  EXPECT_EQ(on.findings[0].rule, "vector_width");
  ASSERT_FALSE(on.findings[0].moves.empty());
  EXPECT_EQ(on.findings[0].moves[0].knob, "pack");
  EXPECT_EQ(on.findings[0].moves[0].value, "more");
}

TEST(AdvisersTest, RawFactsAskForWhatTheyAreNamedAfterTheLargestFirst) {
  const Diagnosis raw = Must(AskAdvisers({Advisers::Kind::kRaw}, Narrow())).diagnosis;
  ASSERT_EQ(raw.findings.size(), 2u) << "a share of nothing asks for nothing";
  EXPECT_EQ(raw.findings[0].rule, "raw:load_share");
  EXPECT_EQ(raw.findings[1].rule, "raw:wide_access_share");
  EXPECT_NEAR(raw.findings[0].lost, 0.15, 1e-12);
  EXPECT_EQ(raw.findings[0].moves.at(0).knob, "pack");
  EXPECT_EQ(raw.findings[0].moves.at(0).value, "");
}

}  // namespace
}  // namespace hone
