// Numbers of few bits go into products of few rows, however a layer spells what makes reals of them.
#include <gtest/gtest.h>

#include <string>

#include "dsl/kernel.h"
#include "dsl/way.h"
#include "propose/expert/testing/written.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

using testing::Written;

// The way by which the one kernel is made; empty if there are several.
std::string WayOf(const std::optional<dsl::Program>& program) {
  const auto checked = dsl::Check(*program, nullptr, TypicalDevice());
  const auto* made = std::get_if<dsl::KernelProgram>(&checked);
  return made != nullptr && made->kernels.size() == 1 ? std::string(made->kernels[0].way->name) : "";
}

std::string Tensor(const std::string& name, const std::string& shape, const std::string& type,
                   const std::string& role = "parameter") {
  const std::string generator = role == "output" ? "" : R"(, "generator": {"kind": "integer", "low": 0, "high": 9})";
  return R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": ")" + type + R"(", "role": ")" + role +
         "\"" + generator + "}";
}
std::string Op(const std::string& op, const std::string& args, const std::string& made) {
  return R"({"op": "aten.)" + op + R"(", "args": {)" + args + R"(}, "outputs": [")" + made + "\"]}";
}
std::string Problem(const std::string& tensors, const std::string& graph, int rows = 16) {
  const std::string m = std::to_string(rows);
  return R"({"hone_problem": 1, "name": "layer", "tensors": [)" + Tensor("x", "[" + m + ", 512]", "bf16", "input") +
         ", " + tensors + ", " + Tensor("y", "[" + m + ", 256]", "bf16", "output") + R"(], "graph": [)" + graph + "]}";
}
const std::string kProduct = Op("permute.default", R"("dims": [1, 0], "self": "%v")", "t") + ", " +
                             Op("mm.default", R"("mat2": "%t", "self": "%x")", "y");

// x @ (w.to(bf16) * s).t()
std::string Columns(int rows = 16, const std::string& type = "i8") {
  return Problem(Tensor("w", "[256, 512]", type) + ", " + Tensor("s", "[256, 1]", "bf16"),
                 Op("_to_copy.default", R"("dtype": "bf16", "self": "%w")", "c") + ", " +
                     Op("mul.Tensor", R"("other": "%s", "self": "%c")", "v") + ", " + kProduct,
                 rows);
}
// x @ (w.to(bf16) * s), w and s in this shape and w of this type
std::string Across(const std::string& type, int outer = 256, int inner = 512) {
  const std::string n = std::to_string(outer), k = std::to_string(inner);
  return R"({"hone_problem": 1, "name": "layer", "tensors": [)" + Tensor("x", "[16, " + k + "]", "bf16", "input") +
         ", " + Tensor("w", "[" + k + ", " + n + "]", type) + ", " + Tensor("s", "[" + n + "]", "bf16") + ", " +
         Tensor("y", "[16, " + n + "]", "bf16", "output") + R"(], "graph": [)" +
         Op("_to_copy.default", R"("dtype": "bf16", "self": "%w")", "c") + ", " +
         Op("mul.Tensor", R"("other": "%s", "self": "%c")", "v") + ", " +
         Op("mm.default", R"("mat2": "%v", "self": "%x")", "y") + "]}";
}
// x @ (w.view(groups, 128, n).to(bf16) * s).view(-1, n)
std::string GroupsAcross(const std::string& type, const std::string& scales = "bf16") {
  return Problem(Tensor("w", "[512, 256]", type) + ", " + Tensor("s", "[4, 1, 256]", scales),
                 Op("view.default", R"("self": "%w", "size": [4, 128, 256])", "groups") + ", " +
                     Op("_to_copy.default", R"("dtype": "bf16", "self": "%groups")", "c") + ", " +
                     Op("mul.Tensor", R"("other": "%s", "self": "%c")", "e") + ", " +
                     Op("_to_copy.default", R"("dtype": "bf16", "self": "%e")", "f") + ", " +
                     Op("view.default", R"("self": "%f", "size": [-1, 256])", "v") + ", " +
                     Op("mm.default", R"("mat2": "%v", "self": "%x")", "y"));
}
// stack((w & 15, w >> 4), -1), less zeros, times scales of 128 each
std::string Nibbles() {
  return Problem(Tensor("w", "[256, 256]", "u8") + ", " + Tensor("s", "[256, 4, 1]", "bf16") + ", " +
                     Tensor("z", "[256, 4, 1]", "bf16"),
                 Op("bitwise_and.Scalar", R"("other": 15, "self": "%w")", "low") + ", " +
                     Op("__rshift__.Scalar", R"("other": 4, "self": "%w")", "high") + ", " +
                     Op("unsqueeze.default", R"("dim": 2, "self": "%low")", "low_1") + ", " +
                     Op("unsqueeze.default", R"("dim": 2, "self": "%high")", "high_1") + ", " +
                     Op("cat.default", R"("dim": -1, "tensors": ["%low_1", "%high_1"])", "both") + ", " +
                     Op("view.default", R"("self": "%both", "size": [256, 4, -1])", "groups") + ", " +
                     Op("_to_copy.default", R"("dtype": "bf16", "self": "%groups")", "c") + ", " +
                     Op("sub.Tensor", R"("other": "%z", "self": "%c")", "d") + ", " +
                     Op("mul.Tensor", R"("other": "%s", "self": "%d")", "e") + ", " +
                     Op("view.default", R"("self": "%e", "size": [256, -1])", "v") + ", " + kProduct);
}

