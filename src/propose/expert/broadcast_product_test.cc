// Products that are the same for all batches.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// c @ b for each of 32 batches, none of which has its own, and what `nodes` make of "products".
std::string OfShared(const std::string& tensors, const std::string& nodes, const std::string& made) {
  return R"({"hone_problem": 1, "name": "shared", "tensors": [
  {"name": "c", "shape": [1, 256, 64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "b", "shape": [1, 64, 256], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  )" + tensors +
         R"(], "graph": [
  {"op": "aten.expand.default", "args": {"self": "%c", "size": [32, 256, 64]}, "outputs": ["cs"]},
  {"op": "aten.expand.default", "args": {"self": "%b", "size": [32, 64, 256]}, "outputs": ["bs"]},
  {"op": "aten.bmm.default", "args": {"self": "%cs", "mat2": "%bs"}, "outputs": [")" +
         made + R"("]})" + nodes + "]}";
}

TEST(SharedProductTest, IsMadeOnceAndReadByEachBatchWhereverItLies) {
  const std::string program =
      WrittenText(OfShared(R"({"name": "y", "shape": [256, 256, 32], "dtype": "f32", "role": "output"})",
                           R"(, {"op": "aten.relu.default", "args": {"self": "%products"}, "outputs": ["positive"]},
  {"op": "aten.permute.default", "args": {"self": "%positive", "dims": [1, 2, 0]}, "outputs": ["y"]})",
                           "products"));
  EXPECT_NE(program.find("products = matmul(c_view, b_view)"), std::string::npos) << program;
  EXPECT_NE(program.find("y = nest [i < 256, j < 256, k < 32] (relu(products[i, j]))"), std::string::npos) << program;
}

TEST(SharedProductTest, GoesIntoWhatEachBatchMultipliesItWith) {
  const std::string program = WrittenText(OfShared(
      R"({"name": "w", "shape": [32, 256, 1], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [32, 256, 256], "dtype": "f32", "role": "output"})",
      R"(, {"op": "aten.mul.Tensor", "args": {"self": "%products", "other": "%w"}, "outputs": ["y"]})", "products"));
  EXPECT_NE(program.find("products = matmul(c_view, b_view)"), std::string::npos) << program;
  EXPECT_NE(program.find("y = map(products * w)"), std::string::npos) << program;
}

TEST(SharedProductTest, ThatIsAnOutputIsCopiedToEachBatch) {
  const std::string program =
      WrittenText(OfShared(R"({"name": "y", "shape": [32, 256, 256], "dtype": "f32", "role": "output"})", "", "y"));
  EXPECT_NE(program.find("y_2 = matmul(c_view, b_view)"), std::string::npos) << program;
  EXPECT_NE(program.find("y = nest [i < 32, j < 256, k < 256] (y_2[j, k])"), std::string::npos) << program;
}

TEST(WriterTest, SaysWhatNoStatementMakes) {
  const auto problem = ParseProblem(
      OfShared(R"({"name": "y", "shape": [32, 256, 256], "dtype": "f32", "role": "output"})", "", "y"), "test");
  ASSERT_TRUE(problem) << problem.error().message;
  const auto graph = Graph::Create(*problem);
  ASSERT_TRUE(graph) << graph.error().message;
  const Memory memory(*graph);
  auto pieces = Fuse(memory, PiecesOf(memory), {});
  std::string unwritten;
  EXPECT_TRUE(WriteProgram(memory, pieces, TypicalDevice(), Products::kF32, &unwritten));
  EXPECT_EQ(unwritten, "");
  pieces.back().fold->finish = Value({NamedValue::Kind::kHole}, ScalarType::kReal);
  EXPECT_FALSE(WriteProgram(memory, pieces, TypicalDevice(), Products::kF32, &unwritten));
  EXPECT_EQ(unwritten, "y");
}

}  // namespace
}  // namespace hone::expert
