#include "target/bound.h"

#include <gtest/gtest.h>

#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

// 1 FLOP a ns in f32, half of it in f64; 1 byte a ns copied, 2 read.
DeviceModel SlowMachine() {
  DeviceModel machine;
  machine.ceilings.fma_flops_f32 = 1e9;
  machine.ceilings.fma_flops_f64 = 5e8;
  machine.ceilings.bandwidth = {{1 << 10, 1e9, 2e9}, {1 << 30, 1e9, 2e9}};
  return machine;
}

TEST(BoundTest, ACopyIsLimitedByMemory) {
  const Graph graph =
      SmallGraph("fp32", "x f32 1000", "y f32 1000", R"([{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}])");
  const Bound bound = SpeedOfLight(graph, SlowMachine());
  EXPECT_EQ(bound.limited_by, "memory");
  EXPECT_DOUBLE_EQ(bound.bytes_us, 8);
  EXPECT_DOUBLE_EQ(bound.flops_us, 1);
  EXPECT_DOUBLE_EQ(bound.us, 8);
}

TEST(BoundTest, WhatIsReadBeyondACopyGoesAtThePaceOfReading) {
  const Graph graph =
      SmallGraph("fp32", "x f32 1000", "y f32 -", R"([{"op": "sum", "args": {"self": "%x"}, "outputs": ["y"]}])");
  EXPECT_NEAR(SpeedOfLight(graph, SlowMachine()).bytes_us, 2 + 0.008 - 0.002, 1e-9);
}

TEST(BoundTest, WhatNoCacheKeepsUntilItsSumIsKnownIsReadTwice) {
  const Graph graph = SmallGraph("fp32", "x f32 1000000", "y f32 1000000",
                                 R"([{"op": "sum", "args": {"self": "%x"}, "outputs": ["s"]},
                                     {"op": "div.Tensor", "args": {"self": "%x", "other": "%s"}, "outputs": ["y"]}])");
  DeviceModel machine = SlowMachine();
  machine.threads = 1;
  machine.l1_bytes = 0;
  machine.l2_bytes = 500'000;  // of halves as many as a million bytes of f32
  const Bound bound = SpeedOfLight(graph, machine);
  EXPECT_DOUBLE_EQ(bound.bytes, 8e6 + 3e6);
  EXPECT_NEAR(bound.bytes_us, 8000 + 3000 / 2.0, 1e-6);
  EXPECT_NE(bound.why.find("3 MB are read twice"), std::string::npos) << bound.why;
  machine.l2_bytes = 2'000'000;
  EXPECT_DOUBLE_EQ(SpeedOfLight(graph, machine).bytes, 8e6);
}

TEST(BoundTest, AMatrixProductIsLimitedByArithmeticOfItsPrecision) {
  const std::string product = R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["y"]}])";
  const Bound single =
      SpeedOfLight(SmallGraph("fp32", "a f32 100x100, b f32 100x100", "y f32 100x100", product), SlowMachine());
  EXPECT_EQ(single.limited_by, "arithmetic");
  EXPECT_DOUBLE_EQ(single.us, 2000);
  const Bound twice =
      SpeedOfLight(SmallGraph("fp64", "a f32 100x100, b f32 100x100", "y f32 100x100", product), SlowMachine());
  EXPECT_DOUBLE_EQ(twice.us, 4000);
}

TEST(BoundTest, OnADeviceTheContractSaysWhichTensorCoresMayBeUsed) {
  DeviceModel device = SlowMachine();
  device.kind = DeviceKind::kCuda;
  device.ceilings.matmul_flops = {{"bf16", 4e9}, {"tf32", 1e9}};
  const auto microseconds = [&](const std::string& contract, const std::string& dtype) {
    const std::string product = R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["y"]}])";
    const std::string shape = " " + dtype + " 100x100";
    return SpeedOfLight(SmallGraph(contract, "a" + shape + ", b" + shape, "y" + shape, product), device).flops_us;
  };
  EXPECT_DOUBLE_EQ(microseconds("torch", "f32"), 2000);
  EXPECT_DOUBLE_EQ(microseconds("tf32", "f32"), 2000 / 1.5);
  EXPECT_DOUBLE_EQ(microseconds("bf16", "f32"), 500);
  EXPECT_DOUBLE_EQ(microseconds("torch", "f16"), 500);
  const Graph convolution = SmallGraph("torch", "x f32 1x8x10, w f32 8x8x1", "y f32 1x8x10",
                                       R"([{"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null,
                                           "stride": [1], "padding": [0], "dilation": [1], "transposed": false,
                                           "output_padding": [0], "groups": 1}, "outputs": ["y"]}])");
  EXPECT_DOUBLE_EQ(SpeedOfLight(convolution, device).flops_us, 1.28 / 1.5);
}

