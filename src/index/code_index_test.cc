#include "index/code_index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/testing/must.h"
#include "index/build_index.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::Must;

class CodeIndexTest : public ::testing::Test {
 protected:
  std::string Tree() const { return folder_.path() + "/tree"; }
  std::string Path() const { return folder_.path() + "/index.sqlite"; }
  void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(Tree() + "/" + path).parent_path());
    std::ofstream(Tree() + "/" + path, std::ios::binary) << text;
  }
  IndexReport Build() { return Must(BuildIndex(Tree(), Path(), {})); }
  CodeIndex Open() { return Must(CodeIndex::Open(Path())); }
  // "path:line" of each hit.
  std::vector<std::string> Search(std::string_view query, std::string_view glob = "", int limit = kUsualHits) {
    std::vector<std::string> places;
    for (const CodeHit& hit : Must(Open().Search(query, glob, limit)).hits)
      places.push_back(fmt::format("{}:{}", hit.path, hit.line));
    return places;
  }

  TempDirectory folder_ = Must(TempDirectory::Create("index"));
};
using Places = std::vector<std::string>;

TEST_F(CodeIndexTest, LinesWithMostWordsComeFirstAndDefinitionsBeforeUses) {
  Put("a/use.cc", "int x;\nmake_copy(atom, layout);\n");
  Put("b/define.h", "// a copy\nvoid Make_Copy(int layout) {}\n");
  Put("c/other.h", "make_cop\n");
  Build();
  EXPECT_EQ(Search("make_copy"), (Places{"b/define.h:2", "a/use.cc:2"}));
  EXPECT_EQ(Search("make_copy atom"), (Places{"a/use.cc:2"}));
  EXPECT_EQ(Search("MAKE_COPY", "a/*"), (Places{"a/use.cc:2"}));
  EXPECT_EQ(Search("\"atom, layout\""), (Places{"a/use.cc:2"}));
  EXPECT_EQ(Search("nowhere"), Places{});
  const CodeHits hits = Must(Open().Search("layout", "b/*", 5));
  ASSERT_EQ(hits.hits.size(), 1u);
  ASSERT_TRUE(hits.hits[0].within);
  EXPECT_EQ(hits.hits[0].within->name, "Make_Copy");
}

TEST_F(CodeIndexTest, AGlobTakesLittleTimeWhateverItIs) {
  Put(std::string(200, 'a') + ".cc", "needle\n");
  Put("b/c.cc", "needle\n");
  Build();
  EXPECT_EQ(Search("needle", "b?c.*"), (Places{"b/c.cc:1"}));
  EXPECT_EQ(Search("needle", "b/c.cc"), (Places{"b/c.cc:1"}));
  EXPECT_TRUE(Search("needle", "c.cc").empty()) << "it is of the whole path";
  EXPECT_EQ(Search("needle", "*").size(), 2u);
  std::string stars;
  for (int i = 0; i < 60; ++i) stars += "*a";
  EXPECT_TRUE(Search("needle", stars + "*b").empty());
}

TEST_F(CodeIndexTest, AnswersAreBounded) {
  Put("long.cc", std::string(5000, 'x') + " needle\n" + std::string(2000, '\n'));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "needle\n";
  for (int i = 0; i < 300; ++i) Put(fmt::format("many/{}.cc", i), many);
  Build();
  const CodeHits hits = Must(Open().Search("needle", "", 1'000'000));
  EXPECT_EQ(hits.hits.size(), static_cast<std::size_t>(kMostHits));
  EXPECT_TRUE(hits.more);
  for (const CodeHit& hit : hits.hits) EXPECT_LE(hit.text.size(), kLongestLine);
  const CodeLines lines = Must(Open().Read("long.cc", 1, 2000));
  EXPECT_EQ(lines.text.size(), static_cast<std::size_t>(kMostLines));
  EXPECT_EQ(lines.text[0].size(), kLongestLine);
  EXPECT_EQ(lines.lines, 2001);
  EXPECT_EQ(ToDocument(lines)["next"], kMostLines + 1);
}

TEST_F(CodeIndexTest, QueriesThatCannotBeAnsweredAreRefusedWithAMend) {
  Put("a.cc", "x\n");
  Build();
  for (const std::string& query : {std::string("ab"), std::string("a b c d"), std::string(""), std::string("\"\""),
                                   std::string(500, 'x'), std::string("\xc3\xa4\xc3\xb6\xc3\xbc")}) {
    const auto hits = Open().Search(query, "", 5);
    ASSERT_FALSE(hits) << query;
    EXPECT_EQ(hits.error().kind, ErrorKind::kUsage);
  }
  // What SQL or FTS5 would take for a command is letters here.
  for (const char* query : {"' OR 1=1 --", "text: NEAR(abc", "abc* AND (", "\"; DROP TABLE file; --"})
    EXPECT_TRUE(Must(Open().Search(query, "'*[", 5)).hits.empty()) << query;
}

