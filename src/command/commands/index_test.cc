#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/testing/must.h"
#include "command/command.h"
#include "command/testing/silence.h"

namespace hone {
namespace {

using testing::Must;
using Json = nlohmann::json;

class IndexVerbsTest : public ::testing::Test {
 protected:
  IndexVerbsTest() {
    Must(WriteFileAtomically(Folder() + "/one/a.h", "struct Needle {};\nint needle_count;\n"));
    Must(WriteFileAtomically(Folder() + "/two/b.h", "struct Other {};\n"));
  }
  std::string Folder() const { return folder_.path(); }
  Result<Answer> Call(std::string_view verb, std::vector<std::string> arguments) {
    testing::Silence silence;
    for (const char* word : {"--store", "STORE"})
      arguments.emplace_back(word == std::string_view("STORE") ? Folder() + "/runs.sqlite" : word);
    const Verb* row = Must(FindVerb(verb));
    auto call = VerbCall::Parse(*row, arguments, silence);
    if (!call) return tl::unexpected<Error>(call.error());
    return row->run(*call);
  }
  Json Document(std::string_view verb, std::vector<std::string> arguments) {
    return Json::parse(Must(Call(verb, std::move(arguments))).json);
  }

  TempDirectory folder_ = Must(TempDirectory::Create("verbs"));
};

TEST_F(IndexVerbsTest, AnIndexLiesBesideTheStoreUnderItsFoldersName) {
  const Json made = Document("index", {Folder() + "/one"});
  EXPECT_EQ(made["index"], Folder() + "/indexes/one.sqlite");
  EXPECT_EQ(made["symbols"], 1);
  EXPECT_EQ(Document("search-code", {"needle_count"})["hits"][0]["line"], 2);
  EXPECT_EQ(Document("find-symbol", {"Needle"})["symbols"][0]["path"], "a.h");
  EXPECT_EQ(Document("read-code", {"a.h", "2-2"})["text"], "int needle_count;\n");
  EXPECT_EQ(Must(Call("search-code", {"nowhere"})).code, ExitCode::kNo);
  EXPECT_EQ(Must(Call("find-symbol", {"Nowhere"})).code, ExitCode::kNo);
}

TEST_F(IndexVerbsTest, OfSeveralOneIsNamed) {
  EXPECT_EQ(Call("search-code", {"needle"}).error().kind, ErrorKind::kNotFound);
  Document("index", {Folder() + "/one"});
  Document("index", {Folder() + "/two", "--name", "second"});
  const auto which = Call("search-code", {"needle"});
  ASSERT_FALSE(which);
  EXPECT_EQ(which.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(which.error().message, "there are several code indexes; --index says which: one, second");
  EXPECT_EQ(Document("find-symbol", {"Other", "--index", "second"})["exact"], true);
  EXPECT_EQ(Document("find-symbol", {"Needle", "--index", Folder() + "/indexes/one.sqlite"})["exact"], true);
  EXPECT_EQ(Call("find-symbol", {"Other", "--index", "third"}).error().kind, ErrorKind::kNotFound);
}

TEST_F(IndexVerbsTest, ANameIsNoWayToAnotherFolder) {
  for (const char* name : {"../x", "a/b", "", ".", ".hidden"}) {
    const auto made = Call("index", {Folder() + "/one", "--name", name});
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().kind, ErrorKind::kUsage) << name;
  }
}

}  // namespace
}  // namespace hone