// Spelled in f32, scaled by rows: 100 x 100 x 100 products of whole numbers.
Graph ProductOfWholes(const std::string& contract) {
  return SmallGraph(contract, "a i8 100x100, b i8 100x100, s f32 100x1", "y f32 100x100",
                    R"([{"op": "_to_copy", "args": {"self": "%a", "dtype": "f32"}, "outputs": ["f"]},
                        {"op": "mul.Tensor", "args": {"self": "%f", "other": "%s"}, "outputs": ["x"]},
                        {"op": "_to_copy", "args": {"self": "%b", "dtype": "f32"}, "outputs": ["w"]},
                        {"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["y"]}])");
}

TEST(BoundTest, ProductsOfEightBitsGoAtThePaceOfTheirUnits) {
  DeviceModel device = SlowMachine();
  device.kind = DeviceKind::kCuda;
  device.ceilings.matmul_flops = {{"bf16", 4e9}, {"i8", 1e10}, {"f8", 5e9}};
  for (const char* contract : {"torch", "fp32", "bf16", "fp64"}) {
    const Bound bound = SpeedOfLight(ProductOfWholes(contract), device);
    EXPECT_DOUBLE_EQ(bound.terms.wholes8.flops, 2e6) << contract;
    EXPECT_DOUBLE_EQ(bound.flops_us, 200) << contract << ": scales are multiplied meanwhile";
    EXPECT_DOUBLE_EQ(bound.sure_us, bound.us);
    EXPECT_DOUBLE_EQ(bound.least_us, bound.bytes_us) << "which is more than a sixth of that";
    EXPECT_NE(bound.why.find("whole numbers of 8 bits"), std::string::npos) << bound.why;
  }
  EXPECT_DOUBLE_EQ(
      TimeAlone(NodeCost(ProductOfWholes("torch"), 3), SpeedOfLight(ProductOfWholes("torch"), device), device).flops_us,
      200);
  const auto reals = [&](const std::string& contract) {
    return SpeedOfLight(SmallGraph(contract, "a f8e4m3 100x100, b f8e4m3 100x100, p f32 1x1", "y bf16 100x100",
                                   R"([{"op": "_scaled_mm", "args": {"self": "%a", "mat2": "%b", "scale_a": "%p",
                                        "scale_b": "%p", "out_dtype": "bf16"}, "outputs": ["y"]}])"),
                        device)
        .terms;
  };
  EXPECT_DOUBLE_EQ(reals("torch").reals8.flops, 2e6);
  EXPECT_EQ(reals("torch").reals8.at.from, "matmul_flops.f8");
  EXPECT_EQ(reals("fp32").reals8.at.from, "matmul_flops.bf16") << "exact in halves, summed in f32";
}

TEST(BoundTest, WhereProductsOfEightBitsWereNotMeasuredTheyAreManyTimesThoseOfHalves) {
  DeviceModel device = SlowMachine();
  device.kind = DeviceKind::kCuda;
  device.ceilings.matmul_flops = {{"bf16", 4e9}};
  const auto wholes = [&] { return SpeedOfLight(ProductOfWholes("torch"), device).terms.wholes8.at; };
  EXPECT_DOUBLE_EQ(wholes().per_second, 8e9);
  EXPECT_EQ(wholes().from, "2 x matmul_flops.bf16");
  device.processor = "NVIDIA GeForce RTX 4090";
  EXPECT_DOUBLE_EQ(wholes().per_second, 16e9);
  device = SlowMachine();
  EXPECT_EQ(wholes().from, "32 x fma_flops_f32");
  device.ceilings.matmul_flops = {{"bf16", 1e9}};
  EXPECT_EQ(wholes().from, "4 x fma_flops_f32");
  device.ceilings.matmul_flops = {{"bf16", 4e9}};
  EXPECT_EQ(wholes().from, "2 x matmul_flops.bf16");
}

