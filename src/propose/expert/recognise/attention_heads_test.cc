// Attention whose heads, rows or values are not as the products and the softmax have them.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

std::string Input(const std::string& name, const std::string& shape) {
  return R"({"name": ")" + name + R"(", "shape": )" + shape +
         R"(, "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": -1, "high": 1}},)";
}

// Head h has the values of head h % 4.
TEST(AttentionHeadsTest, ValuesThatHeadsShareOneAfterTheOtherAreReadByAll) {
  const std::string program =
      WrittenText(R"({"hone_problem": 1, "name": "n", "tensors": [)" + Input("q", "[1, 8, 64, 16]") +
                  Input("k", "[1, 8, 64, 16]") + Input("v", "[1, 4, 64, 16]") +
                  R"({"name": "y", "shape": [1, 8, 64, 16], "dtype": "f32", "role": "output"}], "graph": [
        {"op": "repeat", "args": {"self": "%v", "repeats": [1, 2, 1, 1]}, "outputs": ["w"]},
        {"op": "scaled_dot_product_attention", "args": {"query": "%q", "key": "%k", "value": "%w"}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("= attention("), std::string::npos) << program;
  EXPECT_NE(program.find("view v_view = v: [4, 64, 16] strides [1024, 16, 1]\n"), std::string::npos) << program;
}

// Keys and values of [batch, place, head, width], each head's several times side by side, turned and multiplied by bmm.
TEST(AttentionHeadsTest, KeysThatAreRepeatedBeforeTheyAreTurnedAreNotCopied) {
  const auto op = [](const std::string& name, const std::string& arguments, const std::string& made) {
    return R"({"op": ")" + name + R"(", "args": {)" + arguments + R"(}, "outputs": [")" + made + R"("]},)";
  };
  const auto repeated = [&](const std::string& x) {
    return op("unsqueeze", R"("self": "%)" + x + R"(", "dim": 3)", x + "1") +
           op("expand", R"("self": "%)" + x + R"(1", "size": [2, 64, 2, 4, 16])", x + "2") +
           op("view", R"("self": "%)" + x + R"(2", "size": [2, 64, 8, 16])", x + "3") +
           op("permute", R"("self": "%)" + x + R"(3", "dims": [0, 2, 1, 3])", x + "4");
  };
  const std::string program = WrittenText(
      R"({"hone_problem": 1, "name": "n", "tensors": [)" + Input("q", "[2, 64, 8, 16]") + Input("k", "[2, 64, 2, 16]") +
      Input("v", "[2, 64, 2, 16]") + R"({"name": "y", "shape": [2, 8, 64, 16], "dtype": "f32", "role": "output"}],
      "graph": [)" +
      op("permute", R"("self": "%q", "dims": [0, 2, 1, 3])", "q1") +
      op("view", R"("self": "%q1", "size": [16, 64, 16])", "q2") + repeated("k") +
      op("permute", R"("self": "%k4", "dims": [0, 1, 3, 2])", "k5") +
      op("view", R"("self": "%k5", "size": [16, 16, 64])", "k6") + repeated("v") +
      op("view", R"("self": "%v4", "size": [16, 64, 16])", "v5") + op("bmm", R"("self": "%q2", "mat2": "%k6")", "s") +
      op("_softmax", R"("self": "%s", "dim": -1, "half_to_float": false)", "p") +
      op("bmm", R"("self": "%p", "mat2": "%v5")", "o") +
      R"({"op": "view", "args": {"self": "%o", "size": [2, 8, 64, 16]}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("attention(q_view, k_view, v_view)"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(AttentionHeadsTest, ANumberThatWeighsOthersHasNoRows) {
  const std::string program =
      WrittenText(R"({"hone_problem": 1, "name": "n", "tensors": [)" + Input("a", "[64]") + Input("b", "[64]") +
                  Input("c", "[64]") + R"({"name": "y", "shape": [], "dtype": "f32", "role": "output"}], "graph": [
        {"op": "mul.Tensor", "args": {"self": "%a", "other": "%b"}, "outputs": ["p"]},
        {"op": "sum.dim_IntList", "args": {"self": "%p", "dim": [0]}, "outputs": ["s"]},
        {"op": "mul.Tensor", "args": {"self": "%c", "other": "%s"}, "outputs": ["w"]},
        {"op": "sum.dim_IntList", "args": {"self": "%w", "dim": [0]}, "outputs": ["y"]}]})");
  EXPECT_EQ(program.find("attention"), std::string::npos) << program;
  EXPECT_NE(program.find("s = reduce sum(a * b) over [0]"), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
