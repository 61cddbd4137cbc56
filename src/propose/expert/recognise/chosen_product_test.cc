// Which products whose weights an index looks up read those where they lie.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

std::string Tensor(const std::string& name, const std::string& shape, const std::string& type,
                   const std::string& role) {
  const std::string generator =
      type == "i64" ? R"({"kind": "integer", "low": 0, "high": 4})" : R"({"kind": "uniform", "low": 0, "high": 1})";
  return R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": ")" + type + R"(", "role": ")" + role +
         (role == "output" ? "\"}" : R"(", "generator": )" + generator + "}");
}
std::string Op(const std::string& op, const std::string& args, const std::string& to) {
  return R"({"op": ")" + op + R"(", "args": {)" + args + R"(}, "outputs": [")" + to + "\"]}";
}
std::string Chosen(const std::string& from, const std::string& to) {
  return Op("aten.index.Tensor", R"("self": "%)" + from + R"(", "indices": ["%which"])", to);
}
std::string View(const std::string& of, const std::string& size, const std::string& to) {
  return Op("aten.view.default", R"("self": "%)" + of + R"(", "size": )" + size, to);
}
std::string Bmm(const std::string& x, const std::string& w, const std::string& to) {
  return Op("aten.bmm.default", R"("self": "%)" + x + R"(", "mat2": "%)" + w + "\"", to);
}
std::string Problem(const std::string& x, const std::string& w, const std::string& which, const std::string& y,
                    const std::string& graph, const std::string& more = "", const std::string& type = "bf16") {
  return R"({"hone_problem": 1, "name": "p", "tensors": [)" + Tensor("x", x, type, "input") + ", " +
         Tensor("w", w, type, "input") + ", " + Tensor("which", which, "i64", "input") + ", " + more +
         Tensor("y", y, type, "output") + R"(], "graph": [)" + graph + "]}";
}

// Blocks of 64 tokens, each of one expert.
const std::string kBlocks = Problem("[32, 64, 128]", "[4, 128, 256]", "[32]", "[32, 64, 256]",
                                    Chosen("w", "chosen") + ", " + Bmm("x", "chosen", "y"));

