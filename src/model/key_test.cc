#include "model/key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/testing/must.h"

namespace hone {
namespace {

using testing::Must;

class KeyTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text, mode_t mode) const {
    const std::string path = folder_.path() + "/key";
    EXPECT_TRUE(WriteFileAtomically(path, text));
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  static std::string Message(const Result<Key>& key) { return key ? "a key" : key.error().message; }
  TempDirectory folder_ = Must(TempDirectory::Create("key"));
};

TEST_F(KeyTest, AFileThatOnlyItsOwnerCanReadGivesIt) {
  EXPECT_EQ(Must(Key::FromFile(Write(" sk-secret\n", 0600))).ForHeader(), "sk-secret");
  for (const mode_t mode : {0640, 0604, 0620, 0666})
    EXPECT_NE(Message(Key::FromFile(Write("sk-secret", mode))).find("others can read the key file"), std::string::npos);
}

TEST_F(KeyTest, WhatIsNoKeyIsRefusedWithoutBeingShown) {
  for (const char* text : {"", "  \n", "two words", "line\r\nX-Injected: 1", "caf\xc3\xa9"}) {
    const std::string message = Message(Key::FromFile(Write(text, 0600)));
    EXPECT_NE(message.find("holds no key"), std::string::npos) << text;
    EXPECT_EQ(message.find("Injected"), std::string::npos);
  }
  EXPECT_NE(Message(Key::FromFile(folder_.path() + "/none")).find("cannot read"), std::string::npos);
  EXPECT_NE(Message(Key::FromFile(folder_.path())).find("is no file"), std::string::npos);
  std::filesystem::create_symlink(Write("sk-secret", 0600), folder_.path() + "/link");
  EXPECT_NE(Message(Key::FromFile(folder_.path() + "/link")).find("cannot read"), std::string::npos);
}

TEST_F(KeyTest, TheEnvironmentGivesIt) {
  setenv("HONE_TEST_KEY", "sk-secret", 1);
  EXPECT_EQ(Must(Key::FromEnvironment("HONE_TEST_KEY")).ForHeader(), "sk-secret");
  unsetenv("HONE_TEST_KEY");
  EXPECT_EQ(Message(Key::FromEnvironment("HONE_TEST_KEY")), "the environment variable HONE_TEST_KEY is not set");
}

TEST_F(KeyTest, ItIsBlottedOutOfTexts) {
  const Key key = Must(Key::FromFile(Write("sk-secret", 0600)));
  EXPECT_EQ(key.Blot("wrong key sk-secret, sk-secret"), "wrong key (key), (key)");
  EXPECT_EQ(Key().Blot("as it was"), "as it was");
}

}  // namespace
}  // namespace hone
