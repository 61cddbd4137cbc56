// Attention that a graph spells out, as PyTorch does where it has no kernel of its own: what heads are is found again.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// 2 sequences of 5 heads, 48 tokens, 64 wide: queries, keys and values are thirds of one product's columns, bmm sees
// sequences and heads as one dimension, and each sequence hides keys of its own.
constexpr char kHeads[] = R"({"hone_problem": 1, "name": "heads", "tensors": [
  {"name": "x", "shape": [2, 48, 960], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "mask", "shape": [2, 1, 1, 48], "dtype": "bool", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [10, 48, 64], "dtype": "f16", "role": "output"}],
 "graph": [{"op": "aten.view.default", "args": {"self": "%x", "size": [2, 48, 3, 5, 64]}, "outputs": ["parts"]},
  {"op": "aten.permute.default", "args": {"self": "%parts", "dims": [2, 0, 3, 1, 4]}, "outputs": ["thirds"]},
  {"op": "aten.unbind.int", "args": {"self": "%thirds"}, "outputs": ["q", "k", "v"]},
  {"op": "aten.permute.default", "args": {"self": "%k", "dims": [0, 1, 3, 2]}, "outputs": ["kt"]},
  {"op": "aten.view.default", "args": {"self": "%q", "size": [10, 48, 64]}, "outputs": ["qs"]},
  {"op": "aten.view.default", "args": {"self": "%kt", "size": [10, 64, 48]}, "outputs": ["ks"]},
  {"op": "aten.bmm.default", "args": {"self": "%qs", "mat2": "%ks"}, "outputs": ["bmm"]},
  {"op": "aten.view.default", "args": {"self": "%bmm", "size": [2, 5, 48, 48]}, "outputs": ["scores"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%scores", "other": 0.125}, "outputs": ["scaled"]},
  {"op": "aten.masked_fill.Scalar", "args": {"self": "%scaled", "mask": "%mask", "value": {"real": "-inf"}}, "outputs": ["masked"]},
  {"op": "aten._softmax.default", "args": {"self": "%masked", "dim": -1, "half_to_float": false}, "outputs": ["weights"]},
  {"op": "aten.view.default", "args": {"self": "%weights", "size": [10, 48, 48]}, "outputs": ["ws"]},
  {"op": "aten.view.default", "args": {"self": "%v", "size": [10, 48, 64]}, "outputs": ["vs"]},
  {"op": "aten.bmm.default", "args": {"self": "%ws", "mat2": "%vs"}, "outputs": ["y"]}]})";

TEST(AttentionTest, HeadsThatBmmSawAsOneDimensionAreReadWhereTheyLie) {
  const std::string program = WrittenText(kHeads);
  EXPECT_NE(program.find(" = attention(x_view, x_view_2, x_view_3)"), std::string::npos) << program;
  EXPECT_NE(program.find("let score = select(mask, -inf, it * 0.125)"), std::string::npos) << program;
  EXPECT_EQ(program.find("map("), std::string::npos) << program;
}

