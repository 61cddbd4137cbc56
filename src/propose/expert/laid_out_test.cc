// Biases of attention that heads lie innermost of, and who else reads them.
#include "propose/expert/laid_out.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "dsl/testing/interpreter.h"
#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// Attention of 2 sequences, 8 heads and 256 places, with a bias that `graph` makes; `tensors` has what it reads.
std::string Attention(const std::string& tensors, const std::string& graph) {
  return WrittenText(
      R"({"hone_problem": 1, "name": "attention", "tensors": [
  {"name": "q", "shape": [2, 8, 256, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "k", "shape": [2, 8, 256, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "v", "shape": [2, 8, 256, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  )" + tensors +
      R"({"name": "y", "shape": [2, 8, 256, 64], "dtype": "bf16", "role": "output"}], "graph": [)" + graph +
      R"({"op": "aten.scaled_dot_product_attention.default", "args": {"query": "%q", "key": "%k", "value": "%v", "attn_mask": "%bias"}, "outputs": ["y"]}]})");
}

const std::string kPlaces =
    R"({"name": "places", "shape": [256, 256], "dtype": "i64", "role": "ROLE", "generator": {"kind": "integer", "low": 0, "high": 31}},
  {"name": "table", "shape": [32, 8], "dtype": "bf16", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},)";
const std::string kGathered =
    R"({"op": "aten.embedding.default", "args": {"weight": "%table", "indices": "%places"}, "outputs": ["found"]},)";
const std::string kTurned =
    R"({"op": "aten.permute.default", "args": {"self": "%found", "dims": [2, 0, 1]}, "outputs": ["turned"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%turned", "dim": 0}, "outputs": ["bias"]},)";

std::string Places(const std::string& role) {
  std::string places = kPlaces;
  return places.replace(places.find("ROLE"), 4, role);
}

TEST(LaidOutTest, AGatherWritesKeysSideBySideForTheScoresThatReadThem) {
  for (const char* role : {"input", "parameter"}) {
    const std::string program = Attention(Places(role), kGathered + kTurned);
    EXPECT_NE(program.find("found: bf16 = nest [j < 8, i < 65536] (table[places_view[i], j])"), std::string::npos)
        << program;
    EXPECT_NE(program.find("found: [8, 256, 256] strides [65536, 256, 1]"), std::string::npos) << program;
  }
}

TEST(LaidOutTest, WhatIsATensorIsCopiedOnceForAllThatReadIt) {
  const std::string program = Attention(
      R"({"name": "found", "shape": [256, 256, 8], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},)",
      kTurned);
  EXPECT_NE(program.find("found_rows: bf16 = map(found_view)"), std::string::npos) << program;
  EXPECT_NE(program.find("it * 0.125 + found_rows"), std::string::npos) << program;
}

TEST(LaidOutTest, WhereOthersReadRowsOfProductsItIsCopied) {
  const std::string program =
      Attention(Places("input") + R"({"name": "s", "shape": [256, 256], "dtype": "bf16", "role": "output"},)",
                kGathered + kTurned +
                    R"({"op": "aten.sum.dim_IntList", "args": {"self": "%found", "dim": [2]}, "outputs": ["s"]},)");
  EXPECT_NE(program.find("found_rows: bf16 = map("), std::string::npos) << program;
}

dsl::Program Parsed(const std::string& text) {
  auto program = std::get<dsl::Program>(dsl::Parse("program p\n" + text));
  const auto checked = dsl::Check(program, nullptr, TypicalDevice());
  const auto& kernels = std::get<dsl::KernelProgram>(checked);
  for (std::size_t i = 0; i < program.statements.size(); ++i)  // as the expert says of all that it writes
    program.statements[i].target_shape = kernels.buffers[static_cast<std::size_t>(kernels.kernels[i].target)].shape;
  return program;
}

// What becomes of a program, but for its declarations.
std::string LaidOutText(const std::string& text) {
  dsl::Program program = Parsed(text);
  LayOutForReaders(program, TypicalDevice());
  program.declarations.clear();
  return dsl::Print(program).substr(std::string("program p\n").size());
}

TEST(LaidOutTest, FactorsThatLieAcrossAreCopiedWhereThatIsDoneOnce) {
  // The parts of complex weights; what lies side by side along one of its dimensions stays.
  const std::string rest = R"(input x: f32[128, 64]
output y: f32[128, 32]
output z: f32[128, 32]
view part = w: [64, 32] strides [64, 2] offset 1
view turned = v: [64, 32] strides [1, 64]
y = matmul(x, part) -> it + 1
z = matmul(x, turned) -> it * 2
)";
  const std::string weights = "param w: f32[64, 32, 2]\nparam v: f32[32, 64]\n";
  const std::string copied = LaidOutText(weights + rest);
  EXPECT_NE(copied.find("w_rows: f32 = map(part)\ny = matmul(x, w_rows) -> it + 1\nz = matmul(x, turned)"),
            std::string::npos)
      << copied;
  const std::string inputs = "input w: f32[64, 32, 2]\ninput v: f32[32, 64]\n";
  EXPECT_NE(LaidOutText(inputs + rest).find("y = matmul(x, part)"), std::string::npos);
}