// The four bits from each of these on of words, which `to` has one more dimension for.
std::string Shifted(const std::string& words, const std::string& shifts, int dim, const std::string& to,
                    const std::string& type = "i32") {
  return Op("unsqueeze.default", R"("dim": )" + std::to_string(dim) + R"(, "self": "%)" + words + "\"", to + "_u") +
         ", " + Op("__rshift__.Tensor", R"("other": "%)" + shifts + R"(", "self": "%)" + to + "_u\"", to + "_s") +
         ", " + Op("_to_copy.default", R"("dtype": ")" + type + R"(", "self": "%)" + to + "_s\"", to + "_c") + ", " +
         Op("bitwise_and.Scalar", R"("other": 15, "self": "%)" + to + "_c\"", to);
}
std::string View(const std::string& of, const std::string& size, const std::string& to) {
  return Op("view.default", R"("self": "%)" + of + R"(", "size": )" + size, to);
}
const std::string kShifts =
    Op("arange.start_step", R"("start": 0, "end": 32, "step": 4, "dtype": "i64")", "shifts") + ", ";

// ("numbers" [512, 256] less "zeros" [4, 256], of 128 rows each) * s[k / 128, n], as "e"
const std::string kScaled = View("numbers", "[4, 128, 256]", "groups") + ", " + View("zeros", "[4, 1, 256]", "taken") +
                            ", " + Op("sub.Tensor", R"("other": "%taken", "self": "%groups")", "d") + ", " +
                            View("s", "[4, 1, 256]", "scales") + ", " +
                            Op("mul.Tensor", R"("other": "%scales", "self": "%d")", "e") + ", ";
const std::string kTimesRows = Op("mm.default", R"("mat2": "%v", "self": "%x")", "y");

