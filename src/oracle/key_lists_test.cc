// Folds that are taken from lists give what their definition gives, to within what another order of summation makes of
// it.
#include "oracle/key_lists.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "graph/testing/small_problem.h"
#include "oracle/device_oracle.h"
#include "oracle/slabs.h"
#include "oracle/testing/nest_module.h"
#include "problem/generate.h"

namespace hone {
namespace {

using testing::EmulatedNests;
using testing::Given;
using testing::HostNests;
using testing::SmallGraph;

constexpr std::int64_t kAnyLooks = 0, kNoLooks = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kRows = 7;  // of all that keys name

enum class Keys : std::uint8_t { kGiven, kRounded };

// Every way of scattering, along each dimension; what is called k... and l are keys, rounded ones are made of what is
// called f... .
Graph Scatters(const char* contract, const std::string& real, Keys keys = Keys::kGiven) {
  std::string nodes, outputs, given = "k i64 90, l i64 90, k2 i64 90x5, k3 i64 5x90, k4 i64 40x3";
  if (keys == Keys::kRounded) {
    given = "fk f32 90, fl f32 90, fk2 f32 90x5, fk3 f32 5x90, fk4 f32 40x3";
    for (const char* key : {"k", "l", "k2", "k3", "k4"}) {
      nodes += fmt::format(R"({{"op": "mul", "args": {{"self": "%f{0}", "other": 1.1}}, "outputs": ["w{0}"]}},
                              {{"op": "_to_copy", "args": {{"self": "%w{0}", "dtype": "i64"}}, "outputs": ["{0}"]}},)",
                           key);
    }
  }
  int count = 0;
  const auto add = [&](const char* op, const std::string& shape, const std::string& type,
                       const std::string& arguments) {
    nodes += fmt::format(R"({}{{"op": "{}", "args": {{{}}}, "outputs": ["y{}"]}})", count == 0 ? "" : ", ", op,
                         arguments, count);
    outputs += fmt::format("{}y{} {} {}", count == 0 ? "" : ", ", count, type, shape);
    ++count;
  };
  add("index_add", "7x5", real, R"("self": "%a", "dim": 0, "index": "%k", "source": "%s", "alpha": 2.5)");
  add("index_add", "5x7", real, R"("self": "%b", "dim": 1, "index": "%k", "source": "%t")");
  add("index_add", "7x5", "i64", R"("self": "%i", "dim": 0, "index": "%k", "source": "%j", "alpha": 3)");
  add("index_copy", "7x5", real, R"("self": "%a", "dim": 0, "index": "%k", "source": "%s")");
  add("scatter_add", "7x5", real, R"("self": "%a", "dim": 0, "index": "%k2", "src": "%s")");
  add("scatter_add", "5x7", real, R"("self": "%b", "dim": 1, "index": "%k3", "src": "%t")");
  // Fewer columns than self has, and fewer rows.
  add("scatter_add", "7x5", real, R"("self": "%a", "dim": 0, "index": "%k4", "src": "%s")");
  add("scatter.src", "7x5", real, R"("self": "%a", "dim": 0, "index": "%k2", "src": "%s")");
  add("scatter.value", "7x5", real, R"("self": "%a", "dim": 0, "index": "%k2", "value": 0.3)");
  add("scatter_add", "7x5", "bool", R"("self": "%o", "dim": 0, "index": "%k2", "src": "%p")");
  for (const char* how : {"sum", "prod", "mean", "amax", "amin"}) {
    for (const char* self : {"true", "false"}) {
      const auto rest =
          fmt::format(R"("dim": 0, "index": "%k2", "reduce": "{}", "include_self": {}, "src": )", how, self);
      add("scatter_reduce", "7x5", real, R"("self": "%a", )" + rest + R"("%s")");
      if (std::strcmp(how, "prod") != 0) add("scatter_reduce", "7x5", "i64", R"("self": "%i", )" + rest + R"("%j")");
    }
  }
  const char* accumulate = R"(, "accumulate": true)";
  add("index_put", "7x5", real, fmt::format(R"("self": "%a", "indices": ["%k"], "values": "%s"{})", accumulate));
  add("index_put", "5x7", real, fmt::format(R"("self": "%b", "indices": [null, "%k"], "values": "%t"{})", accumulate));
  add("index_put", "7x7", real, fmt::format(R"("self": "%c", "indices": ["%k", "%l"], "values": "%r"{})", accumulate));
  add("index_put", "7x7", real, R"("self": "%c", "indices": ["%k", "%l"], "values": "%r")");
  add("index_put", "7x5x7", real,
      fmt::format(R"("self": "%d", "indices": ["%k", null, "%l"], "values": "%s"{})", accumulate));
  add("index_put", "7x5x7", real, R"("self": "%d", "indices": ["%k", null, "%l"], "values": "%s")");
  const std::string inputs = fmt::format(
      "a {0} 7x5, b {0} 5x7, c {0} 7x7, d {0} 7x5x7, i i64 7x5, o bool 7x5, s {0} 90x5, t {0} 5x90, r {0} 90, "
      "j i64 90x5, p bool 90x5, {1}",
      real, given);
  return SmallGraph(contract, inputs, outputs, "[" + nodes + "]");
}

// Key number `i` of a tensor.
using KeyOf = std::function<std::int64_t(std::int64_t i)>;

std::vector<std::vector<std::byte>> Drawn(const Problem& problem, const KeyOf& key) {
  std::vector<std::vector<std::byte>> data;
  for (const Tensor* tensor : problem.Inputs()) {
    auto& bytes = data.emplace_back(static_cast<std::size_t>(tensor->bytes()) + 1);
    EXPECT_TRUE(Fill(*tensor, 1, data.size(), {}, bytes.data()));
    const bool rounded = tensor->name[0] == 'f';
    const char kind = tensor->name[rounded ? 1 : 0];
    if (kind != 'k' && kind != 'l') continue;
    for (std::int64_t i = 0; i < ElementCount(tensor->shape); ++i) {
      const std::int64_t made = key(kind == 'k' ? i : i / 3);
      // Half of the rounded ones are as near to a whole number as they can be.
      const float near = (static_cast<float>(made) + (i % 4 < 2 ? 0.5f : 0.0f)) / 1.1f;
      if (rounded)
        std::memcpy(bytes.data() + i * 4, &near, 4);
      else
        std::memcpy(bytes.data() + i * 8, &made, 8);
    }
  }
  return data;
}

const std::pair<const char*, KeyOf> kKeys[] = {
    {"some of every row, from the front and from the back",
     [](std::int64_t i) { return i * 37 % (2 * kRows) - kRows; }},
    {"some that miss", [](std::int64_t i) { return i * 37 % (5 * kRows) - 2 * kRows; }},
    {"all in one row", [](std::int64_t) { return 3; }},
    {"few rows", [](std::int64_t i) { return i % 2 * 5; }},
    {"none", [](std::int64_t i) { return i % 2 == 0 ? kRows : -kRows - 1; }},
};

// Of the operator that makes an output.
using Arguments = std::map<std::string, Argument>;
const Arguments& ArgumentsOf(const Graph& graph, const std::string& output) {
  const auto& nodes = graph.problem().nodes;
  return std::find_if(nodes.begin(), nodes.end(),
                      [&](const auto& node) {
                        return std::find(node.outputs.begin(), node.outputs.end(), output) != node.outputs.end();
                      })
      ->arguments;
}
bool IsProduct(const Arguments& arguments) {
  return arguments.contains("reduce") && std::get<std::string>(arguments.at("reduce").value) == "prod";
}

void ExpectSame(const Graph& graph, const Given& want, const Given& got) {
  // In double precision; honest sums are in order everywhere.
  const auto near = [](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-13 * (std::abs(a) + 1e-5);
  };
  for (std::size_t o = 0; o < want.value.size(); ++o) {
    const Arguments& arguments = ArgumentsOf(graph, graph.problem().Outputs()[o]->name);
    const bool product = IsProduct(arguments), weighed = arguments.contains("alpha");
    for (std::size_t i = 0; i < want.value[o].size(); ++i) {
      ASSERT_PRED2(near, want.value[o][i], got.value[o][i]) << "output " << o << ", element " << i;
      ASSERT_PRED2(near, want.honest[o][i], got.honest[o][i]) << "output " << o << ", element " << i;
      // Of a product, by ones too was counted as a rounding; and errors multiply, in another order.
      if (product) ASSERT_LE(got.scale[o][i], want.scale[o][i] * (1 + 1e-5)) << "output " << o << ", element " << i;
      // A sum of products counts what other results get as terms, too (TermErrors in generated_code/numbers.h).
      else if (weighed)
        ASSERT_TRUE(got.scale[o][i] <= want.scale[o][i] * (1 + 1e-12) && 4 * got.scale[o][i] >= want.scale[o][i])
            << "output " << o << ", element " << i;
      else
        ASSERT_PRED2(near, want.scale[o][i], got.scale[o][i]) << "output " << o << ", element " << i;
    }
  }
}

void ExpectTheDefinition(const Graph& graph) {
  const OracleSources listed = SourcesOfOracle(graph, kAnyLooks), looked = SourcesOfOracle(graph, kNoLooks);
  EXPECT_NE(listed.values.find("lists0.Of("), std::string::npos);
  EXPECT_EQ(looked.values.find("lists0.Of("), std::string::npos);
  const HostNests lists(listed), looks(looked);
  const EmulatedNests device(WriteCudaNests(graph, TorchProducts::kF32, kAnyLooks));
  for (const auto& [name, key] : kKeys) {
    SCOPED_TRACE(name);
    const auto data = Drawn(graph.problem(), key);
    std::vector<const void*> inputs;
    for (const auto& bytes : data) inputs.push_back(bytes.data());
    const Given want = looks.Run(graph, inputs);
    ExpectSame(graph, want, lists.Run(graph, inputs));
    ExpectSame(graph, want, device.Run(graph, inputs));
  }
}

TEST(KeyListsTest, ListsGiveWhatTheDefinitionGives) {
  ExpectTheDefinition(Scatters("fp32", "f32"));
  ExpectTheDefinition(Scatters("bf16", "bf16"));
}

TEST(KeyListsTest, EachResultMayTakeTermsWhoseKeysHangOnRounding) {
  ExpectTheDefinition(Scatters("fp32", "f32", Keys::kRounded));
}

// Sorted by all threads of all blocks, of several chunks and tiles each. Sums in order say whether each list is in
// order.
void ExpectTheHostsLists(const Graph& graph, std::int64_t rows) {
  const CudaNests nests = WriteCudaNests(graph, TorchProducts::kF32, kAnyLooks);
  EXPECT_EQ(nests.runs.at(nests.runs.size() - 2).launches[0].count, 4);
  const HostNests host(SourcesOfOracle(graph, kAnyLooks));
  const EmulatedNests device(nests, kAnyBytes, testing::ThreadsTakeTurns());
  const std::pair<const char*, KeyOf> keys[] = {
      {"half of them in one row, some of all others",
       [&](std::int64_t i) { return i % 2 == 0 ? rows - 1 : i * 7919 % rows; }},
      {"runs of one row, and what is in none",
       [&](std::int64_t i) { return i / 70 * 37 % (2 * rows + 50) - rows - 20; }}};
  for (const auto& [name, key] : keys) {
    SCOPED_TRACE(name);
    const auto data = Drawn(graph.problem(), key);
    std::vector<const void*> inputs;
    for (const auto& bytes : data) inputs.push_back(bytes.data());
    ExpectSame(graph, host.Run(graph, inputs), device.Run(graph, inputs));
  }
}

TEST(KeyListsTest, BlocksOfADeviceSortAsTheHostDoes) {
  const Graph graph = SmallGraph("fp32", "x f32 40000, k i64 17000, s f32 17000", "y f32 40000",
                                 R"([{"op": "index_add", "outputs": ["y"],
                                      "args": {"self": "%x", "dim": 0, "index": "%k", "source": "%s"}}])");
  ExpectTheHostsLists(graph, 40000);
}