std::string Moved(const std::string& dims, const std::string& permuted, const std::string& made) {
  std::string text = kHeads;
  const auto replace = [&](const std::string& what, const std::string& with) {
    text.replace(text.find(what), what.size(), with);
  };
  replace("[10, 48, 64], \"dtype\": \"f16\", \"role\": \"output\"", made + R"(, "dtype": "f16", "role": "output")");
  replace(R"("outputs": ["y"]}])", R"("outputs": ["seen"]},
  {"op": "aten.view.default", "args": {"self": "%seen", "size": [2, 5, 48, 64]}, "outputs": ["heads"]},
  {"op": "aten.permute.default", "args": {"self": "%heads", "dims": )" +
                                       dims + R"(}, "outputs": ["beside"]},
  {"op": "aten.clone.default", "args": {"self": "%beside"}, "outputs": ["copy"]},
  {"op": "aten.view.default", "args": {"self": "%copy", "size": )" +
                                       permuted + R"(}, "outputs": ["y"]}])");
  return text;
}

TEST(AttentionTest, HeadsAreLaidSideBySideByTheKernelItself) {
  const std::string program = WrittenText(Moved("[0, 2, 1, 3]", "[2, 48, 320]", "[2, 48, 320]"));
  EXPECT_NE(program.find("y: [2, 48, 320] = attention("), std::string::npos) << program;
  EXPECT_NE(program.find("heads: 1"), std::string::npos) << program;
  EXPECT_EQ(program.find("map("), std::string::npos) << program;
}

TEST(AttentionTest, AnotherMoveIsAKernelOfItsOwn) {
  const std::string program = WrittenText(Moved("[0, 1, 3, 2]", "[2, 5, 64, 48]", "[2, 5, 64, 48]"));
  EXPECT_NE(program.find("attention("), std::string::npos) << program;
  EXPECT_EQ(program.find("heads:"), std::string::npos) << program;
  EXPECT_NE(program.find(" = map("), std::string::npos) << program;
}

// 2 sequences, 8 heads of queries and 2 of keys and values, each of which `copies` repeat as `spelled` says, 24 tokens.
std::string Shared(const std::string& spelled) {
  return R"({"hone_problem": 1, "name": "shared", "tensors": [
  {"name": "q", "shape": [2, 8, 24, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "k", "shape": [2, 2, 24, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "v", "shape": [2, 2, 24, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [2, 8, 24, 64], "dtype": "f16", "role": "output"}],
 "graph": [)" +
         spelled + R"(]})";
}

// One of keys and values as often as there are heads that share it, in a copy.
std::string Repeated(const std::string& what, const std::string& as) {
  return R"({"op": "aten.unsqueeze.default", "args": {"self": "%)" + what + R"(", "dim": 2}, "outputs": [")" + what +
         R"(_one"]},
  {"op": "aten.expand.default", "args": {"self": "%)" +
         what + R"(_one", "size": [2, 2, 4, 24, 64]}, "outputs": [")" + what + R"(_all"]},
  {"op": "aten.clone.default", "args": {"self": "%)" +
         what + R"(_all"}, "outputs": [")" + what + R"(_copy"]},
  {"op": "aten.view.default", "args": {"self": "%)" +
         what + R"(_copy", "size": [2, 8, 24, 64]}, "outputs": [")" + as + R"("]},
  )";
}

constexpr char kOfShared[] = R"(
view q_view = q: [2, 2, 4, 24, 64] strides [12288, 6144, 1536, 64, 1]
view k_view = k: [2, 2, 1, 24, 64] strides [3072, 1536, 0, 64, 1]
view v_view = v: [2, 2, 1, 24, 64] strides [3072, 1536, 0, 64, 1]
y: [2, 8, 24, 64] = attention(q_view, k_view, v_view) by {causal: 1}
)";

