// Products of queries, keys and values side by side, of which the embedding of places turns the first two.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "dsl/testing/interpreter.h"
#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::Written;

constexpr std::string_view kUniform = R"("generator": {"kind": "uniform", "low": -1, "high": 1})";

std::string Op(std::string_view op, const std::string& args, std::string_view made) {
  return fmt::format(R"({{"op": "aten.{}", "args": {{{}}}, "outputs": ["{}"]}})", op, args, made);
}

// x [128, 32] times the weights of heads of 16 columns: `queries` of q, `keys` of k and of v, in the order of `order`;
// what is read as queries is turned, and as keys.
struct Model {
  int queries = 2, keys = 2;
  std::string order = "qkv", turned = "qk";
};
std::string Problem(const Model& model) {
  const auto heads = [&](char which) { return which == 'q' ? model.queries : model.keys; };
  std::string graph = Op("linear.default", R"("input": "%x", "weight": "%w")", "all");
  int first = 0;
  for (const char which : model.order) {
    const auto op = [&](std::string_view name, const std::string& args, const std::string& made) {
      graph += ", " + Op(name, args, std::string(1, which) + made);
    };
    const auto arg = [&](std::string_view what, const std::string& of) {
      return fmt::format(R"("{}": "%{}{}")", what, which, of);
    };
    const int count = heads(which);
    op("slice.Tensor",
       fmt::format(R"("self": "%all", "dim": 1, "start": {}, "end": {})", first * 16, (first + count) * 16), "s");
    op("view.default", arg("self", "s") + fmt::format(R"(, "size": [1, 128, {}, 16])", count), "v");
    op("permute.default", arg("self", "v") + R"(, "dims": [0, 2, 1, 3])", "h");
    first += count;
    if (model.turned.find(which) == std::string::npos) continue;
    op("slice.Tensor", arg("self", "h") + R"(, "dim": 3, "start": 0, "end": 8)", "a");
    op("slice.Tensor", arg("self", "h") + R"(, "dim": 3, "start": 8, "end": 16)", "b");
    op("neg.default", arg("self", "b"), "c");
    op("cat.default", fmt::format(R"("tensors": ["%{0}c", "%{0}a"], "dim": -1)", which), "r");
    op("mul.Tensor", arg("self", "h") + R"(, "other": "%cos")", "d");
    op("mul.Tensor", arg("self", "r") + R"(, "other": "%sin")", "e");
    op("add.Tensor", arg("self", "d") + ", " + arg("other", "e"), "t");
  }
  const auto name = [&](char which) {
    return fmt::format("{}{}", which, model.turned.find(which) == std::string::npos ? "h" : "t");
  };
  graph += ", " + Op("scaled_dot_product_attention.default",
                     fmt::format(R"("query": "%{}", "key": "%{}", "value": "%{}", "enable_gqa": {})", name('q'),
                                 name('k'), name('v'), model.queries == model.keys ? "false" : "true"),
                     "y");
  return fmt::format(
      R"({{"hone_problem": 1, "name": "heads", "tensors": [
  {{"name": "x", "shape": [128, 32], "dtype": "bf16", "role": "input", {0}}},
  {{"name": "w", "shape": [{1}, 32], "dtype": "bf16", "role": "parameter", {0}}},
  {{"name": "cos", "shape": [128, 16], "dtype": "bf16", "role": "input", {0}}},
  {{"name": "sin", "shape": [128, 16], "dtype": "bf16", "role": "input", {0}}},
  {{"name": "y", "shape": [1, {2}, 128, 16], "dtype": "bf16", "role": "output"}}], "graph": [{3}]}})",
      kUniform, (model.queries + 2 * model.keys) * 16, model.queries, graph);
}

std::string Text(const Model& model, const Fusion& fusion = {}) {
  const auto program = Written(Problem(model), fusion);
  return program ? dsl::Print(*program) : "";
}

TEST(RotatedHeadsTest, QueriesAndKeysAreTurnedAndValuesAreNot) {
  const std::string text = Text({});
  EXPECT_NE(text.find("heads = nest [i < 6] (i)"), std::string::npos) << text;
  EXPECT_NE(text.find("all: bf16 = matmul(x, w_view) by {heads: 1}\n"
                      "  -> select(heads_view < 4, it * cos_view + rotated(8) * sin_view, it)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("= attention(all_view, all_view_2, all_view_3)"), std::string::npos) << text;
}

TEST(RotatedHeadsTest, KeysMayHaveFewerHeads) {
  const std::string text = Text({.queries = 4, .keys = 1});
  EXPECT_NE(text.find("select(heads_view < 5, it"), std::string::npos) << text;
  EXPECT_EQ(text.find("nest [i < 1,"), std::string::npos) << text;
}

TEST(RotatedHeadsTest, OnlyTheFirstHeadsAreTurnedAndWhereOneWishes) {
  EXPECT_EQ(Text({.order = "vqk"}).find("rotated"), std::string::npos);
  EXPECT_EQ(Text({.order = "qvk"}).find("rotated"), std::string::npos);
  EXPECT_EQ(Text({}, {.products = false}).find("rotated"), std::string::npos);
  EXPECT_NE(Text({.turned = "q"}).find("select(heads_view < 2, it"), std::string::npos);
  const std::string all = Text({.turned = "qkv"});
  EXPECT_NE(all.find("-> it * cos_view + rotated(8) * sin_view"), std::string::npos) << all;
  EXPECT_EQ(all.find("heads ="), std::string::npos) << all;
}

// Who reads a head as it is, too, keeps all of them so.
TEST(RotatedHeadsTest, HeadsThatOthersReadStay) {
  std::string problem = Problem({});
  const auto replace = [&](const std::string& what, const std::string& with) {
    const auto at = problem.find(what);
    ASSERT_NE(at, std::string::npos);
    problem.replace(at, what.size(), with);
  };
  replace(R"("value": "%vh")", R"("value": "%kh")");
  const auto program = Written(problem);
  ASSERT_TRUE(program);
  EXPECT_EQ(dsl::Print(*program).find("rotated"), std::string::npos) << dsl::Print(*program);
}

std::vector<double> Made(const Model& model, const Fusion& fusion) {
  const auto checked = dsl::Check(*Written(Problem(model), fusion), nullptr, TypicalDevice());
  const auto& kernels = std::get<dsl::KernelProgram>(checked);
  std::vector<std::vector<double>> values;
  for (const auto& buffer : kernels.buffers) {
    auto& made = values.emplace_back(static_cast<std::size_t>(ElementCount(buffer.shape)));
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = std::sin(static_cast<double>(i * i % 997)) / 2;
  }
  dsl::testing::Interpreter(kernels, values).Run();
  for (std::size_t b = 0; b < values.size(); ++b) {
    if (kernels.buffers[b].home == dsl::KernelBuffer::Home::kOutput) return values[b];
  }
  return {};
}

TEST(RotatedHeadsTest, TheSameComesOfIt) {
  for (const Model& model : {Model{}, Model{.queries = 4, .keys = 1}, Model{.turned = "q"}, Model{.turned = "qkv"}}) {
    ASSERT_NE(Text(model).find("rotated"), std::string::npos);
    const auto turned = Made(model, {}), plain = Made(model, {.products = false});
    ASSERT_EQ(turned.size(), plain.size());
    for (std::size_t i = 0; i < turned.size(); ++i) ASSERT_NEAR(turned[i], plain[i], 0.01) << i;  // bf16 between
  }
}

}  // namespace
}  // namespace hone::expert