constexpr auto kScatterAlong = R"([{"op": "scatter_add", "outputs": ["y"],
                                    "args": {"self": "%x", "dim": 1, "index": "%k", "src": "%s"}}])";

TEST(KeyListsTest, ADeviceSortsTheTermsOfEachPlaceByThemselvesWhereTheyAreMany) {
  // What is in none has the digits of the first then, and is left out before.
  const Graph graph = SmallGraph("fp32", "x f32 2x1024, k i64 2x9000, s f32 2x9000", "y f32 2x1024", kScatterAlong);
  ExpectTheHostsLists(graph, 1024);
}

TEST(KeyListsTest, BlocksOfADeviceSortKeysThatHangOnRounding) {
  const Graph graph = SmallGraph("fp32", "x f32 2x700, fk f32 2x4200, s f32 2x4200", "y f32 2x700",
                                 R"([{"op": "mul", "args": {"self": "%fk", "other": 1.1}, "outputs": ["w"]},
          {"op": "_to_copy", "args": {"self": "%w", "dtype": "i64"}, "outputs": ["k"]},
          {"op": "scatter_add", "args": {"self": "%x", "dim": 1, "index": "%k", "src": "%s"}, "outputs": ["y"]}])");
  ExpectTheHostsLists(graph, 700);
}

