// What people write behind a language model's head, however they spell it: the scores, a product with many columns, are
// never written, and what is made means the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/testing/interpreter.h"
#include "propose/expert/testing/written.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

using testing::Written;

std::string Tensor(const std::string& name, const std::string& shape, const std::string& type,
                   const std::string& role = "input") {
  const std::string generator = role == "output" ? "" : R"(, "generator": {"kind": "integer", "low": 0, "high": 72})";
  return R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": ")" + type + R"(", "role": ")" + role +
         "\"" + generator + "}";
}
std::string Op(const std::string& op, const std::string& args, const std::string& made) {
  return R"(, {"op": "aten.)" + op + R"(", "args": {)" + args + R"(}, "outputs": [")" + made + "\"]}";
}
std::string Cast(const std::string& of, const std::string& made) {
  return Op("_to_copy.default", R"("self": "%)" + of + R"(", "dtype": "f32")", made);
}
std::string View(const std::string& of, const std::string& size, const std::string& made) {
  return Op("view.default", R"("self": "%)" + of + R"(", "size": )" + size, made);
}
std::string Slice(const std::string& of, int start, const std::string& end, const std::string& made) {
  return Op("slice.Tensor", fmt::format(R"("self": "%{}", "dim": 1, "start": {}, "end": {})", of, start, end), made);
}
std::string Binary(const std::string& op, const std::string& a, const std::string& b, const std::string& made) {
  return Op(op, R"("self": "%)" + a + R"(", "other": )" + b, made);
}
std::string Gather(const std::string& of, int dim, const std::string& index, const std::string& made) {
  return Op("unsqueeze.default", fmt::format(R"("self": "%{}", "dim": {})", index, dim), "places") +
         Op("gather.default", fmt::format(R"("self": "%{}", "dim": {}, "index": "%places")", of, dim), "found") +
         Op("squeeze.dims", fmt::format(R"("self": "%found", "dim": [{}])", dim), made);
}
std::string LogSoftmax(const std::string& of, int dim, const std::string& made) {
  return Op("_log_softmax.default", fmt::format(R"("self": "%{}", "dim": {}, "half_to_float": false)", of, dim), made);
}

// "l": the scores of 72 classes for 4 sequences of 9 tokens, and of "y", what `nodes` make of them and of "t", what is
// wanted, and "m", a mask.
std::string Loss(const std::string& nodes, const std::string& shape = "[]") {
  const std::string tensors = Tensor("x", "[4, 9, 32]", "bf16") + ", " + Tensor("w", "[72, 32]", "bf16", "parameter") +
                              ", " + Tensor("b", "[72]", "bf16", "parameter") + ", " + Tensor("t", "[4, 9]", "i64") +
                              ", " + Tensor("m", "[4, 8]", "f32") + ", " + Tensor("y", shape, "f32", "output");
  return R"({"hone_problem": 1, "name": "loss", "tensors": [)" + tensors +
         R"(], "graph": [{"op": "aten.permute.default", "args": {"self": "%w", "dims": [1, 0]}, "outputs": ["wt"]})" +
         View("x", "[36, 32]", "rows") + Op("mm.default", R"("self": "%rows", "mat2": "%wt")", "mm") +
         View("mm", "[4, 9, 72]", "l") + nodes + "]}";
}
// The mean of what F.cross_entropy makes of `scores` [rows, 72] and `wanted` [rows], where that is not -100.
std::string CrossEntropy(const std::string& scores, const std::string& wanted, const std::string& made) {
  return LogSoftmax(scores, 1, "log_softmax") + Binary("ne.Scalar", wanted, "-100", "counts") +
         Op("scalar_tensor.default", R"("s": 0, "dtype": "i64")", "zero") +
         Op("where.self", R"("condition": "%counts", "self": "%)" + wanted + R"(", "other": "%zero")", "chosen") +
         Gather("log_softmax", 1, "chosen", "squeezed") + Op("neg.default", R"("self": "%squeezed")", "losses") +
         Op("scalar_tensor.default", R"("s": 0, "dtype": "f32")", "none") +
         Op("where.self", R"("condition": "%counts", "self": "%losses", "other": "%none")", "kept") +
         Op("sum.dim_IntList", R"("self": "%counts", "dim": [])", "count") + Cast("count", "real_count") +
         Op("sum.dim_IntList", R"("self": "%kept", "dim": [])", "total") +
         Binary("div.Tensor", "total", "\"%real_count\"", made);
}
// torch.logsumexp along the last dimension, which is of rank `dim`.
std::string LogSumExp(const std::string& scores, int dim, const std::string& made) {
  return Op("logsumexp.default", fmt::format(R"("self": "%{}", "dim": [{}])", scores, dim), made);
}

