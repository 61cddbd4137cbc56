#include "target/cpu/host_libraries.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"

namespace hone {
namespace {

TEST(HostLibrariesTest, ALibraryOfTheSystemIsFoundWhereTheLoaderFindsIt) {
  const auto found = FindHostLibrary("libm.so.6");
  ASSERT_TRUE(found);
  EXPECT_TRUE(std::filesystem::exists(*found)) << *found;
  EXPECT_EQ(FindHostLibrary(*found), found) << "by its path, too";
}

TEST(HostLibrariesTest, AnAbsentOneIsNot) { EXPECT_EQ(FindHostLibrary("libthereisnone.so.7"), std::nullopt); }

TEST(HostLibrariesTest, OneThatAJudgedModuleMayNotReadIsNone) {
  const auto folder = TempDirectory::Create("library");
  ASSERT_TRUE(folder);
  const std::string copy = folder->path() + "/libm.so.6";
  std::filesystem::copy_file(FindHostLibrary("libm.so.6").value(), copy);
  EXPECT_EQ(FindHostLibrary(copy), std::nullopt);
}

TEST(HostLibrariesTest, TheHostHasWhatIsFound) {
  EXPECT_EQ(DescribeHost().libraries.onednn, FindHostLibrary("libdnnl.so.2").has_value());
  EXPECT_FALSE(DescribeMachine().libraries.onednn) << "what a machine is does not hang on what is installed";
}

}  // namespace
}  // namespace hone