TEST_F(CodeIndexTest, APathIsANameOfTheIndexAndLeadsNowhereElse) {
  Put("a/b.cc", "inside\n");
  Must(WriteFileAtomically(folder_.path() + "/secret.cc", "secret\n"));
  fs::create_symlink("../secret.cc", Tree() + "/link.cc");
  fs::create_symlink("..", Tree() + "/up");
  fs::create_symlink("a", Tree() + "/within");
  EXPECT_EQ(Build().passed.links, 3);
  EXPECT_TRUE(Search("secret").empty());
  for (const std::string& path :
       {std::string("../secret.cc"), folder_.path() + "/secret.cc", std::string("link.cc"), std::string("up/secret.cc"),
        std::string("a/../../secret.cc"), std::string("a/../a/b.cc"), std::string("./a/b.cc"),
        std::string("/etc/passwd"), std::string(""), std::string("a/b.cc\0", 7), std::string("within/b.cc"),
        std::string("a")}) {
    const auto lines = Open().Read(path, 1, 0);
    ASSERT_FALSE(lines) << path;
    EXPECT_EQ(lines.error().kind, ErrorKind::kNotFound) << path;
  }
  EXPECT_NE(Open().Read("x/b.cc", 1, 0).error().message.find("did you mean a/b.cc"), std::string::npos);
  EXPECT_EQ(Must(Open().Read("a/b.cc", 1, 0)).text, (std::vector<std::string>{"inside"}));
}

TEST_F(CodeIndexTest, WhatBecameALinkSinceIsReadAsItWasAndSaidToHaveChanged) {
  Put("a.cc", "old\n");
  Must(WriteFileAtomically(folder_.path() + "/secret.cc", "old\n"));
  Build();
  EXPECT_FALSE(Must(Open().Read("a.cc", 1, 0)).changed);
  fs::remove(Tree() + "/a.cc");
  fs::create_symlink("../secret.cc", Tree() + "/a.cc");
  const CodeLines lines = Must(Open().Read("a.cc", 1, 0));
  EXPECT_EQ(lines.text, (std::vector<std::string>{"old"}));
  EXPECT_TRUE(lines.changed);
  fs::remove(Tree() + "/a.cc");
  Put("a.cc", "new\n");
  EXPECT_TRUE(Must(Open().Read("a.cc", 1, 0)).changed);
  EXPECT_EQ(Must(Open().Read("a.cc", 1, 0)).text, (std::vector<std::string>{"old"}));
}

TEST_F(CodeIndexTest, TheSameTreeAgainChangesNothingAndAnotherOneWhatDiffers) {
  Put("a.cc", "void alpha() {}\n");
  Put("b.cc", "void beta() {}\n");
  const IndexReport first = Build();
  EXPECT_EQ(first.files, 2);
  EXPECT_EQ(first.added, 2);
  EXPECT_EQ(first.symbols, 2);
  const std::string before = Must(ReadFile(Path()));
  const IndexReport again = Build();
  EXPECT_EQ(again.added + again.changed + again.removed, 0);
  EXPECT_EQ(Must(ReadFile(Path())), before);
  Put("a.cc", "void gamma() {}\n");
  fs::remove(Tree() + "/b.cc");
  Put("c.cc", "void delta() {}\n");
  const IndexReport third = Build();
  EXPECT_EQ(third.added, 1);
  EXPECT_EQ(third.changed, 1);
  EXPECT_EQ(third.removed, 1);
  EXPECT_EQ(third.symbols, 2);
  EXPECT_TRUE(Search("alpha").empty());
  EXPECT_TRUE(Search("beta").empty());
  EXPECT_EQ(Search("gamma"), (Places{"a.cc:1"}));
  EXPECT_EQ(Search("delta"), (Places{"c.cc:1"}));
  EXPECT_FALSE(Must(Open().Find("alpha", "", 5)).exact);
}

TEST_F(CodeIndexTest, BinaryLargeAndOddFilesAreLeftOutAndCounted) {
  Put("good.cc", "good\n");
  Put("binary.cc", std::string("a\0b", 3));
  Put("large.cc", std::string(kLargestSource + 1, 'x'));
  Put(".git/config.cc", "gitted\n");
  Put("empty.cc", "");
  ASSERT_EQ(mkfifo((Tree() + "/pipe.cc").c_str(), 0600), 0);
  const IndexReport report = Build();
  EXPECT_EQ(report.files, 2);
  EXPECT_EQ(report.passed.binary, 1);
  EXPECT_EQ(report.passed.large, 1);
  EXPECT_EQ(report.passed.unreadable, 1);
  EXPECT_TRUE(Search("gitted").empty());
  EXPECT_EQ(Must(Open().Read("empty.cc", 1, 0)).lines, 0);
}