TEST(AttentionTest, HeadsThatShareKeysReadThemWhereTheyLie) {
  const std::string attention = R"({"op": "aten.scaled_dot_product_attention.default",
    "args": {"query": "%q", "key": "%ks", "value": "%vs", "is_causal": true}, "outputs": ["y"]})";
  const std::string program = WrittenText(Shared(Repeated("k", "ks") + Repeated("v", "vs") + attention));
  EXPECT_NE(program.find(kOfShared), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(AttentionTest, HeadsShareWhatAKernelMakes) {
  const std::string attention =
      R"({"op": "aten.cumsum.default", "args": {"self": "%k", "dim": 2}, "outputs": ["turned"]},
  )" + Repeated("turned", "ks") +
      Repeated("v", "vs") + R"({"op": "aten.scaled_dot_product_attention.default",
    "args": {"query": "%q", "key": "%ks", "value": "%vs"}, "outputs": ["y"]})";
  const std::string program = WrittenText(Shared(attention));
  EXPECT_NE(program.find("turned_view = turned: [2, 2, 1, 24, 64]"), std::string::npos) << program;
  EXPECT_NE(program.find("attention(q_view, turned_view, v_view)"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(AttentionTest, HeadsShareKeysInProductsOfOneDimensionOfBatches) {
  const std::string program = WrittenText(Shared(Repeated("k", "ks") + Repeated("v", "vs") + R"(
  {"op": "aten.permute.default", "args": {"self": "%ks", "dims": [0, 1, 3, 2]}, "outputs": ["kt"]},
  {"op": "aten.view.default", "args": {"self": "%q", "size": [16, 24, 64]}, "outputs": ["q_flat"]},
  {"op": "aten.view.default", "args": {"self": "%kt", "size": [16, 64, 24]}, "outputs": ["k_flat"]},
  {"op": "aten.bmm.default", "args": {"self": "%q_flat", "mat2": "%k_flat"}, "outputs": ["scores"]},
  {"op": "aten._softmax.default", "args": {"self": "%scores", "dim": -1, "half_to_float": false}, "outputs": ["weights"]},
  {"op": "aten.view.default", "args": {"self": "%vs", "size": [16, 24, 64]}, "outputs": ["v_flat"]},
  {"op": "aten.bmm.default", "args": {"self": "%weights", "mat2": "%v_flat"}, "outputs": ["seen"]},
  {"op": "aten.view.default", "args": {"self": "%seen", "size": [2, 8, 24, 64]}, "outputs": ["y"]})"));
  EXPECT_NE(program.find("y: [2, 8, 24, 64] = attention("), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

// 2 sequences of 4 heads with keys of their own, one query each, and keys that each sequence hides; `products` and
// what is between them make y.
std::string OneQuery(const std::string& products) {
  return R"({"hone_problem": 1, "name": "one", "tensors": [
  {"name": "q", "shape": [2, 4, 1, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "k", "shape": [2, 4, 96, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "v", "shape": [2, 4, 96, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "mask", "shape": [2, 1, 1, 96], "dtype": "bool", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [2, 4, 1, 64], "dtype": "f16", "role": "output"}],
 "graph": [)" +
         products + R"(]})";
}

TEST(AttentionTest, OneQueryAHeadMayHaveAMaskOfItsSequence) {
  const std::string program = WrittenText(OneQuery(R"({"op": "aten.scaled_dot_product_attention.default",
    "args": {"query": "%q", "key": "%k", "value": "%v", "attn_mask": "%mask"}, "outputs": ["y"]})"));
  EXPECT_NE(program.find("y = attention(q, k, v) by {safe: 1}"), std::string::npos) << program;
  EXPECT_NE(program.find("let score = select(mask, it * 0.125, -inf)"), std::string::npos) << program;
}

constexpr char kScoresOfOne[] =
    R"({"op": "aten.permute.default", "args": {"self": "%k", "dims": [0, 1, 3, 2]}, "outputs": ["kt"]},
  {"op": "aten.view.default", "args": {"self": "%q", "size": [8, 1, 64]}, "outputs": ["q_flat"]},
  {"op": "aten.view.default", "args": {"self": "%kt", "size": [8, 64, 96]}, "outputs": ["k_flat"]},
  {"op": "aten.bmm.default", "args": {"self": "%q_flat", "mat2": "%k_flat"}, "outputs": ["bmm"]},
  {"op": "aten.view.default", "args": {"self": "%bmm", "size": [2, 4, 1, 96]}, "outputs": ["scores"]},
  {"op": "aten.masked_fill.Scalar", "args": {"self": "%scores", "mask": "%mask", "value": {"real": "-inf"}}, "outputs": ["masked"]},
  {"op": "aten._softmax.default", "args": {"self": "%masked", "dim": -1, "half_to_float": false}, "outputs": ["weights"]},
  {"op": "aten.view.default", "args": {"self": "%weights", "size": [8, 1, 96]}, "outputs": ["w_flat"]},
  {"op": "aten.view.default", "args": {"self": "%v", "size": [8, 96, 64]}, "outputs": ["v_flat"]},
  {"op": "aten.bmm.default", "args": {"self": "%w_flat", "mat2": "%v_flat"}, "outputs": ["seen"]},
  {"op": "aten.view.default", "args": {"self": "%seen", "size": [2, 4, 1, 64]}, "outputs": ["y"]})";

TEST(AttentionTest, OneQueryAHeadMayHaveAMaskInProductsOfOneDimensionOfBatches) {
  const std::string program = WrittenText(OneQuery(kScoresOfOne));
  EXPECT_NE(program.find("y = attention(q, k, v)"), std::string::npos) << program;
  EXPECT_NE(program.find("let score = select(mask, -inf, it)"), std::string::npos) << program;
}

TEST(AttentionTest, RowsTimesMatricesAreNoConvolutionsWhereItIsWrittenInPieces) {
  Fusion pieces;
  pieces.attention = false;
  const std::string program = WrittenText(OneQuery(kScoresOfOne), pieces);
  EXPECT_EQ(program.find("conv"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  EXPECT_NE(program.find("= softmax("), std::string::npos) << program;
}

// As nn.MultiheadAttention moves them: queries, keys and values are thirds of a product of [tokens, sequences], whose
// sequences and heads are one dimension for a while.
std::string Thirds() {
  std::string graph =
      R"({"op": "aten.view.default", "args": {"self": "%x", "size": [48, 2, 3, 320]}, "outputs": ["parts"]},
  {"op": "aten.permute.default", "args": {"self": "%parts", "dims": [2, 0, 1, 3]}, "outputs": ["thirds"]},
  {"op": "aten.clone.default", "args": {"self": "%thirds"}, "outputs": ["copy"]},
  {"op": "aten.unbind.int", "args": {"self": "%copy"}, "outputs": ["q", "k", "v"]},)";
  for (const std::string one : {"q", "k", "v"}) {
    graph += R"(
  {"op": "aten.view.default", "args": {"self": "%)" +
             one + R"(", "size": [48, 10, 64]}, "outputs": [")" + one + R"(_rows"]},
  {"op": "aten.permute.default", "args": {"self": "%)" +
             one + R"(_rows", "dims": [1, 0, 2]}, "outputs": [")" + one + R"(_flat"]},
  {"op": "aten.view.default", "args": {"self": "%)" +
             one + R"(_flat", "size": [2, 5, 48, 64]}, "outputs": [")" + one + R"(_heads"]},)";
  }
  return graph;
}

TEST(AttentionTest, HeadsAreReadThroughViewsOfViews) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "thirds", "tensors": [
  {"name": "x", "shape": [96, 960], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [2, 5, 48, 64], "dtype": "f16", "role": "output"}],
 "graph": [)" + Thirds() + R"(
  {"op": "aten.scaled_dot_product_attention.default",
   "args": {"query": "%q_heads", "key": "%k_heads", "value": "%v_heads"}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("view x_view = x: [2, 5, 48, 64] strides [960, 64, 1920, 1]"), std::string::npos) << program;
  EXPECT_NE(program.find("y = attention(x_view, x_view_2, x_view_3)"), std::string::npos) << program;
  EXPECT_EQ(program.find("map("), std::string::npos) << program;
}

// The exponentials over the largest of a row, divided by their sum; `outputs`: of the problem.
std::string SpelledSoftmax(const std::string& outputs) {
  return WrittenText(R"({"hone_problem": 1, "name": "spelled", "tensors": [
  {"name": "q", "shape": [2, 48, 64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "k", "shape": [2, 48, 64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "v", "shape": [2, 48, 64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},)" +
                     outputs + R"(
  {"name": "y", "shape": [2, 48, 64], "dtype": "f32", "role": "output"}],
 "graph": [{"op": "aten.permute.default", "args": {"self": "%k", "dims": [0, 2, 1]}, "outputs": ["kt"]},
  {"op": "aten.bmm.default", "args": {"self": "%q", "mat2": "%kt"}, "outputs": ["scores"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%scores", "other": 0.125}, "outputs": ["scaled"]},
  {"op": "aten.amax.default", "args": {"self": "%scaled", "dim": [-1], "keepdim": true}, "outputs": ["top"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%scaled", "other": "%top"}, "outputs": ["below"]},
  {"op": "aten.exp.default", "args": {"self": "%below"}, "outputs": ["e"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%e", "dim": [-1], "keepdim": true}, "outputs": ["total"]},
  {"op": "aten.div.Tensor", "args": {"self": "%e", "other": "%total"}, "outputs": ["weights"]},
  {"op": "aten.bmm.default", "args": {"self": "%weights", "mat2": "%v"}, "outputs": ["y"]}]})");
}

TEST(AttentionTest, ASoftmaxOfExponentialsAndTheirSumIsOne) {
  const std::string program = SpelledSoftmax("");
  EXPECT_NE(program.find("y = attention(q, k, v)\n  let score = it * 0.125"), std::string::npos) << program;
}

TEST(AttentionTest, ExponentialsThatAreWantedThemselvesAreMadeOnce) {
  const std::string program =
      SpelledSoftmax(R"( {"name": "e", "shape": [2, 48, 48], "dtype": "f32", "role": "output"},)");
  const std::size_t first = program.find("exp(");
  EXPECT_NE(first, std::string::npos) << program;
  EXPECT_EQ(program.find("exp(", first + 1), std::string::npos) << program;
}

// 48 queries and keys; `masked` makes %masked of the scores %scaled, and may read %column and
// %row, the numbers of keys and of queries, and %padding, of each sequence's keys.
std::string Masked(const std::string& masked) {
  return WrittenText(R"({"hone_problem": 1, "name": "masked", "tensors": [
  {"name": "q", "shape": [2, 48, 64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "k", "shape": [2, 48, 64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "v", "shape": [2, 48, 64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "padding", "shape": [2, 1, 48], "dtype": "bool", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [2, 48, 64], "dtype": "f32", "role": "output"}],
 "graph": [{"op": "aten.permute.default", "args": {"self": "%k", "dims": [0, 2, 1]}, "outputs": ["kt"]},
  {"op": "aten.bmm.default", "args": {"self": "%q", "mat2": "%kt"}, "outputs": ["scores"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%scores", "other": 0.125}, "outputs": ["scaled"]},
  {"op": "aten.arange.start_step", "args": {"start": 0, "end": 48}, "outputs": ["arange"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%arange", "dim": 0}, "outputs": ["column"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%arange", "dim": 1}, "outputs": ["row"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%column", "other": "%row"}, "outputs": ["ahead"]},
  )" + masked + R"(,
  {"op": "aten._softmax.default", "args": {"self": "%masked", "dim": -1, "half_to_float": false}, "outputs": ["weights"]},
  {"op": "aten.bmm.default", "args": {"self": "%weights", "mat2": "%v"}, "outputs": ["y"]}]})");
}

// Of %condition, which holds where a key is hidden.
std::string Hidden(const std::string& condition) {
  return condition + R"(,
  {"op": "aten.masked_fill.Scalar", "args": {"self": "%scaled", "mask": "%hidden", "value": {"real": "-inf"}}, "outputs": ["masked"]})";
}

// A matrix of `fill` where `op` says so of how far a key is ahead of its query, and of zeros.
std::string Triangle(const std::string& op, const std::string& fill) {
  return R"({"op": "aten.full.default", "args": {"dtype": "f32", "fill_value": )" + fill +
         R"(, "size": [48, 48]}, "outputs": ["full"]},
  {"op": "aten.)" +
         op + R"(}, "outputs": ["kept"]},
  {"op": "aten.scalar_tensor.default", "args": {"dtype": "f32", "s": 0}, "outputs": ["zero"]},
  {"op": "aten.where.self", "args": {"condition": "%kept", "self": "%full", "other": "%zero"}, "outputs": ["triangle"]})";
}

// What follows `attention(q, k_view, v) `, up to the end.
std::string OfScores(const std::string& program) {
  const std::string head = "y = attention(q, k, v)";
  const auto at = program.find(head);
  EXPECT_NE(at, std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  return at == std::string::npos ? "" : program.substr(at + head.size());
}

constexpr char kCausal[] = " by {causal: 1}\n  let score = it * 0.125\n";

TEST(AttentionTest, KeysBeyondTheQueryAreHiddenByNoMaskHoweverThatIsSpelled) {
  EXPECT_EQ(OfScores(Masked(Hidden(
                R"({"op": "aten.gt.Tensor", "args": {"self": "%column", "other": "%row"}, "outputs": ["hidden"]})"))),
            kCausal);
  EXPECT_EQ(OfScores(Masked(Hidden(
                R"({"op": "aten.le.Tensor", "args": {"self": "%column", "other": "%row"}, "outputs": ["seen"]},
  {"op": "aten.logical_not.default", "args": {"self": "%seen"}, "outputs": ["hidden"]})"))),
            kCausal);
  EXPECT_EQ(OfScores(Masked(Hidden(Triangle(R"(le.Scalar", "args": {"self": "%ahead", "other": 0)", "1") + R"(,
  {"op": "aten.eq.Scalar", "args": {"self": "%triangle", "other": 0}, "outputs": ["hidden"]})"))),
            kCausal);
  for (const std::string least : {R"({"real": "-inf"})", "-3.3895313892515355e+38"}) {
    EXPECT_EQ(OfScores(Masked(Triangle(R"(ge.Scalar", "args": {"self": "%ahead", "other": 1)", least) + R"(,
  {"op": "aten.add.Tensor", "args": {"self": "%scaled", "other": "%triangle"}, "outputs": ["masked"]})")),
              kCausal);
  }
  EXPECT_EQ(
      OfScores(Masked(Triangle(R"(ge.Scalar", "args": {"self": "%ahead", "other": 1)", R"({"real": "-inf"})") + R"(,
  {"op": "aten.add.Tensor", "args": {"self": "%scores", "other": "%triangle"}, "outputs": ["sum"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%sum", "other": 0.125}, "outputs": ["masked"]})")),
      kCausal);
}

TEST(AttentionTest, WhatElseHidesKeysIsLeftInTheScore) {
  EXPECT_EQ(
      OfScores(Masked(R"({"op": "aten.le.Tensor", "args": {"self": "%column", "other": "%row"}, "outputs": ["before"]},
  {"op": "aten.bitwise_and.Tensor", "args": {"self": "%before", "other": "%padding"}, "outputs": ["seen"]},
  )" + Hidden(R"({"op": "aten.logical_not.default", "args": {"self": "%seen"}, "outputs": ["hidden"]})"))),
      " by {causal: 1}\n  let score = select(padding, it * 0.125, -inf)\n");
  EXPECT_EQ(OfScores(Masked(
                Hidden(R"({"op": "aten.gt.Scalar", "args": {"self": "%ahead", "other": 3}, "outputs": ["hidden"]})"))),
            "\n  let score = select(3 < key() - query(), -inf, it * 0.125)\n");
}

TEST(AttentionTest, AWindowOfKeysIsMadeOfTheirPlaces) {
  const std::string window = R"({"op": "aten.le.Scalar", "args": {"self": "%ahead", "other": 0}, "outputs": ["before"]},
  {"op": "aten.gt.Scalar", "args": {"self": "%ahead", "other": -9}, "outputs": ["near"]},
  {"op": "aten.bitwise_and.Tensor", "args": {"self": "%before", "other": "%near"}, "outputs": ["seen"]},
  {"op": "aten.scalar_tensor.default", "args": {"dtype": "f32", "s": LEAST}, "outputs": ["least"]},
  {"op": "aten.where.self", "args": {"condition": "%seen", "self": "%scaled", "other": "%least"}, "outputs": ["masked"]})";
  const auto of = [&](const std::string& least) {
    std::string text = window;
    text.replace(text.find("LEAST"), 5, least);
    return OfScores(Masked(text));
  };
  EXPECT_EQ(of(R"({"real": "-inf"})"),
            " by {causal: 1}\n  let score = select(-9 < key() - query(), it * 0.125, -inf)\n");
  // Each query sees its own key, so that a number below all scores hides, chosen or added.
  EXPECT_EQ(of("-1e38"), of(R"({"real": "-inf"})"));
  EXPECT_EQ(OfScores(Masked(R"({"op": "aten.le.Scalar", "args": {"self": "%ahead", "other": 0}, "outputs": ["before"]},
  {"op": "aten.gt.Scalar", "args": {"self": "%ahead", "other": -9}, "outputs": ["near"]},
  {"op": "aten.bitwise_and.Tensor", "args": {"self": "%before", "other": "%near"}, "outputs": ["seen"]},
  {"op": "aten.scalar_tensor.default", "args": {"dtype": "f32", "s": 0}, "outputs": ["zero"]},
  {"op": "aten.scalar_tensor.default", "args": {"dtype": "f32", "s": -1e38}, "outputs": ["least"]},
  {"op": "aten.where.self", "args": {"condition": "%seen", "self": "%zero", "other": "%least"}, "outputs": ["added"]},
  {"op": "aten.add.Tensor", "args": {"self": "%scaled", "other": "%added"}, "outputs": ["masked"]})")),
            of(R"({"real": "-inf"})"));
  // What is only small is a score as any other.
  EXPECT_EQ(of("-100").find("causal"), std::string::npos);
}

// Which of the sequences that are packed in it a position is of: one more wherever positions do not go on by one.
TEST(AttentionTest, PositionsThatGoOnByOneAreOfOneSequence) {
  const auto of = [](const std::string& step) {
    return Masked(
        R"({"op": "aten.slice.Tensor", "args": {"self": "%arange", "dim": 0, "start": 1, "end": 48}, "outputs": ["later"]},
  {"op": "aten.slice.Tensor", "args": {"self": "%arange", "dim": 0, "start": 0, "end": 47}, "outputs": ["earlier"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%later", "other": "%earlier"}, "outputs": ["step"]},
  {"op": "aten.ne.Scalar", "args": {"self": "%step", "other": )" +
        step + R"(}, "outputs": ["begins"]},
  {"op": "aten.constant_pad_nd.default", "args": {"self": "%begins", "pad": [1, 0], "value": false}, "outputs": ["first"]},
  {"op": "aten.cumsum.default", "args": {"self": "%first", "dim": 0}, "outputs": ["sequence"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%sequence", "dim": 0}, "outputs": ["of_key"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%sequence", "dim": 1}, "outputs": ["of_query"]},
  {"op": "aten.eq.Tensor", "args": {"self": "%of_key", "other": "%of_query"}, "outputs": ["same"]},
  {"op": "aten.le.Tensor", "args": {"self": "%column", "other": "%row"}, "outputs": ["before"]},
  {"op": "aten.bitwise_and.Tensor", "args": {"self": "%before", "other": "%same"}, "outputs": ["seen"]},
  )" + Hidden(R"({"op": "aten.logical_not.default", "args": {"self": "%seen"}, "outputs": ["hidden"]})"));
  };
  EXPECT_EQ(OfScores(of("1")), kCausal);
  // All of them begin one.
  EXPECT_NE(of("2").find(" by {causal: 1}\n  let score = select(sequence == sequence_view, it * 0.125, -inf)\n"),
            std::string::npos)
      << of("2");
}

TEST(AttentionTest, AQueryThatSeesNoKeySeesAllThatHaveTheSameScore) {
  const std::string rows = OfScores(Masked(
      R"({"op": "aten.le.Tensor", "args": {"self": "%column", "other": "%row"}, "outputs": ["before"]},
  {"op": "aten.bitwise_and.Tensor", "args": {"self": "%before", "other": "%padding"}, "outputs": ["seen"]},
  {"op": "aten.scalar_tensor.default", "args": {"dtype": "f32", "s": -1e38}, "outputs": ["least"]},
  {"op": "aten.where.self", "args": {"condition": "%seen", "self": "%scaled", "other": "%least"}, "outputs": ["masked"]})"));
  EXPECT_EQ(rows, "\n  let score = select(and(key() <= query(), padding), it * 0.125, -1e+38)\n");
}

// Windows of 16 places, 3 heads of 32; of the 8 windows of a batch's two images, 4 have a mask each.
constexpr char kWindows[] = R"({"hone_problem": 1, "name": "windows", "tensors": [
  {"name": "q", "shape": [8, 3, 16, 32], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "k", "shape": [8, 3, 16, 32], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "v", "shape": [8, 3, 16, 32], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "mask", "shape": [4, 1, 16, 16], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [8, 3, 16, 32], "dtype": "bf16", "role": "output"}],
 "graph": [{"op": "aten.mul.Tensor", "args": {"self": "%q", "other": 0.125}, "outputs": ["scaled"]},
  {"op": "aten.transpose.int", "args": {"self": "%k", "dim0": -2, "dim1": -1}, "outputs": ["kt"]},
  {"op": "aten.matmul.default", "args": {"self": "%scaled", "other": "%kt"}, "outputs": ["scores"]},
  {"op": "aten.view.default", "args": {"self": "%scores", "size": [2, 4, 3, 16, 16]}, "outputs": ["apart"]},
  {"op": "aten.add.Tensor", "args": {"self": "%apart", "other": "%mask"}, "outputs": ["masked"]},
  {"op": "aten.view.default", "args": {"self": "%masked", "size": [8, 3, 16, 16]}, "outputs": ["together"]},
  {"op": "aten._softmax.default", "args": {"self": "%together", "dim": -1, "half_to_float": false}, "outputs": ["weights"]},
  {"op": "aten.matmul.default", "args": {"self": "%weights", "other": "%v"}, "outputs": ["y"]}]})";

TEST(AttentionTest, MasksOfAFewWindowsRepeatInABatchAndAFactorOfQueriesIsInTheScore) {
  const std::string program = WrittenText(kWindows);
  EXPECT_NE(program.find("view q_view = q: [2, 4, 3, 16, 32] strides"), std::string::npos) << program;
  EXPECT_NE(program.find("y: [8, 3, 16, 32] = attention(q_view, k_view, v_view)"), std::string::npos) << program;
  EXPECT_NE(program.find("let score = it * 0.125 + mask"), std::string::npos) << program;
  EXPECT_EQ(program.find("map("), std::string::npos) << program;
}

TEST(AttentionTest, BiasesThatAreLookedUpForEachHeadLieAsScoresReadThem) {
  std::string text = kWindows;
  const auto replace = [&](const std::string& what, const std::string& with) {
    text.replace(text.find(what), what.size(), with);
  };
  replace(R"({"name": "mask", )", R"({"name": "table", "shape": [9, 3], "dtype": "bf16", "role": "parameter",
                                      "generator": {"kind": "uniform", "low": 0, "high": 1}},
                                     {"name": "places", "shape": [256], "dtype": "i64", "role": "parameter",
                                      "generator": {"kind": "integer", "low": 0, "high": 9}},
                                     {"name": "mask", )");
  replace(R"("outputs": ["scores"]},)", R"("outputs": ["products"]},
  {"op": "aten.index.Tensor", "args": {"self": "%table", "indices": ["%places"]}, "outputs": ["found"]},
  {"op": "aten.view.default", "args": {"self": "%found", "size": [16, 16, 3]}, "outputs": ["biases"]},
  {"op": "aten.permute.default", "args": {"self": "%biases", "dims": [2, 0, 1]}, "outputs": ["turned"]},
  {"op": "aten.add.Tensor", "args": {"self": "%products", "other": "%turned"}, "outputs": ["scores"]},)");
  const std::string program = WrittenText(text);
  EXPECT_NE(program.find("turned: bf16 = nest [i < 3, j < 16, l < 16] (table["), std::string::npos) << program;
  EXPECT_NE(program.find("let score = it * 0.125 + turned + mask"), std::string::npos) << program;
}

// A cache of 40 pages of 16 keys for 2 heads, of which 3 sequences have 8 each; 4 heads of queries share keys.
std::string Paged(const std::string& size, const std::string& moved) {
  return R"({"hone_problem": 1, "name": "paged", "tensors": [
  {"name": "q", "shape": [3, 8, 1, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "keys", "shape": )" +
         size + R"(, "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "values", "shape": )" +
         size + R"(, "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "table", "shape": [3, 8], "dtype": "i32", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 40}},
  {"name": "y", "shape": [3, 8, 1, 64], "dtype": "bf16", "role": "output"}],
 "graph": [{"op": "aten.index.Tensor", "args": {"self": "%keys", "indices": ["%table"]}, "outputs": ["ki"]},
  {"op": "aten.index.Tensor", "args": {"self": "%values", "indices": ["%table"]}, "outputs": ["vi"]},
  {"op": "aten.permute.default", "args": {"self": "%ki", "dims": )" +
         moved + R"(}, "outputs": ["kp"]},
  {"op": "aten.permute.default", "args": {"self": "%vi", "dims": )" +
         moved + R"(}, "outputs": ["vp"]},
  {"op": "aten.reshape.default", "args": {"self": "%kp", "shape": [3, 2, 128, 64]}, "outputs": ["k"]},
  {"op": "aten.reshape.default", "args": {"self": "%vp", "shape": [3, 2, 128, 64]}, "outputs": ["v"]},
  {"op": "aten.scaled_dot_product_attention.default",
    "args": {"query": "%q", "key": "%k", "value": "%v", "enable_gqa": true}, "outputs": ["y"]}]})";
}

TEST(AttentionTest, KeysInPagesAreReadWhereTheyLie) {
  const std::string places_first = WrittenText(Paged("[40, 16, 2, 64]", "[0, 3, 1, 2, 4]")),
                    heads_first = WrittenText(Paged("[40, 2, 16, 64]", "[0, 2, 1, 3, 4]"));
  for (const std::string& program : {places_first, heads_first}) {
    EXPECT_NE(program.find("y: [3, 8, 1, 64] = attention(q_view, keys_view, values_view, select(table_view < 0, "
                           "table_view + 40, table_view))"),
              std::string::npos)
        << program;
    EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  }
  EXPECT_NE(places_first.find("view keys_view = keys: [2, 40, 16, 64] strides [64, 2048, 128, 1]"), std::string::npos)
      << places_first;
  EXPECT_NE(heads_first.find("view keys_view = keys: [2, 40, 16, 64] strides [1024, 2048, 64, 1]"), std::string::npos)
      << heads_first;
}

TEST(AttentionTest, KeysInPagesAreLookedUpBeforeWhereNoKernelReadsThem) {
  const std::string program = WrittenText(Paged("[40, 16, 2, 64]", "[0, 3, 1, 2, 4]"), {}, DeviceModel{});
  EXPECT_NE(program.find("= nest ["), std::string::npos) << program;
  EXPECT_NE(program.find("= attention(q_view, ki_view, vi_view)"), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