// Half of the terms are one row's: as many as a block takes of a list, where other results are a thread's.
TEST(KeyListsTest, ABlockMakesALongListOfAnyFold) {
  std::string nodes, outputs;
  int count = 0;
  for (const auto& [how, self] : {std::pair("sum", "a"), {"mean", "a"}, {"amax", "a"}, {"sum", "i"}, {"amin", "i"}}) {
    const std::string comma = count == 0 ? "" : ", ", source = self[0] == 'a' ? "s" : "j";
    nodes +=
        fmt::format(R"({}{{"op": "scatter_reduce", "args": {{"self": "%{}", "dim": 0, "index": "%k", "reduce": "{}",
        "include_self": false, "src": "%{}"}}, "outputs": ["y{}"]}})",
                    comma, self, how, source, count);
    outputs += fmt::format("{}y{} {} 700x2", comma, count, self[0] == 'a' ? "f32" : "i64");
    ++count;
  }
  const Graph graph = SmallGraph("fp32", "a f32 700x2, i i64 700x2, k i64 2500x2, s f32 2500x2, j i64 2500x2", outputs,
                                 "[" + nodes + "]");
  const CudaNests nests = WriteCudaNests(graph, TorchProducts::kF32, kAnyLooks);
  EXPECT_NE(nests.Source(0, nests.kernels.size()).find("ForLongLists({wanted_begin"), std::string::npos);
  const HostNests host(SourcesOfOracle(graph, kAnyLooks));
  const EmulatedNests device(nests, kAnyBytes, testing::ThreadsTakeTurns());
  const auto data = Drawn(graph.problem(), [](std::int64_t i) { return i % 5 < 3 ? 699 : i * 37 % 800; });
  std::vector<const void*> inputs;
  for (const auto& bytes : data) inputs.push_back(bytes.data());
  ExpectSame(graph, host.Run(graph, inputs), device.Run(graph, inputs));
}