// (w[k / 8, n] >> 4 * (k % 8) & 15, less z[k / 128, n / 8] >> 4 * (n % 8) & 15) * s[k / 128, n]
std::string Gptq(const std::string& scales, const std::string& type = "i32") {
  return Problem(
      Tensor("w", "[64, 256]", "i32") + ", " + Tensor("z", "[4, 32]", "i32") + ", " + Tensor("s", "[4, 256]", scales),
      kShifts + View("shifts", "[1, 8, 1]", "deep") + ", " + Shifted("w", "deep", 1, "numbers", type) + ", " +
          Shifted("z", "shifts", 2, "zeros", type) + ", " + kScaled +
          Op("_to_copy.default", R"("dtype": "bf16", "self": "%e")", "f") + ", " + View("f", "[512, 256]", "v") + ", " +
          kTimesRows);
}
// Likewise of w[k, n / 8], columns 0, 2, 4, 6, 1, 3, 5, 7 in a word
std::string Awq() {
  return Problem(
      Tensor("w", "[512, 32]", "i32") + ", " + Tensor("z", "[4, 32]", "i32") + ", " + Tensor("s", "[4, 256]", "bf16"),
      kShifts + View("shifts", "[2, 4]", "two") + ", " +
          Op("permute.default", R"("dims": [1, 0], "self": "%two")", "turned") + ", " +
          Op("clone.default", R"("self": "%turned")", "laid") + ", " + View("laid", "[8]", "order") + ", " +
          Shifted("w", "order", 2, "numbers") + ", " + Shifted("z", "order", 2, "zeros") + ", " + kScaled +
          View("e", "[512, 256]", "v") + ", " + kTimesRows);
}
std::string Chosen(const std::string& of, const std::string& indices, const std::string& to) {
  return Op("index.Tensor", R"("self": "%)" + of + R"(", "indices": )" + indices, to) + ", ";
}
std::string Steps(int end, const std::string& to) {
  return Op("arange.start_step", R"("start": 0, "end": )" + std::to_string(end) + R"(, "step": 1, "dtype": "i64")",
            to) +
         ", ";
}
// As Gptq, where the number of each row's group says which zeros and scales it has: k / 128, the group's backwards, or
// data.
enum class Numbers { kInOrder, kBackwards, kData };
std::string GptqByNumbers(Numbers order) {
  const bool backwards = order == Numbers::kBackwards, data = order == Numbers::kData;
  const std::string made =
      Steps(4, "steps") +
      (backwards ? Op("flip.default", R"("dims": [0], "self": "%steps")", "first") + ", "
                 : View("steps", "[4]", "first") + ", ") +
      View("first", "[4, 1]", "each") + ", " + Op("expand.default", R"("self": "%each", "size": [4, 128])", "many") +
      ", " + Op("clone.default", R"("self": "%many")", "copied") + ", " + View("copied", "[512]", "group") + ", ";
  const std::string numbers = data ? "" : made;
  return Problem(Tensor("w", "[64, 256]", "i32") + ", " + Tensor("z", "[4, 32]", "i32") + ", " +
                     Tensor("s", "[4, 256]", "bf16") + (data ? ", " + Tensor("group", "[512]", "i32") : ""),
                 kShifts + numbers + View("shifts", "[1, 8, 1]", "deep") + ", " +
                     Shifted("w", "deep", 1, "numbers", "i8") + ", " + Shifted("z", "shifts", 2, "zeros", "i8") + ", " +
                     View("numbers", "[512, 256]", "rows") + ", " + View("zeros", "[4, 256]", "groups") + ", " +
                     Chosen("groups", R"(["%group"])", "taken") + Chosen("s", R"(["%group"])", "scales") +
                     Op("sub.Tensor", R"("other": "%taken", "self": "%rows")", "d") + ", " +
                     Op("mul.Tensor", R"("other": "%scales", "self": "%d")", "v") + ", " + kTimesRows);
}
// As Awq, where columns are put in order by their numbers after they were taken out of words.
std::string AwqInOrder() {
  return Problem(
      Tensor("w", "[512, 32]", "i32") + ", " + Tensor("z", "[4, 32]", "i32") + ", " + Tensor("s", "[4, 256]", "bf16"),
      kShifts + Steps(8, "eight") + View("eight", "[2, 4]", "two") + ", " +
          Op("permute.default", R"("dims": [1, 0], "self": "%two")", "turned") + ", " +
          Op("clone.default", R"("self": "%turned")", "laid") + ", " + View("laid", "[8]", "order") + ", " +
          Steps(256, "all") + View("all", "[32, 8]", "words") + ", " +
          Chosen("words", R"([null, "%order"])", "ordered") + View("ordered", "[256]", "columns") + ", " +
          Shifted("w", "shifts", 2, "w_numbers", "i8") + ", " + View("w_numbers", "[512, 256]", "w_all") + ", " +
          Chosen("w_all", R"([null, "%columns"])", "numbers") + Shifted("z", "shifts", 2, "z_numbers", "i8") + ", " +
          View("z_numbers", "[4, 256]", "z_all") + ", " + Chosen("z_all", R"([null, "%columns"])", "zeros") + kScaled +
          View("e", "[512, 256]", "v") + ", " + kTimesRows);
}
// stack((t[w >> 4], t[w & 15]), -1), of blocks of 64 times a scale each; or of 32, times 2 to the power of a byte.
std::string InTable(bool powers) {
  const std::string block = powers ? "32" : "64", blocks = powers ? "4096" : "2048", half = powers ? "16" : "32";
  const std::string scaled = powers ? Op("_to_copy.default", R"("dtype": "i32", "self": "%s")", "whole") + ", " +
                                          Op("sub.Tensor", R"("other": 127, "self": "%whole")", "power") + ", " +
                                          Op("ldexp.Tensor", R"("self": "%parts", "other": "%power")", "e") + ", "
                                    : View("s", "[2048, 1]", "scale") + ", " +
                                          Op("mul.Tensor", R"("other": "%scale", "self": "%parts")", "e") + ", ";
  return Problem(Tensor("w", "[65536]", "u8") + ", " + Tensor("lut", "[16]", powers ? "bf16" : "f32") + ", " +
                     Tensor("s", "[" + blocks + ", 1]", powers ? "u8" : "f32"),
                 Op("bitwise_and.Scalar", R"("other": 15, "self": "%w")", "low") + ", " +
                     Op("__rshift__.Scalar", R"("other": 4, "self": "%w")", "high") + ", " +
                     Op("_to_copy.default", R"("dtype": "i64", "self": "%low")", "low_1") + ", " +
                     Op("_to_copy.default", R"("dtype": "i64", "self": "%high")", "high_1") + ", " +
                     Chosen("lut", R"(["%low_1"])", "lows") + Chosen("lut", R"(["%high_1"])", "highs") +
                     Op("unsqueeze.default", R"("dim": 1, "self": "%lows")", "a") + ", " +
                     Op("unsqueeze.default", R"("dim": 1, "self": "%highs")", "b") + ", " +
                     Op("cat.default", R"("dim": -1, "tensors": ["%b", "%a"])", "both") + ", " +
                     View("both", "[" + blocks + ", " + block + "]", "parts") + ", " + scaled +
                     Op("_to_copy.default", R"("dtype": "bf16", "self": "%e")", "f") + ", " +
                     View("f", "[256, 512]", "v") + ", " + kProduct);
}
// (x.view(16, 8, 64) * mask).sum(1)
std::string Pooled() {
  return R"({"hone_problem": 1, "name": "pooled", "tensors": [)" + Tensor("x", "[2, 8, 64]", "bf16", "input") + ", " +
         Tensor("mask", "[2, 8, 1]", "i32", "input") + ", " + Tensor("y", "[2, 64]", "bf16", "output") +
         R"(], "graph": [)" + Op("mul.Tensor", R"("other": "%mask", "self": "%x")", "taken") + ", " +
         Op("sum.dim_IntList", R"("dim": [1], "self": "%taken")", "y") + "]}";
}