// With one key each it may be 100 times as fast as with all of them.
TEST(BoundTest, NobodyIsRefusedForWhatLengthsOutOfDataSpare) {
  const Graph graph =
      SmallGraph("torch", "q bf16 2x3x1x8, k bf16 2x3x1000x8, v bf16 2x3x1000x8, n i64 2x1x1x1", "y bf16 2x3x1x8",
                 R"([{"op": "arange", "args": {"end": 1000}, "outputs": ["j"]},
          {"op": "lt.Tensor", "args": {"self": "%j", "other": "%n"}, "outputs": ["m"]},
          {"op": "scaled_dot_product_attention", "args": {"query": "%q", "key": "%k", "value": "%v",
           "attn_mask": "%m"}, "outputs": ["y"]}])");
  DeviceModel device = SlowMachine();
  device.kind = DeviceKind::kCuda;
  device.ceilings.matmul_flops = {{"bf16", 4e9}};
  const Bound bound = SpeedOfLight(graph, device);
  EXPECT_GT(bound.us, 95);
  EXPECT_LT(bound.sure_us, 0.03 * bound.us);
  EXPECT_LT(bound.least_us, 0.03 * bound.us);
}

TEST(BoundTest, WhatUnitsForHalvesReachOnAProcessorIsNotKnownUnlessMeasured) {
  const std::string product = R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["y"]}])";
  const Bound bound =
      SpeedOfLight(SmallGraph("torch", "a bf16 100x100, b bf16 100x100", "y bf16 100x100", product), SlowMachine());
  EXPECT_EQ(bound.us, 0);
  EXPECT_EQ(bound.limited_by, "unknown");
  EXPECT_FALSE(TimeAlone(bound.terms.cost, bound, SlowMachine()).known);
  EXPECT_NE(bound.why.find("no bound"), std::string::npos) << bound.why;
  EXPECT_DOUBLE_EQ(bound.least_us, bound.bytes_us) << "what has to move has to move";
  DeviceModel measured = SlowMachine();
  measured.ceilings.matmul_flops = {{"bf16", 4e9}};
  EXPECT_DOUBLE_EQ(
      SpeedOfLight(SmallGraph("torch", "a bf16 100x100, b bf16 100x100", "y bf16 100x100", product), measured).us, 500);
  EXPECT_DOUBLE_EQ(
      SpeedOfLight(SmallGraph("torch", "a f32 100x100, b f32 100x100", "y f32 100x100", product), measured).us, 2000);
  const Graph copy = SmallGraph("torch", "x bf16 1000", "y bf16 1000",
                                R"([{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}])");
  EXPECT_DOUBLE_EQ(SpeedOfLight(copy, SlowMachine()).us, 4) << "quick enough in f32";
}

TEST(BoundTest, WhatDataMaySpareIsNoSureRead) {
  const std::string masked = R"([{"op": "masked_fill", "args": {"self": "%x", "mask": "%m", "value": {"real": "-inf"}},
                                   "outputs": ["h"]},
                                 {"op": "amax", "args": {"self": "%h", "dim": [1]}, "outputs": ["y"]}])";
  const Bound some =
      SpeedOfLight(SmallGraph("torch", "x f32 100x100, m bool 100x1", "y f32 100", masked), SlowMachine());
  EXPECT_GT(some.us, 20);  // 40000 bytes of x at two gigabytes a second
  EXPECT_DOUBLE_EQ(some.sure_us, 10) << "its comparisons, which are counted still";
  EXPECT_NE(some.why.find("0.04 MB may be spared"), std::string::npos) << some.why;
  const Bound all =
      SpeedOfLight(SmallGraph("torch", "x f32 100x100", "y f32 100",
                              R"([{"op": "amax", "args": {"self": "%x", "dim": [1]}, "outputs": ["y"]}])"),
                   SlowMachine());
  EXPECT_DOUBLE_EQ(all.sure_us, all.us);
  EXPECT_EQ(all.why.find("spared"), std::string::npos) << all.why;
}