// --- Which folds ---

TEST(KeyListsTest, EveryWayOfScatteringHasLists) {
  const Graph graph = Scatters("fp32", "f32");
  int folds = 0;
  for (const Stage& stage : graph.stages()) {
    if (!stage.value || !HasReduce(stage.value)) continue;
    const StageLists found = ListsOf(stage.vars, stage.value, [](const Expr&) { return true; }, kAnyLooks);
    ++folds;
    EXPECT_EQ(found.lists.size(), 1u) << stage.buffer;
  }
  EXPECT_GE(folds, 34);
}

StageLists Of(const Graph& graph, std::int64_t fewest_looks = kAnyLooks) {
  const Stage& stage = graph.stages().back();
  return ListsOf(stage.vars, stage.value, [](const Expr&) { return true; }, fewest_looks);
}

Graph Reducing(const char* how) {
  return SmallGraph("fp32", "x f32 30x5, k i64 90x5, s f32 90x5", "y f32 30x5",
                    fmt::format(R"([{{"op": "scatter_reduce", "outputs": ["y"], "args": {{"self": "%x", "dim": 0,
                        "index": "%k", "src": "%s", "reduce": "{}", "include_self": false}}}}])",
                                how));
}

TEST(KeyListsTest, TheSumAndTheCountOfAMeanShareTheirLists) {
  const StageLists found = Of(Reducing("mean"));
  ASSERT_EQ(found.lists.size(), 1u);
  EXPECT_EQ(found.folds.size(), 2u);
  EXPECT_EQ(found.lists[0].Others(), 5);
  EXPECT_EQ(found.lists[0].ListsOfEach(), 30);
  EXPECT_EQ(found.lists[0].Terms(), 90);
}

TEST(KeyListsTest, AnExtremeOfFewerThanAllBeginsWithWhatWasPassedOver) {
  for (const auto& [how, begins] : {std::pair("amax", true), std::pair("sum", false), std::pair("prod", false)}) {
    std::size_t with_start = 0;
    for (const auto& [fold, listed] : Of(Reducing(how)).folds) with_start += listed.start ? 1 : 0;
    EXPECT_EQ(with_start, begins ? 1u : 0u) << how;
  }
}

// As is a sum by tiles otherwise.
TEST(KeyListsTest, ProductsThatAreScatteredHaveLists) {
  const Graph graph = SmallGraph("fp32", "x f32 3000x40, k i64 9000, s f32 9000x40", "y f32 3000x40",
                                 R"([{"op": "index_add", "outputs": ["y"], "args":
          {"self": "%x", "dim": 0, "index": "%k", "source": "%s", "alpha": 2.5}}])");
  EXPECT_NE(SourcesOfOracle(graph).values.find("lists0.Of("), std::string::npos);
  const CudaNests nests = WriteCudaNests(graph);
  EXPECT_NE(nests.Source(0, nests.kernels.size()).find("ListOf(entries0"), std::string::npos);
}

