// Products whose batches choose a matrix each: compiled without spills, and what the program says. The last is skipped
// where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"
#include "dsl/way.h"

namespace hone {
namespace {

using dsl::KernelProgram;

struct Case {
  std::string way;
  std::int64_t batches, m, n, k;
  std::string type = "bf16", settings = "";
  bool across = true;
  std::string let = "", end = "it";
};
// What is drawn is up to 99.
std::string Text(const Case& one) {
  const std::int64_t groups = 5;
  std::string text = fmt::format("input x: {0}[{1}, {2}, {4}]\ninput which: i64[{1}]\ninput bias: f32[{3}]\n", one.type,
                                 one.batches, one.m, one.n, one.k);
  for (const char* name : {"w", "u"}) {
    text += one.across ? fmt::format("input {}: {}[{}, {}, {}]\n", name, one.type, groups, one.k, one.n)
                       : fmt::format(
                             "input {0}t: {1}[{2}, {3}, {4}]\nview {0} = {0}t: [{2}, {4}, {3}] strides [{5}, 1, "
                             "{4}]\n",
                             name, one.type, groups, one.n, one.k, one.n * one.k);
  }
  return text + fmt::format(
                    "output y: {0}[{1}, {2}, {3}]\ny = matmul(x, w, mod(which, {4})) with {{precision: {5}{6}}}{7} "
                    "-> {8}",
                    one.type == "f8e4m3" ? "bf16" : one.type, one.batches, one.m, one.n, groups, one.way, one.settings,
                    one.let, one.end);
}

const std::string kGate = " let g = product(u)";
const Case kCases[] = {
    {"bf16", 7, 64, 256, 128},
    {"bf16", 7, 200, 264, 136, "bf16", ", tile: 128x128, cluster: 2", true, "", "relu(it + bias)"},
    {"bf16", 1, 300, 256, 128, "bf16", ", tile: 128x64, end: tiles"},
    {"bf16", 3, 64, 128, 1024, "bf16", ", split: 2", false},
    {"bf16", 9, 70, 128, 64, "bf16", ", tile: 128x128, turns: yes", false},
    {"bf16", 4, 130, 192, 64, "bf16", ", products: together, tile: 128x128", true, kGate, "silu(it) * g"},
    {"bf16", 4, 130, 192, 64, "bf16", ", products: apart", true, kGate, "silu(it) * g"},
    {"f16", 7, 65, 72, 72, "f16"},
    {"f8", 6, 64, 128, 128, "f8e4m3", "", false},
    {"f32x3", 6, 70, 80, 96, "f32"},
    {"rows", 8, 1, 256, 512, "bf16", "", false},
    {"rows", 3, 9, 120, 4096, "f16", ", split: 2", false, "", "it + bias"},
    {"dot", 8, 1, 16, 4096, "bf16", "", false},
    {"simt", 5, 33, 40, 50, "f32"},
    {"simt", 5, 33, 40, 600, "f32", ", split: 2", true, "", "it + bias"},
};

using MatmulChosenTest = testing::CudaProgramTest;
using MatmulChosenOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(MatmulChosenTest, EveryCaseCompilesWithoutSpills) {
  for (const Case& one : kCases) {
    const std::string text = Text(one);
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto built = Build(std::get<KernelProgram>(lowered));
    for (const auto& launch : built.launches) EXPECT_EQ(launch.spill_load_bytes + launch.spill_store_bytes, 0);
    EXPECT_EQ(built.log.find("C75"), std::string::npos) << built.log;
  }
}

// A's batch is the batch, B's the number that stands there.
TEST_F(MatmulChosenTest, TheProducerLooksUpWhichMatrixToCopy) {
  const auto lowered = Lowered(Text(kCases[0]));
  ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered));
  const Plan plan = dsl::EmitCuda(std::get<KernelProgram>(lowered));
  const std::string& source = plan.sources[0].text;
  EXPECT_NE(source.find("const int b1 = static_cast<int>("), std::string::npos) << source;
  EXPECT_NE(source.find("const int a_batch = b0, b_batch = b1;"), std::string::npos) << source;
  EXPECT_NE(source.find("const int batch = item % 7, tile = item / 7;"), std::string::npos) << "columns go last";
}

TEST_F(MatmulChosenTest, MatricesThatNobodyMayHaveChosenAreNotPacked) {
  const auto way = [](std::int64_t batches) {
    const std::string text = Text({"f32x3", batches, 128, 256, 256, "f32"});
    const auto lowered = Lowered(text.substr(0, text.find(" with")));
    const auto* program = std::get_if<KernelProgram>(&lowered);
    return program ? std::string(program->kernels[0].way->name) : "";
  };
  EXPECT_EQ(way(5), "f32x3");
  EXPECT_EQ(way(4), "simt");
}

TEST_F(MatmulChosenTest, WhoCannotSaysSo) {
  const auto complaint = [&](const std::string& way) {
    const auto lowered = Lowered(Text({way, 8, 1, 256, 512, "bf16", "", false}));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_NE(complaint("stream").find("of a matrix that is chosen none may"), std::string::npos) << complaint("stream");
  EXPECT_NE(complaint("library").find("cuBLASLt reads both operands where they lie"), std::string::npos);
  EXPECT_EQ(complaint("rows"), "taken");
}

TEST_F(MatmulChosenOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    const std::string text = Text(one);
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, 1e-2);
  }
}

}  // namespace
}  // namespace hone