// Each has an honest implementation that is this quick: none may be refused.
TEST(BoundTest, NobodyIsBelowTheLeast) {
  struct Example {
    const char *inputs, *outputs, *nodes;
    double flops;  // of one that does no more than it has to
  };
  const Example examples[] = {
      {"x f32 256x256, w f32 256x256, v f32 256", "y f32 256",  // the vector first
       R"([{"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["t"]},
           {"op": "mv", "args": {"self": "%t", "vec": "%v"}, "outputs": ["y"]}])",
       4 * 256 * 256},
      {"x f32 256x256, w f32 256x256", "y f32 256",  // the weights summed first
       R"([{"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["t"]},
           {"op": "sum", "args": {"self": "%t", "dim": [1]}, "outputs": ["y"]}])",
       3 * 256 * 256},
      {"x f32 1000x4, i i64 5000, s f32 5000x4", "y f32 1000x4",  // a loop over what is added
       R"([{"op": "index_add", "args": {"self": "%x", "dim": 0, "index": "%i", "source": "%s"}, "outputs": ["y"]}])",
       2 * 5000 * 4},
      {"x f32 8x4000", "v f32 8x4, i i64 8x4",  // a heap
       R"([{"op": "topk", "args": {"self": "%x", "k": 4}, "outputs": ["v", "i"]}])", 4 * 8 * 4000},
      {"a f32 128x128, b f32 128x128", "y f32 128x128",  // half of the results, and Strassen
       R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["t"]},
           {"op": "triu", "args": {"self": "%t"}, "outputs": ["y"]}])",
       0.9 * 128 * 128 * 128},
      {"x f32 1x8x34x34, w f32 8x8x3x3", "y f32 1x8x32x32",  // Winograd's F(4 x 4, 3 x 3), the products alone
       R"([{"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [1, 1],
            "padding": [0, 0], "dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": 1},
            "outputs": ["y"]}])",
       2 * 8 * 8 * 36 * 64},
  };
  for (const auto& [inputs, outputs, nodes, flops] : examples) {
    const Bound bound = SpeedOfLight(SmallGraph("fp32", inputs, outputs, nodes), SlowMachine());
    EXPECT_LE(bound.least_us, std::max(bound.bytes_us, flops / 1e3)) << nodes;
    EXPECT_LE(bound.least_us, bound.us) << nodes;
    EXPECT_GT(bound.least_us, 0) << nodes;
  }
}

TEST(BoundTest, WhatDataMaySpareIsNotInTheLeast) {
  const Graph lookup =
      SmallGraph("fp32", "table f32 1000x8, i i64 1000", "y f32 1000x8",
                 R"([{"op": "embedding", "args": {"weight": "%table", "indices": "%i"}, "outputs": ["y"]}])");
  const Bound bound = SpeedOfLight(lookup, SlowMachine());
  EXPECT_DOUBLE_EQ(bound.bytes, 4 * 8000 + 4 * 8000 + 8 * 1000);
  EXPECT_LT(bound.least_us, 41) << "all of them may be one row";
  const Graph prepared = SmallGraph("fp32", "x f32 100, w:parameter f32 100", "y f32 100",
                                    R"([{"op": "exp", "args": {"self": "%w"}, "outputs": ["e"]},
                                        {"op": "mul", "args": {"self": "%x", "other": "%e"}, "outputs": ["y"]}])");
  EXPECT_GE(SpeedOfLight(prepared, SlowMachine()).flops, 900);
  EXPECT_LE(SpeedOfLight(prepared, SlowMachine()).least_us, 1.2) << "the exponentials are made before";
}

TEST(BoundTest, WithoutCalibrationItSaysWhatToDo) {
  const Graph graph =
      SmallGraph("fp32", "x f32 1000", "y f32 1000", R"([{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}])");
  const Bound bound = SpeedOfLight(graph, DeviceModel{});
  EXPECT_EQ(bound.us, 0);
  EXPECT_EQ(bound.limited_by, "unknown");
  EXPECT_NE(bound.why.find("hone calibrate"), std::string::npos);
}

