#include "command/torch_baselines.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace hone {
namespace {

TEST(TorchBaselinesTest, AFileOfPythonIsAModuleAndAllElseAName) {
  EXPECT_FALSE(ParseOwnModule("eager"));
  EXPECT_FALSE(ParseOwnModule("a:b"));
  const auto whole = ParseOwnModule("kernels/moe.py");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->file, "kernels/moe.py");
  EXPECT_EQ(whole->module_class, "");
  const auto named = ParseOwnModule("moe.py:ModelNew");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->file, "moe.py");
  EXPECT_EQ(named->module_class, "ModelNew");
}

TEST(TorchBaselinesTest, AFileThatIsNotThereIsRefusedByItsName) {
  const auto missing = FindTorchBaselines({}, {}, {.asked = {"nowhere.py:Fast"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(missing.error().message, "--baseline nowhere.py:Fast: there is no file nowhere.py");
}

TEST(TorchBaselinesTest, WithoutPyTorchThereIsNone) {
  const auto folder = TempDirectory::Create("own");
  ASSERT_TRUE(folder);
  const std::string file = folder->path() + "/k.py";
  ASSERT_TRUE(WriteFileAtomically(file, "\n"));
  const auto none = FindTorchBaselines({}, {}, {.python = "/bin/false", .asked = {file}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kUsage);
  EXPECT_NE(none.error().message.find("no Python with torch"), std::string::npos) << none.error().message;
}

TEST(TorchBaselinesTest, AProgramOfTorchExportHasPyTorchsAsAFileOfPythonHas) {
  const auto folder = TempDirectory::Create("own");
  ASSERT_TRUE(folder);
  for (const char* name : {"/k.py", "/k.pt2", "/k.json"}) {
    const std::string file = folder->path() + name;
    ASSERT_TRUE(WriteFileAtomically(file, "\n"));
    Problem problem;
    problem.provenance["source"] = file;
    const auto found = FindTorchBaselines(problem, {}, {.python = "/bin/false"});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->why_not.empty(), file.ends_with(".json")) << name;
  }
}

TEST(TorchBaselinesTest, WhoAsksForNoneOfThemIsAskedForNoPython) {
  const auto none = FindTorchBaselines({}, {}, {.python = "/bin/false", .asked = {"naive"}});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->outside.empty());
  EXPECT_EQ(none->asked, std::vector<std::string>{"naive"});
}

}  // namespace
}  // namespace hone
