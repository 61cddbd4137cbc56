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
