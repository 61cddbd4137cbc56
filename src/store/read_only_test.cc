// A store that may be read and not written: of another user, or on a mounted snapshot.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "store/store.h"
#include "store/testing/some_records.h"

namespace hone {
namespace {

using namespace testing;
namespace fs = std::filesystem;

// Exit codes of a process that is nobody special.
enum : int { kAsItShouldBe = 0, kNotOpened, kNotRead, kWritten };

int ReadAndTryToWrite(const std::string& path, const std::string& id) {
  auto store = Store::OpenExisting(path);
  if (!store) return kNotOpened;
  const auto runs = store->Runs();
  if (!runs || runs->size() != 1 || runs->front().id != id) return kNotRead;
  return store->CreateRun(SomeRun(), "{}") ? kWritten : kAsItShouldBe;
}

TEST(ReadOnlyStoreTest, ItIsShownAndNotWritten) {
  const TempDirectory folder = *TempDirectory::Create("read_only");
  const std::string path = folder.path() + "/odd #%?.sqlite";
  std::string id;
  {
    Store store = Must(Store::Open(path));
    id = Must(store.CreateRun(SomeRun(), "{}")).id;
  }
  fs::permissions(path, fs::perms(0444));
  fs::permissions(folder.path(), fs::perms(0555));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(kNotOpened);
    _exit(ReadAndTryToWrite(path, id));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  fs::permissions(folder.path(), fs::perms(0755));
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kAsItShouldBe);
}

}  // namespace
}  // namespace hone
