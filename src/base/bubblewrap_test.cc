#include "base/bubblewrap.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/process.h"

namespace hone {
namespace {

// Whether any process of the machine is `sleep seconds`.
bool Sleeping(const std::string& seconds) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "cmdline");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text == std::string("sleep\0", 6) + seconds + '\0') return true;
  }
  return false;
}

class BubblewrapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!BubblewrapWorks()) GTEST_SKIP() << "bubblewrap is absent or may not make a sandbox here";
    char name[] = "/tmp/hone_bwrap_XXXXXX";
    folder_ = mkdtemp(name);
    std::ofstream(folder_ + "/file") << "content";
  }
  void TearDown() override {
    if (folder_.empty()) return;
    std::filesystem::remove_all(folder_);
  }
  // The exit of `sh -c script` inside.
  static Exit Shell(const BubblewrapOptions& options, const std::string& script,
                    std::chrono::milliseconds wall = std::chrono::seconds(20)) {
    auto argv = BubblewrapArgv(options);
    argv.insert(argv.end(), {"/bin/sh", "-c", script});
    auto exit = hone::Run({.argv = std::move(argv), .wall = wall});
    EXPECT_TRUE(exit.has_value());
    return exit ? *std::move(exit) : Exit{.code = 255};
  }
  std::string folder_;
};

TEST_F(BubblewrapTest, ItIsStartedByItsPathWhateverTheStartersPathIs) {
  std::vector<std::string> argv{"/usr/bin/env", "-i", "PATH=/nowhere"};
  for (const auto& word : BubblewrapArgv({})) argv.push_back(word);
  argv.insert(argv.end(), {"/bin/echo", "inside"});
  const auto exit = hone::Run({.argv = std::move(argv)});
  ASSERT_TRUE(exit) << exit.error().message;
  EXPECT_EQ(exit->output, "inside\n");
}

TEST_F(BubblewrapTest, FilesOutsideAreNotSeen) {
  EXPECT_FALSE(Shell({}, "cat /etc/passwd").ok());
  EXPECT_FALSE(Shell({}, "cat " + folder_ + "/file").ok());
  EXPECT_FALSE(Shell({}, "touch /usr/hone_was_here").ok());
}

TEST_F(BubblewrapTest, ReadOnlyBindCanBeReadAndNotWritten) {
  const BubblewrapOptions options{.read_only = {{folder_, "/given"}}};
  EXPECT_EQ(Shell(options, "cat /given/file").output, "content");
  EXPECT_FALSE(Shell(options, "touch /given/made").ok());
}

TEST_F(BubblewrapTest, WritableBindIsWritten) {
  EXPECT_TRUE(Shell({.writable = {{folder_, ""}}, .directory = folder_}, "echo x > made").ok());
  EXPECT_EQ(access((folder_ + "/made").c_str(), F_OK), 0);
}

TEST_F(BubblewrapTest, WholeRootIsReadAndNotWritten) {
  if (!BubblewrapBindsRoot()) GTEST_SKIP() << "the system does not let bubblewrap bind all of its files";
  const BubblewrapOptions options{.whole_root = true, .read_only = {{folder_, ""}}};
  EXPECT_TRUE(Shell(options, "test -r /etc/passwd").ok());
  EXPECT_FALSE(Shell(options, "touch /etc/hone_was_here").ok());
  EXPECT_EQ(Shell(options, "ls -A /tmp | wc -l").output, "1\n");  // a /tmp of its own, with what was given
  EXPECT_TRUE(Shell(options, "touch /tmp/mine").ok());
}

// A program, and a library that this process has, where a packed hone has them; only the sandbox names the folder.
TEST_F(BubblewrapTest, AProgramOfOursFindsItsLibraries) {
  BubblewrapOptions options{.environment = {"LD_LIBRARY_PATH=/named"}};
  SeeOurProgram(options, "/usr/bin/true");
  EXPECT_EQ(options.environment[0], "LD_LIBRARY_PATH=/named") << "the system's libraries need no name";
  ASSERT_EQ(options.read_only.size(), 1u);
  EXPECT_EQ(options.read_only[0].path, "/usr/bin/true");

  std::filesystem::create_directories(folder_ + "/lib");
  std::ofstream(folder_ + "/library.c") << "int hone_here(void) { return 7; }";
  const std::string library = folder_ + "/lib/libhere.so";
  ASSERT_TRUE(hone::Run({.argv = {"cc", "-shared", "-fPIC", folder_ + "/library.c", "-o", library},
                         .environment = InheritedEnvironment()})
                  ->ok());
  void* loaded = dlopen(library.c_str(), RTLD_NOW);
  ASSERT_NE(loaded, nullptr) << dlerror();
  SeeOurProgram(options, folder_ + "/bin/hone");
  dlclose(loaded);
  EXPECT_EQ(options.environment[0], "LD_LIBRARY_PATH=" + folder_ + "/lib:/named");
  EXPECT_TRUE(Shell(options, "test -r " + library + " && test ! -e " + folder_ + "/library.c").ok());
}

TEST_F(BubblewrapTest, MissingReadOnlyPathIsLeftOut) {
  EXPECT_TRUE(Shell({.read_only = {{folder_ + "/nowhere", ""}}}, "true").ok());
}

TEST_F(BubblewrapTest, EnvironmentIsOnlyWhatWasNamed) {
  EXPECT_EQ(Shell({.environment = {"A=b=c"}}, "echo $A$HOME").output, "b=c\n");
}

TEST_F(BubblewrapTest, OwnFilesOfTheProcessAreBounded) {
  EXPECT_FALSE(Shell({.tmpfs_bytes = 1 << 20}, "head -c 4000000 /dev/zero > /tmp/large").ok());
}

TEST_F(BubblewrapTest, TimeOutKillsWhatRunsInside) {
  const auto marker = "97" + std::to_string(getpid());
  const auto exit = Shell({}, "setsid sleep " + marker + " & sleep " + marker, std::chrono::milliseconds(300));
  EXPECT_TRUE(exit.timed_out);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (Sleeping(marker) && std::chrono::steady_clock::now() < end) usleep(10'000);
  EXPECT_FALSE(Sleeping(marker));
}

}  // namespace
}  // namespace hone