TEST(KeyListsTest, WhatIsSmallIsLookedAt) {
  EXPECT_EQ(Of(Reducing("sum"), 30 * 5 * 90 + 1).folds.size(), 0u);
  EXPECT_GT(Of(Reducing("sum"), 30 * 5 * 90).folds.size(), 0u);
}

TEST(KeyListsTest, FewResultsOfEachKeyAreLookedAt) {
  const auto rows = [](const char* shape) {
    return SmallGraph("fp32", fmt::format("x f32 {}, k i64 9000x9, s f32 9000x9", shape),
                      fmt::format("y f32 {}", shape),
                      R"([{"op": "scatter_add", "outputs": ["y"],
                           "args": {"self": "%x", "dim": 0, "index": "%k", "src": "%s"}}])");
  };
  EXPECT_EQ(Of(rows("15x9"), 1000).folds.size(), 0u);
  EXPECT_EQ(Of(rows("16x9"), 1000).folds.size(), 1u);
}

TEST(KeyListsTest, KeysThatHangOnRoundingHaveOneListMore) {
  const Graph graph = SmallGraph("fp32", "x f32 30, r f32 90, s f32 90", "y f32 30",
                                 R"([{"op": "exp", "args": {"self": "%r"}, "outputs": ["e"]},
          {"op": "_to_copy", "args": {"self": "%e", "dtype": "i64"}, "outputs": ["k"]},
          {"op": "scatter_add", "args": {"self": "%x", "dim": 0, "index": "%k", "src": "%s"}, "outputs": ["y"]}])");
  const Stage& stage = graph.stages().back();
  const StageLists found = ListsOf(stage.vars, stage.value, [](const Expr&) { return false; }, kAnyLooks);
  ASSERT_EQ(found.lists.size(), 1u);
  EXPECT_EQ(found.lists[0].ListsOfEach(), 30);
  EXPECT_EQ(found.lists[0].AllListsOfEach(), 31);
  EXPECT_EQ(found.lists[0].Entries(), 180) << "each may be in two";
  EXPECT_NE(SourcesOfOracle(graph, kAnyLooks).values.find("IsSettled(r"), std::string::npos);
}

// --- On a device ---

constexpr auto kIndexAdd = R"([{"op": "index_add", "outputs": ["y"],
                               "args": {"self": "%x", "dim": 0, "index": "%k", "source": "%s"}}])";

TEST(KeyListsTest, ADevicesMemoryHoldsTheTermsTwiceWhileTheyAreSorted) {
  const auto nests =
      WriteCudaNests(SmallGraph("fp32", "x f32 5000x2, k i64 9000, s f32 9000x2", "y f32 5000x2", kIndexAdd));
  EXPECT_EQ(PlanSlabs(nests).peak_bytes, 2 * 8 * 9000 + 4 * (128 * (2 + 1) + 1)) << "and two chunks' counts of digits";
  ASSERT_EQ(nests.runs.size(), 3u);
  EXPECT_EQ(nests.runs[1].steps, 2) << "digits of 7 bits each, of numbers up to 5000";
}

TEST(KeyListsTest, TermsThatAreSortedByPlacesTakeTheStepsOfOnePlacesLists) {
  const auto steps = [](const char* terms) {
    const auto nests = WriteCudaNests(SmallGraph("fp32", fmt::format("x f32 90x200, k i64 90x{0}, s f32 90x{0}", terms),
                                                 "y f32 90x200", kScatterAlong));
    return nests.runs.at(1).steps;
  };
  EXPECT_EQ(steps("9000"), 1);
  EXPECT_EQ(steps("8000"), 2) << "numbers up to 18000";
}

TEST(KeyListsTest, BlocksMakeTheResultsOfLongLists) {
  const auto nests =
      WriteCudaNests(SmallGraph("fp32", "x f32 500x2, k i64 90000, s f32 90000x2", "y f32 500x2", kIndexAdd));
  EXPECT_EQ(nests.runs.back().launches.back().count, 1000);
  EXPECT_EQ(nests.runs.back().launches.back().threads, 128) << "180 terms a list";
}

TEST(KeyListsTest, TheListsOfADeviceCompile) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  const Graph with_long_lists =
      SmallGraph("fp32", "x f32 5000x20, k i64 9000, s f32 9000x20", "y f32 5000x20", kIndexAdd);
  for (const Graph& graph : {Scatters("fp32", "f32"), with_long_lists}) {
    for (const char* arch : {"sm_80", "sm_90a"}) {
      const auto compiled = CompileNests(WriteCudaNests(graph, TorchProducts::kF32, kAnyLooks), "scatters", arch);
      EXPECT_TRUE(compiled) << arch << ": " << compiled.error().message;
    }
  }
}

}  // namespace
}  // namespace hone