TEST(ChosenProductTest, BlocksOfRowsReadTheirMatrixWhereItLies) {
  const std::string program = WrittenText(kBlocks);
  EXPECT_NE(program.find("y = matmul(x, w, select(which < 0, which + 4, which))"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  EXPECT_NE(WrittenText(kBlocks, {}, DeviceModel{}).find("y = matmul(x, w, "), std::string::npos) << "on a processor";
  EXPECT_NE(WrittenText(kBlocks, {.products = false}).find("nest"), std::string::npos);
}

// Each of 4 tokens times what makes 256 numbers of it, of two experts: columns of both are one dimension of the
// product.
TEST(ChosenProductTest, TokensWithSeveralExpertsHaveABatchForEach) {
  const std::string program =
      WrittenText(Problem("[4, 128]", "[4, 256, 128]", "[4, 2]", "[4, 1, 512]",
                          Chosen("w", "chosen") + ", " + View("chosen", "[4, 512, 128]", "rows") + ", " +
                              Op("aten.transpose.int", R"("self": "%rows", "dim0": 1, "dim1": 2)", "columns") + ", " +
                              View("x", "[4, 1, 128]", "one") + ", " + Bmm("one", "columns", "made") + ", " +
                              Op("aten.relu.default", R"("self": "%made")", "y")));
  EXPECT_NE(program.find("y: [4, 1, 512] = matmul(x_view, w_view, select(which < 0, which + 4, which))"),
            std::string::npos)
      << program;
  EXPECT_NE(program.find("view x_view = x: [4, 1, 1, 128] strides [128, 0, 0, 1]"), std::string::npos) << program;
  EXPECT_NE(program.find("-> relu(it)"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

// Likewise of what each of the experts has of a token, which are the product's batches in one dimension.
TEST(ChosenProductTest, BatchesHaveTheDimensionsOfWhatChooses) {
  const std::string program = WrittenText(
      Problem("[8, 1, 128]", "[4, 128, 256]", "[4, 2]", "[8, 1, 256]",
              Chosen("w", "chosen") + ", " + View("chosen", "[8, 128, 256]", "all") + ", " + Bmm("x", "all", "y")));
  EXPECT_NE(program.find("y: [8, 1, 256] = matmul(x_view, w, select(which < 0, which + 4, which))"), std::string::npos)
      << program;
}

TEST(ChosenProductTest, SumsOfWhatIsMultipliedAreProducts) {
  const std::string program =
      WrittenText(Problem("[4, 128]", "[4, 256, 128]", "[4, 2]", "[4, 2, 256]",
                          Chosen("w", "chosen") + ", " + View("x", "[4, 1, 1, 128]", "one") + ", " +
                              Op("aten.mul.Tensor", R"("self": "%one", "other": "%chosen")", "made") + ", " +
                              Op("aten.sum.dim_IntList", R"("self": "%made", "dim": [-1])", "y")));
  EXPECT_NE(program.find("y: [4, 2, 256] = matmul(x_view, w_view, select(which < 0, which + 4, which))"),
            std::string::npos)
      << program;
}

std::string Gate(const std::string& x, const std::string& shape) {
  return Problem(x, shape, "[32]", x.substr(0, x.rfind(',')) + ", 256]",
                 Chosen("w", "a") + ", " + Chosen("u", "b") + ", " + Bmm("x", "a", "c") + ", " + Bmm("x", "b", "d") +
                     ", " + Op("aten.silu.default", R"("self": "%c")", "e") + ", " +
                     Op("aten.mul.Tensor", R"("self": "%e", "other": "%d")", "y"),
                 Tensor("u", shape, "bf16", "input") + ", ");
}

TEST(ChosenProductTest, AGateChoosesAsWhatItGates) {
  const std::string program = WrittenText(Gate("[32, 64, 128]", "[4, 128, 256]"));
  EXPECT_NE(program.find("= product("), std::string::npos) << program;
  EXPECT_EQ(program.find("matmul("), program.rfind("matmul(")) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(ChosenProductTest, AGateThatNoKernelMakesTogetherIsTwoThatChoose) {
  const std::string program = WrittenText(Gate("[32, 64, 124]", "[4, 124, 256]"));
  EXPECT_NE(program.find("matmul("), program.rfind("matmul(")) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

// What is multiplied by weights that are looked up are no scores.
TEST(ChosenProductTest, TwoLayersThatChooseAreNoAttention) {
  const std::string gate = Gate("[32, 64, 128]", "[4, 128, 256]");
  std::string two = gate;
  const auto change = [&](const std::string& from, const std::string& to) {
    for (auto at = two.find(from); at != std::string::npos; at = two.find(from, at + to.size()))
      two.replace(at, from.size(), to);
  };
  change(R"(outputs": ["y"]})", R"(outputs": ["h"]}, )" + Chosen("v", "f") + ", " + Bmm("h", "f", "y"));
  change(R"({"name": "y", "shape": [32, 64, 256])",
         Tensor("v", "[4, 256, 96]", "bf16", "parameter") + R"(, {"name": "y", "shape": [32, 64, 96])");
  for (const std::string name : {"w", "u"})
    change(Tensor(name, "[4, 128, 256]", "bf16", "input"), Tensor(name, "[4, 128, 256]", "bf16", "parameter"));
  const std::string program = WrittenText(two);
  EXPECT_NE(program.find("y = matmul(h, v, "), std::string::npos) << program;
  EXPECT_NE(program.find("= product("), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(ChosenProductTest, WhatOthersReadAsWellIsLookedUpOnce) {
  const std::string program = WrittenText(Problem("[32, 64, 128]", "[4, 128, 256]", "[32]", "[32, 64, 256]",
                                                  Chosen("w", "chosen") + ", " + Bmm("x", "chosen", "y") + ", " +
                                                      Op("aten.relu.default", R"("self": "%chosen")", "z"),
                                                  Tensor("z", "[32, 128, 256]", "bf16", "output") + ", "));
  EXPECT_EQ(program.find("matmul(x, w, "), std::string::npos) << program;
}

// Rows of a table that each have a place of their own are no matrices.
TEST(ChosenProductTest, RowsThatAreLookedUpOneByOneAreNoMatrixOfABatch) {
  const std::string program = WrittenText(Problem("[32, 64, 128]", "[400, 256]", "[32, 128]", "[32, 64, 256]",
                                                  Chosen("w", "chosen") + ", " + Bmm("x", "chosen", "y")));
  EXPECT_NE(program.find("nest"), std::string::npos) << program;
  EXPECT_NE(program.find("matmul(x, "), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