TEST(LaidOutTest, AMapGoesThroughItsOperandsInTheNewOrderAndOthersReadItByViews) {
  EXPECT_EQ(LaidOutText(R"(input q: bf16[8, 8, 256, 64]
input a: bf16[256, 256, 8]
input b: bf16[8, 256, 256]
input c: bf16[8]
output z: f32[256, 256, 8]
output w: f32[256, 4]
output y: bf16[8, 8, 256, 64]
view bt = b: [256, 256, 8] strides [256, 1, 65536]
found: bf16 = map(bt * c) -> it + a
view turned = found: [8, 256, 256] strides [1, 2048, 8]
view some = found: [256, 4] strides [8, 2] offset 2049
y = attention(q, q, q) let score = it * 0.125 + turned
z = map(found * 2)
w = map(some + 1)
)"),
            R"(found: bf16 = map(b_view * c_view) -> it + a_view
view turned = found: [8, 256, 256] strides [256, 2048, 1]
view some = found: [256, 4] strides [1, 512] offset 2304
view found_view = found: [256, 256, 8] strides [2048, 1, 256]
y = attention(q, q, q)
  let score = it * 0.125 + turned
z = map(found_view * 2)
w = map(some + 1)
view bt = b: [256, 256, 8] strides [256, 1, 65536]
view b_view = b: [256, 8, 256] strides [256, 65536, 1]
view c_view = c: [1, 8, 1] strides [0, 1, 0]
view a_view = a: [256, 8, 256] strides [2048, 1, 8]
)");
}

TEST(LaidOutTest, WhatLiesInOrderOrIsOneARowStays) {
  const std::string program = LaidOutText(R"(input q: bf16[8, 8, 256, 64]
input a: bf16[8, 256, 256]
input r: bf16[256, 8]
output y: bf16[8, 8, 256, 64]
view row = r: [8, 256, 1] strides [1, 8, 0]
y = attention(q, q, q) let score = it + a + row
)");
  EXPECT_EQ(program, R"(y = attention(q, q, q)
  let score = it + a + row
view row = r: [8, 256, 1] strides [1, 8, 0]
)");
}

// What the outputs are of numbers that say where they lie.
std::map<std::string, std::vector<double>> Outputs(const dsl::Program& program) {
  const auto checked = dsl::Check(program, nullptr, TypicalDevice());
  const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
  EXPECT_NE(kernels, nullptr) << std::get<dsl::Complaint>(checked).message;
  std::vector<std::vector<double>> values;
  for (const auto& buffer : kernels->buffers) {
    auto& made = values.emplace_back(static_cast<std::size_t>(ElementCount(buffer.shape)));
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = IsFloat(buffer.dtype) ? static_cast<double>(i * 37 % 101) / 32 : static_cast<double>(i * 5 % 7);
  }
  dsl::testing::Interpreter(*kernels, values).Run();
  std::map<std::string, std::vector<double>> outputs;
  for (std::size_t b = 0; b < values.size(); ++b) {
    if (kernels->buffers[b].home == dsl::KernelBuffer::Home::kOutput) outputs[kernels->buffers[b].name] = values[b];
  }
  return outputs;
}

TEST(LaidOutTest, ProgramsMeanWhatTheyMeant) {
  const std::string attention = "input q: bf16[6, 4, 16, 8]\noutput y: f32[6, 4, 16, 8]\n";
  for (const std::string& rest :
       {std::string("input places: i64[256]\ninput table: bf16[7, 4]\nfound: bf16 = nest [i < 256, j < 4] "
                    "(table[places[i], j])\nview turned = found: [4, 16, 16] strides [1, 64, 4]\n"
                    "y = attention(q, q, q) let score = it * 0.5 + turned"),
        std::string("input b: bf16[16, 16, 4]\nview turned = b: [1, 4, 16, 16] strides [0, 1, 64, 4]\n"
                    "y = attention(q, q, q) let score = it * 0.5 + turned"),
        std::string("input b: bf16[4, 16, 16]\ninput c: f32[4]\noutput w: f32[4, 15]\n"
                    "view bt = b: [16, 16, 4] strides [16, 1, 256]\nfound: f32 = map(bt * c) -> it + 1\n"
                    "view turned = found: [4, 16, 16] strides [1, 64, 4]\n"
                    "view some = found: [4, 15] strides [1, 64] offset 68\n"
                    "y = attention(q, q, q) let score = it * 0.5 + turned\nw = map(some * 2)")}) {
    SCOPED_TRACE(rest);
    dsl::Program program = Parsed(attention + rest);
    const auto before = Outputs(program);
    const std::string text = dsl::Print(program);
    LayOutForReaders(program, TypicalDevice());
    EXPECT_NE(dsl::Print(program), text);
    EXPECT_EQ(Outputs(program), before);
  }
}

}  // namespace
}  // namespace hone::expert
