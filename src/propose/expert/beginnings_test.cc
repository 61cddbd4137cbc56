// Programs to begin with: each cut once, and each with what may pay.
#include "propose/expert/beginnings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "target/shipped_model.h"

namespace hone::expert {
namespace {

std::string Tensor(const std::string& name, const std::string& shape, const std::string& role) {
  const std::string generator = R"(, "generator": {"kind": "uniform", "low": 0, "high": 1})";
  return R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": "f32", "role": ")" + role + "\"" +
         (role == "output" ? "" : generator) + "}";
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

}  // namespace
}  // namespace hone::expert
