#include "command/suite_list.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace hone {
namespace {

class SuiteListTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    EXPECT_TRUE(WriteFileAtomically(path, text));
    return path;
  }
  static std::vector<std::string> Names(const std::string& path) {
    const auto problems = ListSuite(path);
    EXPECT_TRUE(problems) << problems.error().message;
    std::vector<std::string> names;
    for (const SuiteProblem& one : problems->problems) names.push_back(one.group + ":" + one.name);
    return names;
  }
  static std::string Failure(const std::string& path) {
    const auto problems = ListSuite(path);
    return problems ? "none" : problems.error().message;
  }
  TempDirectory folder_ = *TempDirectory::Create("suite_list");
};

TEST_F(SuiteListTest, AFolderIsItsProblemsByTheNumbersInTheirNames) {
  for (const char* name : {"level1/10_b.py", "level1/9_a.py", "level2/1_c.json", "top.json", "level1/notes.md",
                           "level1/__init__.py", ".hidden/x.py"})
    Write(name, name);
  const std::string top = folder_.path().substr(folder_.path().rfind('/') + 1);
  EXPECT_EQ(Names(folder_.path()),
            (std::vector<std::string>{"level1:level1/9_a", "level1:level1/10_b", "level2:level2/1_c", top + ":top"}));
}

TEST_F(SuiteListTest, AProblemBesideTheFileThatItIsOfStandsForBoth) {
  Write("small.py", "a model");
  Write("small.json", R"({"hone_problem": 1, "name": "small", "contract": "fp32", "provenance": {"source": "small.py"},
    "tensors": [{"name": "x", "shape": [8], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0,
                 "deviation": 1}}, {"name": "y", "shape": [8], "dtype": "f32", "role": "output"}],
    "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}]})");
  const auto problems = ListSuite(folder_.path());
  ASSERT_TRUE(problems) << problems.error().message;
  ASSERT_EQ(problems->problems.size(), 1u);
  EXPECT_EQ(problems->problems.front().path, folder_.path() + "/small.json");
  // Another problem of that name is a mistake.
  Write("small.json", R"({"hone_problem": 1, "name": "other"})");
  EXPECT_NE(Failure(folder_.path()).find("have one name"), std::string::npos);
}

TEST_F(SuiteListTest, ACheckoutOfKernelBenchIsItsProblemsAndOnlySomeMayBeMeant) {
  for (const char* name : {"KernelBench/level1/1_a.py", "KernelBench/level2/1_b.py", "KernelBench/level2/12_c.py",
                           "src/harness.py", "results/one.json"})
    Write(name, name);
  EXPECT_EQ(Names(folder_.path()),
            (std::vector<std::string>{"level1:level1/1_a", "level2:level2/1_b", "level2:level2/12_c"}));
  const auto some = ListSuite(folder_.path(), "level2/1_*,level1/*");
  ASSERT_TRUE(some);
  ASSERT_EQ(some->problems.size(), 2u);
  EXPECT_EQ(some->problems.at(0).name, "level1/1_a") << "in the order of all";
  EXPECT_EQ(some->problems.at(1).name, "level2/1_b");
  const auto none = ListSuite(folder_.path(), "level5/*");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("--only level5/*: no name in"), std::string::npos) << none.error().message;
}

TEST_F(SuiteListTest, AListNamesThemInItsOrder) {
  Write("a/x.py", "x");
  Write("y.json", "y");
  const std::string text = Write("list.txt", "y.json  # the small one\n\n# none\na/x.py\n");
  EXPECT_EQ(Names(text).at(1), "a:a/x");
  const std::string json = Write("list.json", R"([{"path": "a/x.py", "name": "first", "group": "g"}, "y.json"])");
  EXPECT_EQ(Names(json).at(0), "g:first");
  EXPECT_EQ(ListSuite(json)->problems.at(1).name, "y");
}

TEST_F(SuiteListTest, AnotherContentIsAnotherProblem) {
  const std::string list = Write("list.txt", "x.py\n");
  Write("x.py", "one");
  const std::string before = ListSuite(list)->problems.at(0).key;
  EXPECT_EQ(ListSuite(list)->problems.at(0).key, before);
  Write("x.py", "two");
  EXPECT_NE(ListSuite(list)->problems.at(0).key, before);
}

TEST_F(SuiteListTest, WhatIsWrongIsNamedWithTheMend) {
  const std::string problem = Write("p.json", R"({"hone_problem": 1})");
  EXPECT_EQ(Failure(problem),
            "--suite " + problem + ": that is one problem, not a list of them: hone optimize " + problem);
  const std::string object = Write("o.json", R"({"a": 1})"), number = Write("n.json", R"(["p.json", 3])");
  EXPECT_EQ(Failure(object), "--suite " + object + ": it is no JSON array of paths to problems");
  EXPECT_EQ(Failure(number), "--suite " + number + ": entry 1 is neither a path nor an object with a path");
  const std::string twice = Write("twice.txt", "p.json\np.json\n"), empty = Write("empty.txt", "# nothing\n");
  EXPECT_NE(Failure(twice).find("have one name; a JSON list may give them others"), std::string::npos);
  EXPECT_NE(Failure(empty).find("no problem is there"), std::string::npos);
  const std::string gone = Write("gone.txt", "# of today\np.json\ngone.py\n"),
                    listed = Write("g.json", R"(["gone.py"])");
  EXPECT_TRUE(Failure(gone).starts_with("--suite " + gone + ", line 3: ")) << Failure(gone);
  EXPECT_NE(Failure(gone).find("gone.py"), std::string::npos);
  EXPECT_TRUE(Failure(listed).starts_with("--suite " + listed + ", entry 0: ")) << Failure(listed);
}

TEST_F(SuiteListTest, TheSameProblemUnderTwoNamesIsOne) {
  Write("x.py", "x");
  Write("copy.py", "x");
  Write("a/p.json", "p");
  Write("b/p.json", "p");  // may name other files of values
  const std::string json = Write("list.json", R"(["x.py", "copy.py", {"path": "x.py", "name": "again"}, "a/p.json",
    {"path": "a/p.json", "name": "third"}, "b/p.json"])");
  const auto list = ListSuite(json);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(Names(json), (std::vector<std::string>{list->problems[0].group + ":x", "a:a/p", "b:b/p"}));
  EXPECT_EQ(list->left_out, (std::vector<std::string>{"copy is the same problem as x and left out",
                                                      "again is the same problem as x and left out",
                                                      "third is the same problem as a/p and left out"}));
}

}  // namespace
}  // namespace hone
