// Verbs for a device that is not here.
#include "command/target.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "command/testing/silence.h"

namespace hone {
namespace {

using Json = nlohmann::json;

using testing::Silence;

class NamedDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFileAtomically(problem_, R"({"hone_problem": 1, "name": "product", "contract": "bf16", "tensors": [
        {"name": "a", "shape": [1024, 1024], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
        {"name": "b", "shape": [1024, 1024], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
        {"name": "y", "shape": [1024, 1024], "dtype": "bf16", "role": "output"}],
        "graph": [{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["y"]}]})"));
  }

  Result<Answer> Call(std::string_view name, std::vector<std::string> arguments) {
    Result<VerbCall> call = VerbCall::Parse(**FindVerb(name), arguments, silence_);
    if (!call) return tl::unexpected<Error>(call.error());
    return (*FindVerb(name))->run(*call);
  }
  Json Document(std::string_view name, std::vector<std::string> arguments) {
    const auto answer = Call(name, std::move(arguments));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? Json::parse(answer->json) : Json();
  }
  std::string Failure(std::string_view name, std::vector<std::string> arguments) {
    const auto answer = Call(name, std::move(arguments));
    if (answer) return "none";
    EXPECT_EQ(answer.error().kind, ErrorKind::kUsage);
    return answer.error().message;
  }
  // What the expert writes for the device.
  std::string Program(const std::string& device) {
    return Document("propose", {problem_, "--device", device})[0]["text"];
  }

  Silence silence_;
  TempDirectory folder_ = *TempDirectory::Create("named_device");
  std::string problem_ = folder_.path() + "/product.json", program_ = folder_.path() + "/product.hk";
};

TEST_F(NamedDeviceTest, AnUnknownOneListsTheKnownOnes) {
  EXPECT_EQ(Failure("propose", {problem_, "--device", "h20"}),
            "--device: no device is known as 'h20': there are a100, b200, h100, h200, l40s, rtx4090, rtx5090");
  EXPECT_EQ(Failure("propose", {problem_, "--device", "h200", "--target", "cpu"}),
            "--device names a CUDA device: leave out --target cpu");
}

TEST_F(NamedDeviceTest, ItsBoundIsMarkedAsTheDatasheets) {
  const Json bound = Document("graph", {problem_, "--device", "h200"})["bound"];
  EXPECT_EQ(bound["ceilings"], "datasheet");
  EXPECT_NEAR(bound["flops_us"], 2.0 * 1024 * 1024 * 1024 / 989.4e6, 1e-3);
  EXPECT_NEAR(bound["bytes_us"], 3 * 2.0 * 1024 * 1024 / 4800e3, 1e-3);
  const auto answer = Call("graph", {problem_, "--device", "h200"});
  EXPECT_NE(answer->text.find(" of NVIDIA H200 by its datasheet, limited by "), std::string::npos) << answer->text;
}

TEST_F(NamedDeviceTest, TheArithmeticOfItsBoundIsShown) {
  const Json document = Document("bound", {problem_, "--device", "h200"});
  const double product = 1024.0 * 1024 * 1024, matrix = 2.0 * 1024 * 1024;
  EXPECT_EQ(document["bound"], Document("graph", {problem_, "--device", "h200"})["bound"]);
  EXPECT_EQ(document["ceilings"]["source"], "datasheet");
  EXPECT_EQ(document["ceilings"]["arithmetic"]["from"], "matmul_flops.f16");
  EXPECT_DOUBLE_EQ(document["flops"]["multiply_adds"], product);
  EXPECT_DOUBLE_EQ(document["bytes"]["read"], 2 * matrix);
  EXPECT_DOUBLE_EQ(document["bytes"]["written"], matrix);
  ASSERT_EQ(document["operators"].size(), 1);
  const Json& alone = document["operators"][0];
  EXPECT_EQ(alone["limited_by"], document["bound"]["limited_by"]) << "one operator is all of it";
  EXPECT_DOUBLE_EQ(document["operators_alone_us"], document["bound"]["us"]);
  EXPECT_FALSE(document["not_vouched_for"].empty());

  const auto answer = Call("bound", {problem_, "--device", "h200"});
  for (const char* line : {"product, contract bf16, on NVIDIA H200", "  multiply-adds            1.07 G",
                           "bound      2.", "unsure     the ceilings are the datasheet's"})
    EXPECT_NE(answer->text.find(line), std::string::npos) << line << "\n" << answer->text;
}

TEST_F(NamedDeviceTest, ProgramsAreWrittenAndLoweredForIt) {
  EXPECT_NE(Program("h200").find("precision: bf16"), std::string::npos);
  const std::string older = Program("a100");
  EXPECT_EQ(older.find("precision: bf16"), std::string::npos) << older;
  ASSERT_TRUE(WriteFileAtomically(program_, older));
  for (const auto& [device, arch] : {std::pair{"a100", "sm_80"}, {"rtx5090", "sm_120"}}) {
    const std::string plan = Document("lower", {program_, "--device", device, "--plan"})["source"];
    EXPECT_EQ(Json::parse(plan)["arch"], arch);
  }
}

TEST_F(NamedDeviceTest, AProgramThatAsksForWhatItLacksIsRefused) {
  ASSERT_TRUE(WriteFileAtomically(program_, Program("h200")));
  const std::string why = Failure("lower", {program_, "--device", "a100"});
  EXPECT_NE(why.find("'precision' bf16: NVIDIA A100-SXM4-80GB (sm_80) has no wgmma; try "), std::string::npos) << why;
}

}  // namespace
}  // namespace hone