TEST(BoundTest, ItsTermsAreItsArithmetic) {
  const Graph graph = SmallGraph("fp32", "x f32 1000, z f32 1000", "y f32 1000",
                                 R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["e"]},
                                     {"op": "mul", "args": {"self": "%e", "other": "%z"}, "outputs": ["y"]}])");
  const DeviceModel machine = SlowMachine();
  const Bound bound = SpeedOfLight(graph, machine);
  const BoundTerms& terms = bound.terms;
  EXPECT_DOUBLE_EQ(terms.cost.bytes() + terms.read_again, bound.bytes);
  EXPECT_DOUBLE_EQ(terms.copied_bytes / terms.copy.per_second * 1e6 +
                       (bound.bytes - terms.copied_bytes) / terms.read.per_second * 1e6,
                   bound.bytes_us);
  EXPECT_DOUBLE_EQ(bound.flops, 1000 * kTranscendentalFlops + 1000);
  EXPECT_DOUBLE_EQ(bound.flops / terms.arithmetic.per_second * 1e6, bound.flops_us);
  EXPECT_EQ(terms.arithmetic.from, "fma_flops_f32");
  EXPECT_DOUBLE_EQ(terms.least_bytes, 12'000);
  EXPECT_DOUBLE_EQ(terms.least_flops, 2'000) << "an exponential may be one instruction of some unit";
  EXPECT_DOUBLE_EQ(bound.least_us, bound.bytes_us);
}

TEST(BoundTest, AnOperatorAloneMovesWhatFusingItSaves) {
  const Graph graph = SmallGraph("fp32", "x f32 1000", "y f32 1000",
                                 R"([{"op": "relu", "args": {"self": "%x"}, "outputs": ["h"]},
                                     {"op": "neg", "args": {"self": "%h"}, "outputs": ["y"]}])");
  const DeviceModel machine = SlowMachine();
  const Bound bound = SpeedOfLight(graph, machine);
  EXPECT_DOUBLE_EQ(bound.us, 8);
  for (const int node : {0, 1}) {
    const AloneTime alone = TimeAlone(NodeCost(graph, node), bound, machine);
    EXPECT_DOUBLE_EQ(alone.us(), 8) << node;
    EXPECT_DOUBLE_EQ(alone.flops_us, 1) << node;
  }
}

TEST(BoundTest, WhereACeilingComesFromIsSaid) {
  DeviceModel device = SlowMachine();
  device.kind = DeviceKind::kCuda;
  device.ceilings.matmul_flops = {{"bf16", 4e9}, {"f16", 5e9}};
  const auto from = [&](const std::string& contract) {
    const std::string product = R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["y"]}])";
    return SpeedOfLight(SmallGraph(contract, "a f32 64x64, b f32 64x64", "y f32 64x64", product), device)
        .terms.arithmetic.from;
  };
  EXPECT_EQ(from("bf16"), "matmul_flops.f16");
  EXPECT_EQ(from("tf32"), "1.5 x fma_flops_f32");
  EXPECT_EQ(from("fp64"), "fma_flops_f64");
}

TEST(BoundTest, WhatItDoesNotVouchForIsSaid) {
  const Graph graph =
      SmallGraph("fp32", "x f32 1000", "y f32 1000", R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["y"]}])");
  DeviceModel machine = SlowMachine();
  machine.ceilings.fork_join_us = 5;
  const auto joined = [&] {
    std::string all;
    for (const auto& one : NotVouchedFor(SpeedOfLight(graph, machine), machine)) all += one + "\n";
    return all;
  };
  EXPECT_NE(joined().find("starting is not in it: an empty parallel region takes 5 us"), std::string::npos) << joined();
  EXPECT_NE(joined().find("0.001 M transcendental functions count 8 FLOP each"), std::string::npos) << joined();
  EXPECT_EQ(joined().find("datasheet"), std::string::npos) << joined();
  machine.ceilings.source = Ceilings::Source::kDatasheet;
  EXPECT_NE(joined().find("datasheet"), std::string::npos) << joined();
  machine.ceilings = {};
  EXPECT_NE(joined().find("hone calibrate"), std::string::npos) << joined();
}

}  // namespace
}  // namespace hone