TEST(WeightsTest, ScalesOfColumnsAreBehindTheSum) {
  const auto program = Written(Columns(), {.weights = true});
  ASSERT_TRUE(program);
  const std::string text = dsl::Print(*program);
  EXPECT_NE(text.find("(sum [k < 512] (x[i, k] * real(w[j, k])) * s[j, 0])"), std::string::npos) << text;
  EXPECT_EQ(WayOf(program), "weights");
}

TEST(WeightsTest, HalvesOfBytesAndTheirGroupsTakeTheSumApart) {
  const auto program = Written(Nibbles(), {.weights = true});
  ASSERT_TRUE(program);
  ASSERT_EQ(program->statements.size(), 1u) << dsl::Print(*program);
  const std::string text = dsl::Print(*program);
  EXPECT_NE(text.find("sum [k < 4, l < 64, m < 2] (x[i, k * 128 + (l * 2 + m)] * ((real("), std::string::npos) << text;
  EXPECT_EQ(WayOf(program), "weights");
}

TEST(WeightsTest, RealsOfEightBitsAreReadAsTheyLie) {
  for (const std::string type : {"f8e4m3", "f8e5m2"}) {
    const auto program = Written(Columns(16, type), {.weights = true});
    ASSERT_TRUE(program);
    const std::string text = dsl::Print(*program);
    EXPECT_NE(text.find("(sum [k < 512] (x[i, k] * w[j, k]) * s[j, 0])"), std::string::npos) << text;
    EXPECT_EQ(WayOf(program), "weights");
  }
}

