// Programs to begin with: each cut once, and each with what may pay.
#include "propose/expert/beginnings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "dsl/way.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

std::string Tensor(const std::string& name, const std::string& shape, const std::string& role,
                   const std::string& dtype = "f32") {
  const std::string generator = R"(, "generator": {"kind": "uniform", "low": 0, "high": 1})";
  return R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": ")" + dtype + R"(", "role": ")" + role +
         "\"" + (role == "output" ? "" : generator) + "}";
}

Graph GraphOf(const std::string& tensors, const std::string& nodes, const std::string& contract = "torch") {
  const auto problem = ParseProblem(R"({"hone_problem": 1, "name": "test", "contract": ")" + contract +
                                        R"(", "tensors": [)" + tensors + R"(], "graph": [)" + nodes + "]}",
                                    "test");
  EXPECT_TRUE(problem) << problem.error().message;
  auto graph = Graph::Create(*problem);
  EXPECT_TRUE(graph) << graph.error().message;
  return std::move(*graph);
}

std::vector<std::string> Words(const Graph& graph, const DeviceModel& device) {
  std::vector<std::string> words;
  for (const Beginning& one : BeginningsIn(graph, device)) words.push_back(one.words);
  return words;
}

TEST(BeginningsTest, CutsThatComeToTheSameAreThereOnce) {
  const Graph relu = GraphOf(Tensor("x", "[64, 64]", "input") + ", " + Tensor("y", "[64, 64]", "output"),
                             R"({"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]})");
  EXPECT_EQ(Words(relu, TypicalDevice()), std::vector<std::string>{"everything fused"});
  EXPECT_EQ(Words(relu, DeviceModel{}), std::vector<std::string>{"everything fused"});
  const Graph layer = GraphOf(Tensor("x", "[64, 64]", "input") + ", " + Tensor("w", "[64, 64]", "parameter") + ", " +
                                  Tensor("y", "[64, 64]", "output"),
                              R"({"op": "aten.mm.default", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["p"]},)"
                              R"({"op": "relu", "args": {"self": "%p"}, "outputs": ["q"]},)"
                              R"({"op": "aten.mm.default", "args": {"self": "%q", "mat2": "%w"}, "outputs": ["y"]})");
  EXPECT_EQ(Words(layer, DeviceModel{}), (std::vector<std::string>{"everything fused", "epilogues apart"}));
}

TEST(BeginningsTest, ProductsInTf32AreThereBesideThoseOfF32) {
  DeviceModel device = TypicalDevice();
  device.libraries = {.cublas_lt = true, .cudnn = false};
  const std::string tensors = Tensor("x", "[512, 512]", "input") + ", " + Tensor("w", "[512, 512]", "parameter") +
                              ", " + Tensor("y", "[512, 512]", "output"),
                    nodes = R"({"op": "aten.mm.default", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["y"]})";
  EXPECT_EQ(Words(GraphOf(tensors, nodes, "tf32"), device),
            (std::vector<std::string>{"everything fused, products in TF32", "everything fused"}));
  EXPECT_EQ(Words(GraphOf(tensors, nodes, "fp32"), device), std::vector<std::string>{"everything fused"});
  const auto beginnings = BeginningsIn(GraphOf(tensors, nodes, "tf32"), device);
  EXPECT_EQ(dsl::ToString(beginnings.at(0).kernels.kernels.at(0).settings.at("precision")), "library_tf32");
  EXPECT_NE(dsl::ToString(beginnings.at(1).kernels.kernels.at(0).settings.at("precision")), "library_tf32");
  EXPECT_FALSE(beginnings.at(1).program.statements.at(0).settings.contains("precision"));
}

// What tensor cores leave channels last is read so by a depthwise convolution.
TEST(BeginningsTest, DepthwiseOnesGoOverWhatLiesChannelsLast) {
  const auto convolution = [](const std::string& x, const std::string& w, const std::string& padding,
                              const std::string& groups, const std::string& made) {
    return R"({"op": "convolution", "args": {"input": "%)" + x + R"(", "weight": "%)" + w +
           R"(", "bias": null, "stride": [1, 1], "padding": [)" + padding +
           R"(], "dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": )" + groups +
           R"(}, "outputs": [")" + made + R"("]})";
  };
  const Graph graph = GraphOf(
      Tensor("x", "[8, 32, 28, 28]", "input", "bf16") + ", " + Tensor("w", "[64, 32, 3, 3]", "parameter", "bf16") +
          ", " + Tensor("d", "[64, 1, 7, 7]", "parameter", "bf16") + ", " +
          Tensor("y", "[8, 64, 28, 28]", "output", "bf16"),
      convolution("x", "w", "1, 1", "1", "c") + ", " + convolution("c", "d", "3, 3", "64", "y"));
  std::vector<std::string> ways;
  for (const Beginning& one : BeginningsIn(graph, TypicalDevice()))
    ways.push_back(one.words + ": " + std::string(one.kernels.kernels.at(1).way->name));
  EXPECT_EQ(ways, (std::vector<std::string>{"everything fused: own", "everything fused, channels last: channels"}));
}

}  // namespace
}  // namespace hone::expert
