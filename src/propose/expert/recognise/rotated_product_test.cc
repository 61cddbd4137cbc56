// Which maps of a product are its rotary embedding, and become its end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

constexpr std::string_view kDrawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";

std::string Op(std::string_view op, const std::string& args, std::string_view made) {
  return fmt::format(R"({{"op": "aten.{}", "args": {{{}}}, "outputs": ["{}"]}})", op, args, made);
}

// x [2, rows, 64] times the weights of 4 heads of 128 columns, and what `turns` makes of them as `heads`: [2, rows, 4,
// 128], or [2, 4, rows, 128] if `apart`. Tables are [rows, columns].
struct Model {
  std::string turns;
  std::int64_t rows = 256, columns = 128;
  bool apart = true;
  std::string_view type = "bf16", role = "parameter";
};
std::string Problem(const Model& model) {
  const std::int64_t rows = model.rows;
  const std::string result = model.apart ? fmt::format("2, 4, {}, 128", rows) : fmt::format("2, {}, 4, 128", rows);
  return fmt::format(
      R"({{"hone_problem": 1, "name": "queries", "tensors": [
  {{"name": "x", "shape": [2, {0}, 64], "dtype": "{1}", "role": "input", {2}}},
  {{"name": "w", "shape": [512, 64], "dtype": "{1}", "role": "parameter", {2}}},
  {{"name": "cos", "shape": [{0}, {3}], "dtype": "{1}", "role": "{4}", {2}}},
  {{"name": "sin", "shape": [{0}, {3}], "dtype": "{1}", "role": "{4}", {2}}},
  {{"name": "y", "shape": [{5}], "dtype": "{1}", "role": "output"}}],
 "graph": [{6}, {7}, {8}]}})",
      rows, model.type, kDrawn, model.columns, model.role, result,
      Op("linear.default", R"("input": "%x", "weight": "%w")", "rows"),
      Op("view.default", fmt::format(R"("self": "%rows", "size": [2, {}, 4, 128])", rows),
         model.apart ? "beside" : "heads") +
          (model.apart ? ", " + Op("permute.default", R"("self": "%beside", "dims": [0, 2, 1, 3])", "heads") : ""),
      model.turns);
}

// Halves of a head, turned and put together again; what is added is `end`.
std::string Halves(std::string_view end = "y") {
  return Op("slice.Tensor", R"("self": "%heads", "dim": 3, "start": 0, "end": 64)", "a") + ", " +
         Op("slice.Tensor", R"("self": "%heads", "dim": 3, "start": 64, "end": 128)", "b") + ", " +
         Op("neg.default", R"("self": "%b")", "c") + ", " +
         Op("cat.default", R"("tensors": ["%c", "%a"], "dim": -1)", "turned") + ", " +
         Op("mul.Tensor", R"("self": "%heads", "other": "%cos")", "d") + ", " +
         Op("mul.Tensor", R"("self": "%turned", "other": "%sin")", "e") + ", " +
         Op("add.Tensor", R"("self": "%d", "other": "%e")", end);
}
// Sums of two products by name, of columns `a` and `b`.
std::string Turned(std::string_view cos, std::string_view sin) {
  const auto product = [](std::string_view x, std::string_view y, std::string_view made) {
    return Op("mul.Tensor", fmt::format(R"("self": "%{}", "other": "%{}")", x, y), made) + ", ";
  };
  return product("a", cos, "ac") + product("b", sin, "bs") + product("a", sin, "as") + product("b", cos, "bc") +
         Op("sub.Tensor", R"("self": "%ac", "other": "%bs")", "first") + ", " +
         Op("add.Tensor", R"("self": "%as", "other": "%bc")", "second") + ", ";
}