std::vector<std::string> FamiliesOf(const dsl::Program& program) {
  std::vector<std::string> families;
  for (const auto& statement : program.statements)
    families.push_back(statement.variant == "logsumexp" ? statement.variant : statement.family);
  return families;
}

// The values of "y".
std::vector<double> Meaning(const dsl::Program& program) {
  const auto checked = dsl::Check(program, nullptr, TypicalDevice());
  const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
  EXPECT_NE(kernels, nullptr) << dsl::Print(program);
  if (kernels == nullptr) return {};
  std::vector<std::vector<double>> values(kernels->buffers.size());
  std::size_t output = 0;
  for (std::size_t b = 0; b < values.size(); ++b) {
    const auto& buffer = kernels->buffers[b];
    if (buffer.home == dsl::KernelBuffer::Home::kOutput) output = b;
    if (buffer.home != dsl::KernelBuffer::Home::kInput && buffer.home != dsl::KernelBuffer::Home::kParameter) continue;
    std::mt19937 random(buffer.name[0]);
    values[b].resize(static_cast<std::size_t>(ElementCount(buffer.shape)));
    for (double& value : values[b]) {
      const auto drawn = static_cast<double>(random() % 72);
      value = IsFloat(buffer.dtype) ? drawn / 64 - 0.5 : drawn;  // exact in 16 bits
    }
  }
  dsl::testing::Interpreter(*kernels, values).Run();
  return values[output];
}

// No scores are written; what is made means what the plain operators mean.
void ExpectFused(const std::string& problem, const std::vector<std::string>& families) {
  const auto fused = Written(problem);
  const auto plain =
      Written(problem, {.maps = false, .epilogues = false, .norms = false, .attention = false, .products = false});
  ASSERT_TRUE(fused && plain);
  EXPECT_EQ(FamiliesOf(*fused), families) << dsl::Print(*fused);
  const auto is = Meaning(*fused), want = Meaning(*plain);
  ASSERT_EQ(is.size(), want.size());
  for (std::size_t i = 0; i < is.size(); ++i)
    EXPECT_NEAR(is[i], want[i], 0.01 * std::fabs(want[i]) + 1e-3) << dsl::Print(*fused);
}

const std::string kWanted = Slice("t", 1, "9223372036854775807", "later");

TEST(LossesTest, ALossOfShiftedScoresWritesNone) {
  const std::string wanted = kWanted + View("later", "[32]", "wanted") + CrossEntropy("seen", "wanted", "y");
  const std::vector<std::string> families = {"map", "logsumexp", "nest", "reduce"};
  ExpectFused(Loss(Cast("l", "real") + Slice("real", 0, "-1", "cut") + View("cut", "[32, 72]", "seen") + wanted),
              families);
  // And where they are cut before they are reals of 32 bits, or copied behind that.
  ExpectFused(Loss(Slice("l", 0, "-1", "cut") + View("cut", "[32, 72]", "merged") + Cast("merged", "seen") + wanted),
              families);
  ExpectFused(Loss(Cast("l", "real") + Slice("real", 0, "-1", "cut") +
                   Op("clone.default", R"("self": "%cut")", "copy") + View("copy", "[32, 72]", "seen") + wanted),
              families);
}