TEST(WeightsTest, NumbersAcrossWhatIsSummedAreReadAsTheyLie) {
  for (const std::string type : {"i8", "u8", "f8e4m3"}) {
    const auto program = Written(Across(type), {.weights = true});
    ASSERT_TRUE(program);
    EXPECT_EQ(WayOf(program), "weights") << dsl::Print(*program);
    const auto groups = Written(GroupsAcross(type), {.weights = true});
    ASSERT_TRUE(groups);
    const std::string text = dsl::Print(*groups);
    EXPECT_NE(text.find("sum [k < 4, l < 128] (x[i, k * 128 + l] * ("), std::string::npos) << text;
    EXPECT_EQ(WayOf(groups), "weights") << text;
  }
}

TEST(WeightsTest, ColumnsThatNoThreadTakesTogetherHaveAKernelBefore) {
  for (const auto& program :
       {Written(Across("i8", 250), {.weights = true}), Written(Across("i8", 256, 500), {.weights = true})}) {
    ASSERT_TRUE(program);
    EXPECT_EQ(program->statements.back().family, "matmul") << dsl::Print(*program);
  }
}

TEST(WeightsTest, ManyRowsTimesRealsOfEightBitsAreAProductOfBf16) {
  const auto program = Written(Columns(64, "f8e4m3"), {.weights = true});
  ASSERT_TRUE(program);
  EXPECT_EQ(program->statements.back().family, "matmul") << dsl::Print(*program);
}

TEST(WeightsTest, ScalesOfGroupsMayBeOfF32) {
  const auto program = Written(GroupsAcross("f8e4m3", "f32"), {.weights = true});
  ASSERT_TRUE(program);
  EXPECT_EQ(WayOf(program), "weights") << dsl::Print(*program);
}

// x @ (w.view(2, 128, 4, 128).float() * s[:, None, :, None]).view(256, 512).to(bf16).t()
TEST(WeightsTest, ScalesMayBeOfBlocks) {
  const auto program =
      Written(Problem(Tensor("w", "[256, 512]", "f8e4m3") + ", " + Tensor("s", "[2, 1, 4, 1]", "f32"),
                      Op("_to_copy.default", R"("dtype": "f32", "self": "%w")", "c") + ", " +
                          Op("view.default", R"("self": "%c", "size": [2, 128, 4, 128])", "blocks") + ", " +
                          Op("mul.Tensor", R"("other": "%s", "self": "%blocks")", "e") + ", " +
                          Op("view.default", R"("self": "%e", "size": [256, 512])", "f") + ", " +
                          Op("_to_copy.default", R"("dtype": "bf16", "self": "%f")", "v") + ", " + kProduct),
              {.weights = true});
  ASSERT_TRUE(program);
  EXPECT_EQ(WayOf(program), "weights") << dsl::Print(*program);
}

// That it is one kernel of this way, whose nest begins so.
void ExpectWeights(const std::string& problem, const std::string& nest) {
  const auto program = Written(problem, {.weights = true});
  ASSERT_TRUE(program);
  const std::string text = dsl::Print(*program);
  ASSERT_EQ(program->statements.size(), 1u) << text;
  EXPECT_NE(text.find(nest), std::string::npos) << text;
  EXPECT_EQ(WayOf(program), "weights") << text;
}