TEST(RotatedProductTest, HalvesOfHeadsAreTurnedAsTheProductsEnd) {
  const std::string program = WrittenText(Problem({Halves()}));
  EXPECT_NE(program.find("view x_view = x: [2, 1, 256, 64] strides [16384, 0, 64, 1]"), std::string::npos) << program;
  EXPECT_NE(program.find("view w_view = w: [4, 64, 128] strides [8192, 1, 64]"), std::string::npos) << program;
  EXPECT_NE(program.find("y = matmul(x_view, w_view)"), std::string::npos) << program;
  EXPECT_NE(program.find("-> it * cos + rotated(64) * sin"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(RotatedProductTest, HeadsMayLieSideBySide) {
  Model model{Op("unsqueeze.default", R"("self": "%cos", "dim": 1)", "cs") + ", " +
              Op("unsqueeze.default", R"("self": "%sin", "dim": 1)", "sn") + ", " + Halves()};
  model.apart = false;
  const auto replace = [&](const std::string& what, const std::string& with) {
    const auto at = model.turns.rfind(what);
    ASSERT_NE(at, std::string::npos);
    model.turns.replace(at, what.size(), with);
  };
  replace(R"("other": "%cos")", R"("other": "%cs")");
  replace(R"("other": "%sin")", R"("other": "%sn")");
  const std::string program = WrittenText(Problem(model));
  EXPECT_NE(program.find("y = matmul(x_view, w_view) by {heads: 1}"), std::string::npos) << program;
  EXPECT_NE(program.find("-> it * cos_view + rotated(64) * sin_view"), std::string::npos) << program;
}

TEST(RotatedProductTest, TablesMayHaveANumberForEachPair) {
  const std::string program = WrittenText(
      Problem({Op("slice.Tensor", R"("self": "%heads", "dim": 3, "start": 0, "end": 64)", "a") + ", " +
                   Op("slice.Tensor", R"("self": "%heads", "dim": 3, "start": 64, "end": 128)", "b") + ", " +
                   Turned("cos", "sin") + Op("cat.default", R"("tensors": ["%first", "%second"], "dim": -1)", "y"),
               256, 64}));
  EXPECT_NE(program.find("y: [2, 4, 256, 128] = matmul(x_view, w_view) by {heads: 1}"), std::string::npos) << program;
  EXPECT_NE(program.find("rotated(64) * sin"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(RotatedProductTest, NeighboursAreTurnedAlike) {
  const std::string program = WrittenText(
      Problem({Op("view.default", R"("self": "%heads", "size": [2, 4, 256, 64, 2])", "pairs") + ", " +
                   Op("select.int", R"("self": "%pairs", "dim": 4, "index": 0)", "a") + ", " +
                   Op("select.int", R"("self": "%pairs", "dim": 4, "index": 1)", "b") + ", " + Turned("cos", "sin") +
                   Op("stack.default", R"("tensors": ["%first", "%second"], "dim": -1)", "both") + ", " +
                   Op("view.default", R"("self": "%both", "size": [2, 4, 256, 128])", "y"),
               256, 64}));
  EXPECT_NE(program.find("= matmul(x_view, w_view) by {heads: 1}"), std::string::npos) << program;
  EXPECT_NE(program.find("rotated(1) * "), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(RotatedProductTest, OthersStayMaps) {
  const auto stays = [](const std::string& problem, const DeviceModel& device = TypicalDevice()) {
    const std::string program = WrittenText(problem, {}, device);
    EXPECT_EQ(program.find("rotated"), std::string::npos) << program;
    EXPECT_NE(program.find("nest"), std::string::npos) << program;
  };
  stays(Problem({Halves()}), DeviceModel{});  // a processor
  stays(Problem({Halves(), 8}));              // few rows
  // No multiples of what a pair has.
  stays(Problem({Halves("sum") + ", " + Op("exp.default", R"("self": "%sum")", "y")}));
  // Mirrored is not turned.
  std::string mirrored = Problem({Halves()});
  mirrored.replace(mirrored.find("aten.neg.default"), std::string("aten.neg.default").size(), "aten.positive.default");
  stays(mirrored);
}

}  // namespace
}  // namespace hone::expert