TEST_F(CodeIndexTest, SymbolsAreFoundByNameByScopeAndByAPartOfTheirName) {
  Put("a.h", "namespace cute { struct Layout { void size() {} }; struct LayoutX {}; }\nstruct Layout {};\n");
  Build();
  EXPECT_EQ(Must(Open().Find("Layout", "", 9)).hits.size(), 2u);
  EXPECT_TRUE(Must(Open().Find("Layout", "", 9)).exact);
  EXPECT_EQ(Must(Open().Find("cute::Layout", "", 9)).hits.size(), 1u);
  EXPECT_EQ(Must(Open().Find("Layout::size", "", 9)).hits.at(0).symbol.scope, "cute::Layout");
  EXPECT_TRUE(Must(Open().Find("ute::Layout", "", 9)).hits.empty());
  EXPECT_TRUE(Must(Open().Find("Layout", "macro", 9)).hits.empty());
  const SymbolHits part = Must(Open().Find("youtx", "", 9));
  EXPECT_FALSE(part.exact);
  ASSERT_EQ(part.hits.size(), 1u);
  EXPECT_EQ(part.hits[0].symbol.name, "LayoutX");
  EXPECT_TRUE(Must(Open().Find("Layout", "", 1)).more);
}

TEST_F(CodeIndexTest, AKilledRunLeavesTheOldIndexOrNone) {
  for (int i = 0; i < 400; ++i) Put(fmt::format("{}.cc", i), fmt::format("void old_{}() {{}}\n", i));
  for (const bool had_one : {false, true}) {
    if (had_one) Build();
    for (int i = 0; had_one && i < 400; ++i) Put(fmt::format("{}.cc", i), fmt::format("void new_{}() {{}}\n", i));
    const pid_t child = fork();
    if (child == 0) {  // ends in the middle, as by kill -9: no destructor runs
      static_cast<void>(BuildIndex(Tree(), Path(), {.stage = [](std::string_view at) {
                                     if (at.find("300") != at.npos) kill(getpid(), SIGKILL);
                                   }}));
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    if (!had_one) {
      const auto open = CodeIndex::Open(Path());
      ASSERT_FALSE(open);
      EXPECT_EQ(open.error().kind, ErrorKind::kNotFound);
    } else {
      EXPECT_EQ(Search("old_399"), (Places{"399.cc:1"}));
      EXPECT_TRUE(Search("new_3").empty());
    }
  }
  EXPECT_EQ(Build().changed, 400);
  EXPECT_EQ(Search("new_399"), (Places{"399.cc:1"}));
}

TEST_F(CodeIndexTest, AnIndexOfAnotherTreeOrOfSomethingElseIsRefused) {
  Put("a.cc", "x\n");
  Build();
  const auto other = BuildIndex(folder_.path(), Path(), {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::kUsage);
  EXPECT_NE(other.error().message.find("is the index of"), std::string::npos);
  const std::string foreign = folder_.path() + "/foreign.sqlite";
  {
    Connection connection = Must(Connection::Open(foreign, IfAbsent::kCreate));
    Must(connection.Execute("CREATE TABLE theirs (x)"));
  }
  EXPECT_EQ(BuildIndex(Tree(), foreign, {}).error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(CodeIndex::Open(foreign).error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(CodeIndex::Open(folder_.path() + "/none.sqlite").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(BuildIndex(Tree() + "/a.cc", Path(), {}).error().kind, ErrorKind::kUsage);
  const std::atomic<bool> interrupted = true;
  Put("a.cc", "y\n");
  EXPECT_EQ(BuildIndex(Tree(), Path(), {.interrupted = &interrupted}).error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ(Must(Open().Read("a.cc", 1, 0)).text[0], "x");
}

TEST_F(CodeIndexTest, EscapesOfTerminalsAreShownAsLetters) {
  Put("a\x1b[2J.cc", "needle \x1b]0;owned\x07\x9b\n");
  Build();
  for (const std::string& text :
       {Text(Must(Open().Search("needle", "", 5))), Text(Must(Open().Read("a\x1b[2J.cc", 1, 0)))}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\x07'), std::string::npos) << text;
  }
}

TEST(LinesTest, AreReadFromWords) {
  EXPECT_EQ(Must(ParseLines("")), std::pair(1, 0));
  EXPECT_EQ(Must(ParseLines("120")), std::pair(120, 0));
  EXPECT_EQ(Must(ParseLines("120-")), std::pair(120, 0));
  EXPECT_EQ(Must(ParseLines("120-180")), std::pair(120, 180));
  for (const char* wrong : {"x", "0", "-5-3", "9-3", "1-2-3", "1-99999999999", "--"})
    EXPECT_FALSE(ParseLines(wrong)) << wrong;
}

}  // namespace
}  // namespace hone