TEST(WeightsTest, WordsOfGptqAreReadAsTheyLie) {
  for (const std::string scales : {"bf16", "f32"})
    ExpectWeights(Gptq(scales),
                  "nest [i < 16, j < 32, k < 8] (sum [l < 4, m < 16, n < 8] (x[i, l * 128 + (m * 8 + n)] * (re");
}

TEST(WeightsTest, WordsThatAreCutToBytesBeforeTheyAreMaskedAreReadAsTheyLie) {
  ExpectWeights(Gptq("bf16", "i8"),
                "nest [i < 16, j < 32, k < 8] (sum [l < 4, m < 16, n < 8] (x[i, l * 128 + (m * 8 + n)] * (re");
}

TEST(WeightsTest, WordsOfAwqAreReadAsTheyLie) {
  ExpectWeights(Awq(), "nest [i < 16, j < 32, k < 4, l < 2] (sum [m < 4, n < 128] (x[i, m * 128 + n] * (");
}

// Orders and groups that indices alone make are no lookups.
TEST(WeightsTest, WordsThatNumbersPutInOrderAreReadAsTheyLie) {
  ExpectWeights(GptqByNumbers(Numbers::kInOrder),
                "nest [i < 16, j < 32, k < 8] (sum [l < 4, m < 16, n < 8] (x[i, l * 128 + (m * 8 + n)] * (");
  ExpectWeights(AwqInOrder(), "nest [i < 16, j < 32, k < 4, l < 2] (sum [m < 4, n < 128] (x[i, m * 128 + n] * (");
}

TEST(WeightsTest, NumbersOfGroupsThatComeBackwardsAreNoValue) {
  const auto program = Written(GptqByNumbers(Numbers::kBackwards), {.weights = true});
  ASSERT_TRUE(program);
  const std::string text = dsl::Print(*program);
  EXPECT_EQ(text.find("group"), std::string::npos) << text;
}

TEST(WeightsTest, GroupsWithAnOrderOfTheirOwnAreWrittenByOneNest) {
  const auto program = Written(GptqByNumbers(Numbers::kData));
  ASSERT_TRUE(program);
  const std::string text = dsl::Print(*program);
  EXPECT_NE(text.find("v: bf16 = nest [i < 64, j < 8, k < 256] (real(and("), std::string::npos) << text;
  EXPECT_NE(text.find("floordiv(w_view[i, 0, k], select(0 < and(j * 4, 4), 16, 1)"), std::string::npos) << text;
}

TEST(WeightsTest, NumbersThatArePlacesInATableAreReadAsTheyLie) {
  ExpectWeights(InTable(/*powers=*/false),
                "sum [k < 8, l < 32, m < 2] (x[i, k * 64 + (l * 2 + m)] * (select(1 <= m, lut[");
  ExpectWeights(InTable(/*powers=*/true),
                "sum [k < 16, l < 16, m < 2] (x[i, k * 32 + (l * 2 + m)] * (select(1 <= m, lut[");
}

TEST(WeightsTest, MasksOfWholeNumbersAreNoWeights) {
  const auto program = Written(Pooled(), {.weights = true});
  ASSERT_TRUE(program);
  const auto checked = dsl::Check(*program, nullptr, TypicalDevice());
  EXPECT_TRUE(std::holds_alternative<dsl::KernelProgram>(checked)) << dsl::Print(*program);
}

TEST(WeightsTest, ManyRowsAndWhoDoesNotAskHaveAKernelBefore) {
  for (const auto& program : {Written(Columns(17), {.weights = true}), Written(Columns()), Written(Nibbles())}) {
    ASSERT_TRUE(program);
    EXPECT_EQ(program->statements.back().family, "matmul") << dsl::Print(*program);
  }
}

}  // namespace
}  // namespace hone::expert
