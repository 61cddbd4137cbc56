// hone import, without any Python: a problem.json that names the file that it is of.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "command/command.h"
#include "command/testing/silence.h"

namespace hone {
namespace {

class ImportVerbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFileAtomically(Path("p/model.py"), "a model"));
    ASSERT_TRUE(WriteFileAtomically(Path("p/model.json"), R"({"hone_problem": 1, "name": "small", "contract": "fp32",
      "provenance": {"source": "model.py"},
      "tensors": [{"name": "x", "shape": [8], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0,
                   "deviation": 1}}, {"name": "y", "shape": [8], "dtype": "f32", "role": "output"}],
      "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}]})"));
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  // The source that the copy names.
  std::string SourceIn(const std::string& copy) {
    testing::Silence silence;
    std::vector<std::string> words{Path("p/model.json")};
    if (!copy.empty()) words.insert(words.end(), {"-o", Path(copy)});
    Result<VerbCall> call = VerbCall::Parse(**FindVerb("import"), words, silence);
    if (!call) return call.error().message;
    const auto answer = (*FindVerb("import"))->run(*call);
    if (!answer) return answer.error().message;
    const std::string text = copy.empty() ? answer->text : ReadFile(Path(copy)).value_or("{}");
    return nlohmann::json::parse(text)["provenance"]["source"];
  }

  TempDirectory folder_ = *TempDirectory::Create("import_verb");
};

TEST_F(ImportVerbTest, AProblemFindsTheFileThatItIsOfFromAnywhere) {
  EXPECT_EQ(SourceIn("p/copy.json"), "model.py") << "both can move";
  EXPECT_EQ(SourceIn("copy.json"), "p/model.py");
  EXPECT_EQ(SourceIn("elsewhere/copy.json"), Path("p/model.py"));
  EXPECT_EQ(SourceIn(""), Path("p/model.py")) << "the text may lie anywhere";
}

}  // namespace
}  // namespace hone
