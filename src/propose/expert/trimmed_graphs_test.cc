// What the expert makes of graphs without the elements that nobody reads: the same outputs.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "analysis/zero_terms.h"
#include "graph/trimmed.h"
#include "propose/expert/beginnings.h"
#include "propose/expert/testing/computed.h"

namespace hone::expert {
namespace {

using testing::GraphOf;

std::string Text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// Of inputs x and w and the output y. Whether something could go.
bool ExpectTheSame(std::string_view x, std::string_view w, std::string_view y, std::string_view nodes) {
  const Graph graph = GraphOf(fmt::format(R"({{"hone_problem": 1, "name": "t", "tensors": [
  {{"name": "x", "shape": {}, "dtype": "f32", "role": "input", "generator": {{"kind": "normal", "mean": 0, "deviation": 1}}}},
  {{"name": "w", "shape": {}, "dtype": "f32", "role": "input", "generator": {{"kind": "normal", "mean": 0, "deviation": 1}}}},
  {{"name": "y", "shape": {}, "dtype": "f32", "role": "output"}}], "graph": [{}]}})",
                                          x, w, y, nodes));
  const auto without = WithoutZeroTerms(graph);
  const auto trimmed = Trimmed(without ? *without : graph);
  if (!trimmed) return false;
  for (const Fusion& fusion :
       {Fusion{}, Fusion{.maps = false, .epilogues = false, .norms = false, .attention = false, .products = false}}) {
    const auto whole = testing::Computed(graph, fusion, "y"), part = testing::Computed(*trimmed, fusion, "y");
    EXPECT_FALSE(whole.empty());
    EXPECT_EQ(whole.size(), part.size());
    for (std::size_t i = 0; i < std::min(whole.size(), part.size()); ++i)
      EXPECT_NEAR(whole[i], part[i], 1e-4 + 1e-4 * std::abs(whole[i])) << i << " of " << nodes;
  }
  return true;
}

// Operators in a row, each of what the one before has made, of which the last keeps a part.
class Chain {
 public:
  explicit Chain(unsigned seed) : random_(seed) {}

  bool AgreesWhereTrimmed() {
    const Shape x = shape_;
    for (int step = 0; step < 7; ++step) Grow(Below(9), Below(static_cast<std::int64_t>(shape_.size())));
    const std::int64_t half = std::max<std::int64_t>(shape_.back() / 2, 1);
    Slice(static_cast<std::int64_t>(shape_.size()) - 1, shape_.back() - half, shape_.back(), 1);
    Add("mul.Tensor", R"("other": "%w")", shape_, "y");
    return ExpectTheSame(Text(x), "[1]", Text(shape_), nodes_);
  }

 private:
  std::int64_t Below(std::int64_t end) { return static_cast<std::int64_t>(random_() % static_cast<unsigned>(end)); }
  void Node(std::string_view op, std::string_view arguments, std::string_view name) {
    nodes_ += fmt::format(R"({}{{"op": "aten.{}", "args": {{{}}}, "outputs": ["{}"]}})", nodes_.empty() ? "" : ",\n",
                          op, arguments, name);
  }
  void Add(std::string_view op, std::string_view arguments, Shape shape, std::string_view name = "") {
    const std::string made = name.empty() ? fmt::format("t{}", ++count_) : std::string(name);
    Node(op, fmt::format(R"("self": "%{}"{}{})", last_, arguments.empty() ? "" : ", ", arguments), made);
    last_ = made;
    shape_ = std::move(shape);
  }
  Shape With(std::int64_t dim, std::int64_t extent) const {
    Shape shape = shape_;
    shape[static_cast<std::size_t>(dim)] = extent;
    return shape;
  }
  void Slice(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
    Add("slice.Tensor", fmt::format(R"("dim": {}, "start": {}, "end": {}, "step": {})", dim, start, end, step),
        With(dim, (end - start + step - 1) / step));
  }

