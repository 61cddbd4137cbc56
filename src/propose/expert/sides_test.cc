// Rows that are normalised and whose halves are turned then, as queries and keys are before attention: one norm,
// however the turn is written, which makes what a kernel a step makes.
#include "propose/expert/sides.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/computed.h"

namespace hone::expert {
namespace {

using testing::Computed;
using testing::WrittenText;

std::string Op(std::string_view op, std::string_view args, std::string_view made) {
  return fmt::format(R"(, {{"op": "aten.{}", "args": {{{}}}, "outputs": ["{}"]}})", op, args, made);
}
std::string Half(std::string_view of, int number, std::string_view made) {
  return Op("slice.Tensor",
            fmt::format(R"("self": "%{}", "dim": 3, "start": {}, "end": {})", of, number * 8, number * 8 + 8), made);
}

// x [2, 20, 48] are heads of 16, normalised, and turned as `turn` makes y of h [2, 3, 20, 16].
std::string Problem(const std::string& turn) {
  const auto tensor = [](std::string_view name, std::string_view shape, std::string_view rest) {
    return fmt::format(R"({{"name": "{}", "shape": {}, "dtype": "f32", {}}})", name, shape, rest);
  };
  constexpr std::string_view kDrawn = R"("role": "input", "generator": {"kind": "uniform", "low": -1, "high": 1})";
  std::string tensors = tensor("x", "[2, 20, 48]", kDrawn);
  for (const std::string_view table : {"cos", "sin"}) tensors += ", " + tensor(table, "[20, 16]", kDrawn);
  for (const std::string_view table : {"c", "s"}) tensors += ", " + tensor(table, "[20, 8]", kDrawn);
  tensors += ", " + tensor("w", "[16]", kDrawn) + ", " + tensor("y", "[2, 3, 20, 16]", R"("role": "output")");
  return R"({"hone_problem": 1, "name": "n", "tensors": [)" + tensors +
         R"(], "graph": [{"op": "aten.view.default", "args": {"self": "%x", "size": [2, 20, 3, 16]}, "outputs": ["v"]})" +
         Op("rms_norm.default", R"("input": "%v", "normalized_shape": [16], "weight": "%w", "eps": 1e-5)", "n") +
         Op("permute.default", R"("self": "%n", "dims": [0, 2, 1, 3])", "h") + turn + "]}";
}
std::string RotatedHalf(std::string_view whole) {
  return Half(whole, 0, "a") + Half(whole, 1, "b") + Op("neg.default", R"("self": "%b")", "m") +
         Op("cat.default", R"("tensors": ["%m", "%a"], "dim": 3)", "r") +
         Op("mul.Tensor", fmt::format(R"("self": "%{}", "other": "%cos")", whole), "d") +
         Op("mul.Tensor", R"("self": "%r", "other": "%sin")", "e") +
         Op("add.Tensor", R"("self": "%d", "other": "%e")", "y");
}
// Each half by itself, with the second one's terms in the order `second`.
std::string Halves(const std::string& second) {
  std::string text = Half("h", 0, "a") + Half("h", 1, "b");
  for (const std::string_view half : {"a", "b"}) {
    for (const std::string_view table : {"c", "s"})
      text += Op("mul.Tensor", fmt::format(R"("self": "%{}", "other": "%{}")", half, table),
                 fmt::format("{}{}", half, table));
  }
  return text + Op("sub.Tensor", R"("self": "%ac", "other": "%bs")", "first") + Op("add.Tensor", second, "second") +
         Op("cat.default", R"("tensors": ["%first", "%second"], "dim": 3)", "y");
}

void ExpectTheSame(const std::string& problem) {
  Fusion none{.maps = false, .epilogues = false, .norms = false, .attention = false, .products = false};
  const auto fused = Computed(problem, {}, "y"), apart = Computed(problem, none, "y");
  ASSERT_EQ(fused.size(), 1920u);
  ASSERT_EQ(apart.size(), fused.size());
  for (std::size_t i = 0; i < fused.size(); ++i) ASSERT_NEAR(fused[i], apart[i], 1e-9) << i;
}

void ExpectOneNorm(const std::string& problem) {
  const std::string text = WrittenText(problem);
  SCOPED_TRACE(text);
  EXPECT_NE(text.find("signs = nest [i < 2]"), std::string::npos);
  EXPECT_NE(text.find("= norm("), std::string::npos);
  EXPECT_EQ(text.find("reduce"), std::string::npos);
  ExpectTheSame(problem);
}

TEST(SidesTest, ANormWhoseHalvesAreTurnedIsOneStatement) { ExpectOneNorm(Problem(RotatedHalf("h"))); }

TEST(SidesTest, SoItIsWhereTheHalvesAreWrittenApart) {
  ExpectOneNorm(Problem(Halves(R"("self": "%bc", "other": "%as")")));
  ExpectOneNorm(Problem(Halves(R"("self": "%as", "other": "%bc")")));
}

TEST(SidesTest, OthersStayAsTheyAre) {
  // Each half with tables of its own kind: no element of one is at the place of another's.
  const std::string text = WrittenText(Problem(Halves(R"("self": "%as", "other": "%as")")));
  EXPECT_EQ(text.find("signs"), std::string::npos) << text;
  EXPECT_NE(text.find("reduce sum"), std::string::npos) << text;
  // A half that is negated where it is.
  const std::string negated =
      Problem(Half("h", 0, "a") + Half("h", 1, "b") + Op("neg.default", R"("self": "%b")", "m") +
              Op("cat.default", R"("tensors": ["%a", "%m"], "dim": 3)", "y"));
  EXPECT_EQ(WrittenText(negated).find("signs"), std::string::npos);
  ExpectTheSame(negated);
}

}  // namespace
}  // namespace hone::expert
