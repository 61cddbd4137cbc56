#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace hone {
namespace {

TEST(FilesTest, WhatIsWrittenIsReadBack) {
  const auto folder = TempDirectory::Create("files-test");
  ASSERT_TRUE(folder) << folder.error().message;
  const std::string path = folder->path() + "/new/folder/file";
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(WriteFileAtomically(path, content));
  EXPECT_EQ(ReadFile(path).value_or("?"), content);
  ASSERT_TRUE(WriteFileAtomically(path, "shorter"));
  EXPECT_EQ(ReadFile(path).value_or("?"), "shorter");
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder->path() + "/new/folder"))
    ++files;
  EXPECT_EQ(files, 1) << "a temporary file was left behind";
}

TEST(FilesTest, AnAbsentFileIsNotFoundAndADirectoryIsAnIoError) {
  const auto absent = ReadFile("/nowhere/file");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(absent.error().message, "cannot read /nowhere/file: No such file or directory");
  const auto directory = ReadFile("/");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().kind, ErrorKind::kIo);
}

TEST(FilesTest, FilesThatStateNoSizeAreReadWhole) {
  EXPECT_GT(ReadFile("/proc/self/status").value_or("").size(), 100u);
}

TEST(FilesTest, WhetherAFileCanBeWrittenIsKnownBefore) {
  const auto folder = TempDirectory::Create("files-test");
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_TRUE(CheckWritable(folder->path() + "/file"));
  EXPECT_TRUE(CheckWritable(folder->path() + "/new/folder/file"));
  EXPECT_TRUE(std::filesystem::is_empty(folder->path())) << "nothing is left behind";
  ASSERT_TRUE(WriteFileAtomically(folder->path() + "/file", "old"));
  EXPECT_TRUE(CheckWritable(folder->path() + "/file"));
  EXPECT_EQ(ReadFile(folder->path() + "/file").value_or("?"), "old");
  for (const std::string& path :
       {folder->path(), folder->path() + "/file/below", std::string("/proc/no/x"), std::string("/proc/x")}) {
    const auto writable = CheckWritable(path);
    ASSERT_FALSE(writable) << path;
    EXPECT_EQ(writable.error().message.substr(0, 13 + path.size()), "cannot write " + path);
  }
}

TEST(FilesTest, AFailedWriteLeavesTheOldContent) {
  const auto folder = TempDirectory::Create("files-test");
  ASSERT_TRUE(folder);
  const std::string path = folder->path() + "/occupied";
  ASSERT_TRUE(MakeDirectories(path + "/by-a-directory"));
  EXPECT_FALSE(WriteFileAtomically(path, "content"));
  EXPECT_TRUE(std::filesystem::is_directory(path + "/by-a-directory"));
}

TEST(FilesTest, ATempDirectoryIsPrivateAndGoesWithItsOwner) {
  std::string path;
  {
    auto folder = TempDirectory::Create("files-test");
    ASSERT_TRUE(folder);
    const TempDirectory moved = std::move(*folder);
    path = moved.path();
    struct stat status{};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    ASSERT_TRUE(WriteFileAtomically(path + "/below/file", "x"));
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(FilesTest, DirectoriesFollowTheEnvironment) {
  const auto set = [](const char* name, const char* value) { value ? setenv(name, value, 1) : unsetenv(name); };
  set("HONE_CACHE", nullptr);
  set("XDG_CACHE_HOME", "/somewhere");
  EXPECT_EQ(CacheDirectory(), "/somewhere/hone");
  set("XDG_CACHE_HOME", "relative");
  set("HOME", "/home/someone");
  EXPECT_EQ(CacheDirectory(), "/home/someone/.cache/hone");
  set("HONE_CACHE", "/ours");
  EXPECT_EQ(CacheDirectory(), "/ours");
  set("HONE_DATA", nullptr);
  set("XDG_DATA_HOME", nullptr);
  EXPECT_EQ(DataDirectory(), "/home/someone/.local/share/hone");
}

}  // namespace
}  // namespace hone