  void Grow(std::int64_t kind, std::int64_t dim) {
    const std::int64_t extent = shape_[static_cast<std::size_t>(dim)], end = shape_.back();
    switch (kind) {
      case 0: return Add("tanh", "", shape_);
      case 1: return Add("flip", fmt::format(R"("dims": [{}])", dim), shape_);
      case 2: return Slice(dim, Below((extent + 1) / 2), extent - Below(extent / 2 + 1) / 2, 1 + Below(2));
      case 3: return Add("sum.dim_IntList", fmt::format(R"("dim": [{}], "keepdim": true)", dim), With(dim, 1));
      case 4: return Add("constant_pad_nd", R"("pad": [2, 3], "value": 0.0)", With(-1 + Rank(), end + 5));
      case 5: {
        Shape turned(shape_.rbegin(), shape_.rend());
        std::vector<std::int64_t> dims;
        for (std::int64_t d = Rank(); d-- > 0;) dims.push_back(d);
        return Add("permute", fmt::format(R"("dims": [{}])", fmt::join(dims, ", ")), turned);
      }
      case 6: {  // two dimensions as one, or one as two
        Shape shape = shape_;
        if (shape.size() > 2) {
          shape[1] *= shape[0];
          shape.erase(shape.begin());
        } else {
          shape.insert(shape.begin() + 1, shape[0] % 2 == 0 ? 2 : 1);
          shape[0] /= shape[1];
        }
        return Add("reshape", fmt::format(R"("shape": {})", Text(shape)), shape);
      }
      case 7: return Add("_softmax", fmt::format(R"("dim": {}, "half_to_float": false)", dim), shape_);
      default: return Transform(end);
    }
  }
  std::int64_t Rank() const { return static_cast<std::int64_t>(shape_.size()); }

  // The rows times a table of cosines.
  void Transform(std::int64_t end) {
    const Shape shape = shape_;
    const std::string table = fmt::format("table{}", ++count_);
    Node("arange.start_step", fmt::format(R"("start": 0, "end": {})", end), table + "_i");
    Node("_to_copy", fmt::format(R"("self": "%{}_i", "dtype": "f32")", table), table + "_j");
    Node("unsqueeze", fmt::format(R"("self": "%{}_j", "dim": 1)", table), table + "_k");
    Node("mul.Tensor", fmt::format(R"("self": "%{0}_k", "other": "%{0}_j")", table), table + "_p");
    Node("cos", fmt::format(R"("self": "%{}_p")", table), table);
    const Shape rows = {ElementCount(shape) / end, end};
    Add("reshape", fmt::format(R"("shape": {})", Text(rows)), rows);
    Add("mm", fmt::format(R"("mat2": "%{}")", table), rows);
    Add("reshape", fmt::format(R"("shape": {})", Text(shape)), shape);
  }

  std::mt19937 random_;
  Shape shape_ = {3, 4, 10};
  std::string nodes_, last_ = "x";
  int count_ = 0;
};

TEST(TrimmedGraphsTest, OperatorsInARowMakeTheSame) {
  int trimmed = 0;
  for (unsigned seed = 0; seed < 60; ++seed) trimmed += Chain(seed).AgreesWhereTrimmed() ? 1 : 0;
  EXPECT_GT(trimmed, 40);
}