TEST(LossesTest, ShiftedScoresMayHaveABiasAndACap) {
  ExpectFused(Loss(Binary("add.Tensor", "l", "\"%b\"", "biased") + Cast("biased", "real") +
                   Binary("div.Tensor", "real", "30", "small") + Op("tanh.default", R"("self": "%small")", "bent") +
                   Binary("mul.Tensor", "bent", "30", "capped") + Slice("capped", 0, "-1", "cut") +
                   View("cut", "[32, 72]", "seen") + kWanted + View("later", "[32]", "wanted") +
                   CrossEntropy("seen", "wanted", "y")),
              {"map", "logsumexp", "nest", "reduce"});
}

TEST(LossesTest, LogarithmsOfProbabilitiesOfWhatIsWantedNeedNoOthers) {
  const std::string scaled = Cast("l", "real") + Binary("div.Tensor", "real", "0.7", "scaled");
  ExpectFused(Loss(scaled + LogSoftmax("scaled", 2, "p") + Gather("p", 2, "t", "y"), "[4, 9]"), {"logsumexp", "nest"});
  const std::string apart = Gather("scaled", 2, "t", "own") + LogSumExp("scaled", 2, "all");
  ExpectFused(Loss(scaled + apart + Binary("sub.Tensor", "own", "\"%all\"", "y"), "[4, 9]"), {"nest", "logsumexp"});
}

TEST(LossesTest, AMaskedMeanOfThemGoesOnBehind) {
  const std::string mean = Binary("mul.Tensor", "p", "\"%m\"", "masked") +
                           Op("sum.dim_IntList", R"("self": "%masked", "dim": [1])", "some") +
                           Op("sum.dim_IntList", R"("self": "%m", "dim": [1])", "count") +
                           Binary("div.Tensor", "some", "\"%count\"", "y");
  ExpectFused(Loss(Cast("l", "real") + Binary("div.Tensor", "real", "0.7", "scaled") + Slice("scaled", 0, "-1", "cut") +
                       kWanted + Gather("cut", 2, "later", "own") + LogSumExp("cut", 2, "all") +
                       Binary("sub.Tensor", "own", "\"%all\"", "p") + mean,
                   "[4]"),
              {"nest", "logsumexp", "reduce"});
}

// As F.cross_entropy(scores, wanted, label_smoothing=0.1) is made: beside the loss the mean of all logarithms of a row.
TEST(LossesTest, SmoothedLabelsNeedTheSumOfTheColumns) {
  const auto smoothed = [](const std::string& wanted) {
    return CrossEntropy("seen", wanted, "loss") +
           Op("sum.dim_IntList", R"("self": "%log_softmax", "dim": [1])", "all") +
           Op("neg.default", R"("self": "%all")", "each") +
           Op("sum.dim_IntList", R"("self": "%each", "dim": [])", "smooth") +
           Binary("mul.Scalar", "smooth", "0.0001", "some") + Binary("mul.Scalar", "loss", "0.9", "most") +
           Binary("add.Tensor", "most", "\"%some\"", "y");
  };
  const std::vector<std::string> families = {"reduce", "logsumexp", "nest", "reduce", "reduce"};
  const std::string rows = View("t", "[36]", "wanted");
  ExpectFused(Loss(Cast("l", "real") + View("real", "[36, 72]", "seen") + rows + smoothed("wanted")), families);
  ExpectFused(Loss(Cast("l", "real") + Binary("div.Tensor", "real", "0.7", "scaled") +
                   View("scaled", "[36, 72]", "seen") + rows + smoothed("wanted")),
              families);
  ExpectFused(Loss(Cast("l", "real") + Slice("real", 0, "-1", "cut") + View("cut", "[32, 72]", "seen") + kWanted +
                   View("later", "[32]", "wanted") + smoothed("wanted")),
              {"reduce", "map", "logsumexp", "nest", "reduce", "reduce"});
}