TEST(TrimmedGraphsTest, TheLastTokensLogits) {
  EXPECT_TRUE(ExpectTheSame("[4, 8, 16]", "[16, 24]", "[4, 24]", R"(
    {"op": "aten.view", "args": {"self": "%x", "size": [32, 16]}, "outputs": ["rows"]},
    {"op": "aten.mm", "args": {"self": "%rows", "mat2": "%w"}, "outputs": ["flat"]},
    {"op": "aten.view", "args": {"self": "%flat", "size": [4, 8, 24]}, "outputs": ["logits"]},
    {"op": "aten.select.int", "args": {"self": "%logits", "dim": 1, "index": -1}, "outputs": ["last"]},
    {"op": "aten._softmax", "args": {"self": "%last", "dim": -1, "half_to_float": false}, "outputs": ["y"]})"));
}

TEST(TrimmedGraphsTest, EveryThirdRowOfThoseInTheMiddleThroughATransposition) {
  EXPECT_TRUE(ExpectTheSame("[8, 30]", "[8, 30]", "[5, 8]", R"(
    {"op": "aten.add.Tensor", "args": {"self": "%x", "other": "%w"}, "outputs": ["s"]},
    {"op": "aten.sum.dim_IntList", "args": {"self": "%s", "dim": [0], "keepdim": true}, "outputs": ["t"]},
    {"op": "aten.mul.Tensor", "args": {"self": "%s", "other": "%t"}, "outputs": ["m"]},
    {"op": "aten.permute", "args": {"self": "%m", "dims": [1, 0]}, "outputs": ["p"]},
    {"op": "aten.slice.Tensor", "args": {"self": "%p", "dim": 0, "start": 11, "end": 26, "step": 3}, "outputs": ["y"]})"));
}

TEST(TrimmedGraphsTest, AHeadOfSeveralThatLieSideBySide) {
  EXPECT_TRUE(ExpectTheSame("[6, 16]", "[16, 32]", "[3, 8, 8]", R"(
    {"op": "aten.mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["flat"]},
    {"op": "aten.view", "args": {"self": "%flat", "size": [3, 2, 4, 8]}, "outputs": ["heads"]},
    {"op": "aten.select.int", "args": {"self": "%heads", "dim": 2, "index": 2}, "outputs": ["one"]},
    {"op": "aten.permute", "args": {"self": "%one", "dims": [0, 2, 1]}, "outputs": ["turned"]},
    {"op": "aten.bmm", "args": {"self": "%turned", "mat2": "%one"}, "outputs": ["y"]})"));
}

TEST(TrimmedGraphsTest, PlacesOfTwoPartsBehindAConvolution) {
  EXPECT_TRUE(ExpectTheSame("[2, 3, 12, 12]", "[4, 3, 3, 3]", "[2, 4, 4, 3]", R"(
    {"op": "aten.convolution", "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": 1}, "outputs": ["c"]},
    {"op": "aten.slice.Tensor", "args": {"self": "%c", "dim": 2, "start": 0, "end": 4}, "outputs": ["top"]},
    {"op": "aten.slice.Tensor", "args": {"self": "%top", "dim": 3, "start": 0, "end": 3}, "outputs": ["left"]},
    {"op": "aten.slice.Tensor", "args": {"self": "%top", "dim": 3, "start": 4, "end": 7}, "outputs": ["right"]},
    {"op": "aten.mul.Tensor", "args": {"self": "%left", "other": "%right"}, "outputs": ["y"]})"));
}

TEST(TrimmedGraphsTest, RowsThatArePaddedAndMultipliedWithATableOfWhichTheFirstColumnsAreRead) {
  EXPECT_TRUE(ExpectTheSame("[2, 5, 3]", "[4]", "[2, 5, 4]", R"(
    {"op": "aten.arange.start_step", "args": {"start": 0, "end": 8}, "outputs": ["i"]},
    {"op": "aten._to_copy", "args": {"self": "%i", "dtype": "f32"}, "outputs": ["reals"]},
    {"op": "aten.unsqueeze", "args": {"self": "%reals", "dim": 1}, "outputs": ["rows"]},
    {"op": "aten.mul.Tensor", "args": {"self": "%rows", "other": "%reals"}, "outputs": ["products"]},
    {"op": "aten.cos", "args": {"self": "%products"}, "outputs": ["table"]},
    {"op": "aten.constant_pad_nd", "args": {"self": "%x", "pad": [1, 4], "value": 0.0}, "outputs": ["p"]},
    {"op": "aten.view", "args": {"self": "%p", "size": [10, 8]}, "outputs": ["flat"]},
    {"op": "aten.mm", "args": {"self": "%flat", "mat2": "%table"}, "outputs": ["m"]},
    {"op": "aten.view", "args": {"self": "%m", "size": [2, 5, 4, 2]}, "outputs": ["pairs"]},
    {"op": "aten.select.int", "args": {"self": "%pairs", "dim": 3, "index": 0}, "outputs": ["even"]},
    {"op": "aten.mul.Tensor", "args": {"self": "%even", "other": "%w"}, "outputs": ["y"]})"));
}

TEST(TrimmedGraphsTest, IsTriedFirstAndSaysSo) {
  const Graph graph = GraphOf(R"({"hone_problem": 1, "name": "t", "tensors": [
  {"name": "x", "shape": [4096, 1024], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
  {"name": "w", "shape": [1024, 1024], "dtype": "f32", "role": "parameter", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
  {"name": "y", "shape": [8, 1024], "dtype": "f32", "role": "output"}], "graph": [
  {"op": "aten.mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["flat"]},
  {"op": "aten.view", "args": {"self": "%flat", "size": [8, 512, 1024]}, "outputs": ["tokens"]},
  {"op": "aten.select.int", "args": {"self": "%tokens", "dim": 1, "index": -1}, "outputs": ["y"]}]})");
  const auto beginnings = BeginningsIn(graph, TypicalDevice());
  ASSERT_FALSE(beginnings.empty());
  EXPECT_TRUE(std::ranges::any_of(beginnings, [](const Beginning& one) {
    return one.words.ends_with("of what is read alone") &&
           dsl::Print(one.program).find("y = matmul(x_view, w)") != std::string::npos;
  }));
}

}  // namespace
}  // namespace hone::expert