TEST(LossesTest, APenaltyOnTheLogarithmReadsWhatTheLossDoes) {
  const auto penalty = [](const std::string& scores, int dim) {
    return LogSumExp(scores, dim, "all") + Op("pow.Tensor_Scalar", R"("self": "%all", "exponent": 2)", "square") +
           Op("mean.default", R"("self": "%square")", "mean") + Binary("mul.Tensor", "mean", "0.1", "paid") +
           Binary("add.Tensor", "loss", "\"%paid\"", "y");
  };
  const std::vector<std::string> families = {"logsumexp", "nest", "reduce", "reduce"};
  const std::string real = Cast("l", "real") + View("real", "[36, 72]", "seen") + View("t", "[36]", "wanted");
  ExpectFused(Loss(real + CrossEntropy("seen", "wanted", "loss") + penalty("seen", 1)),
              {"logsumexp", "nest", "reduce"});  // all of a mean are one kernel
  // Of as many rows in other dimensions, too, and of some of them.
  ExpectFused(Loss(real + CrossEntropy("seen", "wanted", "loss") + penalty("real", 2)), families);
  ExpectFused(Loss(Cast("l", "real") + Slice("real", 0, "-1", "cut") + View("cut", "[32, 72]", "seen") + kWanted +
                   View("later", "[32]", "wanted") + CrossEntropy("seen", "wanted", "loss") + penalty("cut", 2)),
              {"map", "logsumexp", "nest", "reduce", "reduce"});
}

// What is cut may be what goes into the product, which has sequences of its own then.
TEST(LossesTest, ScoresOfCutSequencesAreNotWrittenEither) {
  ExpectFused(
      Loss(Slice("x", 0, "-1", "tokens") + Op("expand.default", R"("self": "%wt", "size": [4, 32, 72])", "heads") +
           Op("bmm.default", R"("self": "%tokens", "mat2": "%heads")", "products") + Cast("products", "real") +
           View("real", "[32, 72]", "seen") + kWanted + View("later", "[32]", "wanted") +
           CrossEntropy("seen", "wanted", "y")),
      {"map", "logsumexp", "nest", "reduce"});
}

// (1 - p)^2 * cross entropy: two of the logarithm of one sum.
TEST(LossesTest, TheProbabilityOfWhatIsWantedIsOfTheSameLogarithm) {
  const std::string p = Op("_softmax.default", R"("self": "%real", "dim": 2, "half_to_float": false)", "p") +
                        Gather("p", 2, "t", "own") + Op("rsub.Scalar", R"("self": "%own", "other": 1)", "rest");
  const std::string again = LogSoftmax("real", 2, "log_p") +
                            Op("gather.default", R"("self": "%log_p", "dim": 2, "index": "%places")", "found_log") +
                            Op("squeeze.dims", R"("self": "%found_log", "dim": [2])", "log");
  ExpectFused(Loss(Cast("l", "real") + p + again + Binary("mul.Tensor", "rest", "\"%log\"", "y"), "[4, 9]"),
              {"logsumexp", "nest", "nest"});
}

// Sequence by sequence, as one does who has no memory for all probabilities.
TEST(LossesTest, LogarithmsOfSomeRowsEachAreOfAsManyProducts) {
  const auto row = [](int i) {
    const std::string number = std::to_string(i);
    return Op("select.int", fmt::format(R"("self": "%real", "dim": 0, "index": {})", i), "row" + number) +
           LogSumExp("row" + number, 1, "sums" + number);
  };
  const std::string all =
      Cast("l", "real") + Gather("real", 2, "t", "own") + row(0) + row(1) + row(2) + row(3) +
      Op("stack.default", R"("tensors": ["%sums0", "%sums1", "%sums2", "%sums3"], "dim": 0)", "all");
  ExpectFused(Loss(all + Binary("sub.Tensor", "own", "\"%all\"", "y"), "[4, 9]"),
              {"nest", "logsumexp", "logsumexp", "logsumexp", "logsumexp", "nest"});
}

TEST(LossesTest, TwoSumsOfAllScoresReadThemWritten) {
  const std::string two = Cast("l", "real") + Binary("mul.Tensor", "real", "2", "sharp") +
                          LogSumExp("real", 2, "plain") + LogSumExp("sharp", 2, "cold") +
                          Binary("sub.Tensor", "plain", "\"%cold\"", "y");
  ExpectFused(Loss(two, "[4, 9]"), {"matmul", "reduce", "reduce"});
}

}  // namespace
}  // namespace hone::expert
