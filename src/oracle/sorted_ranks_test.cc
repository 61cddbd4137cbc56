// Places that sorting finds are those that comparing each element with all of its row finds, to the bit.
#include "oracle/sorted_ranks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>

#include "graph/testing/small_problem.h"
#include "oracle/device_oracle.h"
#include "oracle/testing/nest_module.h"
#include "problem/generate.h"

namespace hone {

extern const std::string_view kNumbersText, kSortedRanksText, kCudaNestsText, kCudaSortedRanksText;

namespace {

using testing::EmulatedNests;
using testing::Given;
using testing::HostNests;
using testing::NestModule;
using testing::SmallGraph;

constexpr std::int64_t kAnyLooks = 0, kNoLooks = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- Elements with errors of every kind ---

// `found` and `compared` give a place for each element of a row, with kDoubted where it hangs on rounding.
constexpr auto kDriver = R"(
namespace { const double kUnit = 0x1p-24, kOperandUnit = 0x1p-24, kSmallest = 0x1p-126; }
#define HONE_ENTRY extern "C" __attribute__((visibility("default")))
)";
constexpr auto kHostDriver = R"(
HONE_ENTRY void found(const double* v, const double* e, std::int64_t count, bool descending, std::uint32_t* to) {
  const SortedRanks<double> ranks(1, count, descending, 1, [&](std::int64_t, std::int64_t place) {
    return RankKeyOf<double>(Tracked(v[place], e[place]));
  });
  for (std::int64_t i = 0; i < count; ++i) to[i] = ranks[i];
}
HONE_ENTRY void compared(const double* v, const double* e, std::int64_t count, bool descending, std::uint32_t* to) {
  const auto before = [&](std::int64_t a, std::int64_t b) {
    const Tracked x(v[a], e[a]), y(v[b], e[b]);
    return Or(descending ? Less(y, x) : Less(x, y),
              descending ? And(IsNan(x), Not(IsNan(y))) : And(IsNan(y), Not(IsNan(x))));
  };
  for (std::int64_t j = 0; j < count; ++j) {
    Sum<Whole> rank;
    for (std::int64_t k = 0; k < count; ++k) rank.Add(ToWhole(k < j ? Not(before(j, k)) : before(k, j)));
    to[j] = static_cast<std::uint32_t>(rank.Get().v) | (rank.Get().sure ? 0 : kDoubted);
  }
}
)";

// As cuda_nest.cc launches them, one thread.
constexpr auto kDeviceHead = R"(
struct Place { unsigned x; };
static const Place threadIdx{0}, blockIdx{0}, blockDim{1}, gridDim{1};
#define __shared__ static
#define __syncthreads()
)";
constexpr auto kDeviceDriver = R"(
#include <vector>
HONE_ENTRY void found(const double* v, const double* e, std::int64_t count, bool descending, std::uint32_t* to) {
  std::vector<InRow<double>> rows[2];
  std::vector<Furthest> furthest[2] = {std::vector<Furthest>(count), std::vector<Furthest>(count)};
  for (std::int64_t i = 0; i < count; ++i) rows[0].push_back({v[i], static_cast<std::uint32_t>(i)});
  rows[1] = rows[0];
  SortStep(rows[0].data(), count, count, descending, 0, rows[1].data());
  int sorted = 1, at = 0;
  for (std::int64_t i = 1; kFirstRun << (i - 1) < count; ++i, sorted = 1 - sorted)
    SortStep(rows[sorted].data(), count, count, descending, i, rows[1 - sorted].data());
  for (std::int64_t i = 0; (std::int64_t{1} << i) < count; ++i, at = 1 - at) {
    FurthestStep<Tracked>(rows[sorted].data(), e, count, count, descending, i, furthest[at].data(),
                          furthest[1 - at].data());
  }
  WriteDoubtedRanks<Tracked>(rows[sorted].data(), e, count, count, descending, furthest[at].data(), to);
}
)";

TEST(SortedRanksTest, WhoseRankHangsOnRoundingIsWhoseComparisonsDo) {
  const std::string numbers(kNumbersText), ranks(kSortedRanksText), nests(kCudaNestsText);
  const NestModule host(numbers + ranks + kDriver + kHostDriver);
  const NestModule device(numbers + kDriver + kDeviceHead + nests + std::string(kCudaSortedRanksText) + kDeviceDriver);
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t most) { return random() % most; };
  const auto uniform = [&] { return std::uniform_real_distribution<double>(-1, 1)(random); };
  int doubted = 0, sure = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const std::int64_t count = trial % 50 == 0 ? 1 : 2 + static_cast<std::int64_t>(below(trial % 9 == 0 ? 300 : 60));
    const double spread = std::ldexp(1.0, -static_cast<int>(below(12)));
    const std::uint64_t with_errors = below(4), specials = below(3);  // of how many elements
    std::vector<double> v, e;
    for (std::int64_t i = 0; i < count; ++i) {
      double value = uniform(), error = 0;
      if (with_errors > 0 && below(4) < with_errors) error = spread * std::abs(uniform()) * std::ldexp(1.0, -4);
      if (below(3) == 0) value = std::round(value * 8) / 8;  // ties, and gaps of just an error
      if (below(5) == 0 && error > 0) error = std::ldexp(1.0, -static_cast<int>(below(8)) - 3);
      if (specials > 0 && below(10) < specials) {
        constexpr double kValues[] = {0.0,   -0.0,  kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
                                      1e300, 5e-324};
        value = kValues[below(std::size(kValues))];
      }
      if (specials > 1 && with_errors > 0 && below(20) == 0)
        error = below(3) == 0 ? std::numeric_limits<double>::quiet_NaN() : below(2) == 0 ? kInfinity : 5e-324;
      v.push_back(value);
      e.push_back(error);
    }
    const bool descending = below(2) == 0;
    const auto call = [&](const NestModule& module, const char* name) {
      std::vector<std::uint32_t> to(static_cast<std::size_t>(count));
      module.Call(name, std::as_const(v).data(), std::as_const(e).data(), count, descending, to.data());
      return to;
    };
    const auto compared = call(host, "compared"), found = call(host, "found"), by_device = call(device, "found");
    for (std::size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(fmt::format("trial {}, {} +- {}, {} of {}", trial, v[i], e[i], i, count));
      ASSERT_EQ(found[i], compared[i]);
      ASSERT_EQ(by_device[i], compared[i]);
      ++(compared[i] >> 31 != 0 ? doubted : sure);
    }
  }
  EXPECT_GT(doubted, 10000);
  EXPECT_GT(sure, 10000);
}

// --- Operators that order ---

// Of rows of 90 along `dim`, elements as they are given and elements that were rounded.
Graph Orders(const std::string& real) {
  std::string nodes, outputs;
  int count = 0;
  const auto add = [&](const char* op, const char* shape, const std::vector<std::string>& types,
                       const std::string& arguments) {
    std::string names;
    for (const auto& type : types) {
      names += fmt::format("{}\"y{}\"", names.empty() ? "" : ", ", count);
      outputs += fmt::format("{}y{} {} {}", count == 0 ? "" : ", ", count, type, shape);
      ++count;
    }
    nodes += fmt::format(R"(, {{"op": "{}", "args": {{{}}}, "outputs": [{}]}})", op, arguments, names);
  };
  std::vector<std::pair<const char*, std::string>> elements = {{"x", real}, {"m", real}};
  if (real == "f32") elements.insert(elements.end(), {{"i", "i64"}, {"u", "u8"}, {"o", "bool"}, {"rounded", "i64"}});
  for (const auto& [name, type] : elements) {
    const std::string self = fmt::format(R"("self": "%{}", )", name);
    for (const char* descending : {"true", "false"}) {
      add("sort", "3x90x2", {type, "i64"}, self + fmt::format(R"("dim": 1, "descending": {})", descending));
    }
    add("topk", "3x1x2", {type, "i64"}, self + R"("k": 1, "dim": 1)");
    add("topk", "3x7x2", {type, "i64"}, self + R"("k": 7, "dim": 1, "largest": false)");
    add("topk", "3x90x2", {type, "i64"}, self + R"("k": 90, "dim": 1)");
    add("kthvalue", "3x2", {type, "i64"}, self + R"("k": 45, "dim": 1)");
    add("argsort", "3x90x2", {"i64"}, self + R"("dim": 0)");
  }
  return SmallGraph(real == "bf16" ? "bf16" : "fp32",
                    fmt::format("x {} 3x90x2, i i64 3x90x2, u u8 3x90x2, o bool 3x90x2", real), outputs,
                    R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["e"]},
                        {"op": "sub.Tensor", "args": {"self": "%e", "other": 1.25}, "outputs": ["d"]},
                        {"op": "relu", "args": {"self": "%d"}, "outputs": ["m"]},
                        {"op": "mul.Tensor", "args": {"self": "%e", "other": 1.5}, "outputs": ["p"]},
                        {"op": "_to_copy", "args": {"self": "%p", "dtype": "i64"}, "outputs": ["rounded"]})" +
                        nodes + "]");
}

// Every fifth is one that was before, every seventh is no common number.
void MakeUncommon(const Tensor& tensor, std::byte* data) {
  const bool f32 = tensor.dtype == DType::kF32, f16 = tensor.dtype == DType::kF16;
  const std::uint32_t kinds[] = {f32   ? 0x7f800000
                                 : f16 ? 0x7c00u
                                       : 0x7f80u,  // infinite
                                 f32   ? 0x7fc00000
                                 : f16 ? 0x7e00u
                                       : 0x7fc0u,  // a NaN
                                 0, f32 ? 0x80000000 : 0x8000u,
                                 f32   ? 0xff800000
                                 : f16 ? 0xfc00u
                                       : 0xff80u};
  const std::size_t bytes = static_cast<std::size_t>(Bytes(tensor.dtype));
  for (std::size_t i = 11; i < static_cast<std::size_t>(ElementCount(tensor.shape)); ++i) {
    if (i % 5 == 0) std::memcpy(data + i * bytes, data + (i - 11) * bytes, bytes);
    if (i % 7 == 0) std::memcpy(data + i * bytes, &kinds[i / 7 % std::size(kinds)], bytes);
  }
}

void ExpectSame(const Given& want, const Given& got) {
  for (const auto& [a, b] :
       {std::pair(&want.value, &got.value), std::pair(&want.scale, &got.scale), std::pair(&want.honest, &got.honest)}) {
    for (std::size_t o = 0; o < a->size(); ++o) {
      for (std::size_t i = 0; i < (*a)[o].size(); ++i) {
        const double x = (*a)[o][i], y = (*b)[o][i];
        ASSERT_TRUE(std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (x != x && y != y))
            << "output " << o << ", element " << i << ": " << x << ", " << y;
      }
    }
  }
}

TEST(SortedRanksTest, OrdersAreThoseOfTheDefinition) {
  for (const char* real : {"f32", "f16", "bf16"}) {
    SCOPED_TRACE(real);
    const Graph graph = Orders(real);
    const OracleSources sorted = SourcesOfOracle(graph, kAnyLooks), compared = SourcesOfOracle(graph, kNoLooks);
    EXPECT_NE(sorted.values.find("RankFrom<"), std::string::npos);
    const HostNests finds(sorted), compares(compared);
    const EmulatedNests device(WriteCudaNests(graph, TorchProducts::kF32, kAnyLooks));
    for (const bool uncommon : {false, true}) {
      std::vector<std::vector<std::byte>> data;
      std::vector<const void*> inputs;
      for (const Tensor* tensor : graph.problem().Inputs()) {
        auto& bytes = data.emplace_back(static_cast<std::size_t>(tensor->bytes()));
        ASSERT_TRUE(Fill(*tensor, 1, data.size(), {}, bytes.data()));
        if (uncommon && IsFloat(tensor->dtype)) MakeUncommon(*tensor, bytes.data());
      }
      for (const auto& bytes : data) inputs.push_back(bytes.data());
      const Given want = compares.Run(graph, inputs);
      ExpectSame(want, finds.Run(graph, inputs));
      ExpectSame(want, device.Run(graph, inputs));
    }
  }
}

// --- Which folds ---

TEST(SortedRanksTest, RowsAreOfTheIndicesThatElementsRead) {
  const Graph graph =
      SmallGraph("fp32", "x f32 6x40x5", "y f32 6x8x5, i i64 6x8x5",
                 R"([{"op": "topk", "args": {"self": "%x", "k": 8, "dim": 1}, "outputs": ["y", "i"]}])");
  const Stage& rank = graph.stages()[0];
  const StageRanks found = RanksOf(rank.vars, rank.value, 6 * 40 * 5 * 40);
  ASSERT_EQ(found.ranks.size(), 1u);
  EXPECT_EQ(found.folds.count(rank.value.get()), 1u);
  EXPECT_EQ(found.ranks[0].Rows(), 30);
  EXPECT_EQ(found.ranks[0].Count(), 40);
  EXPECT_TRUE(found.ranks[0].fold.descending);
  EXPECT_EQ(RanksOf(rank.vars, rank.value, 6 * 40 * 5 * 40 + 1).ranks.size(), 0u) << "is compared";
  const Stage& order = graph.stages()[1];
  EXPECT_EQ(RanksOf(order.vars, order.value, 0).ranks.size(), 0u);
}

// --- On a device ---

TEST(SortedRanksTest, ADeviceSortsInSteps) {
  const auto nests = [](const char* nodes) {
    return WriteCudaNests(SmallGraph("fp32", "x f32 3x5000", "y f32 3x5, i i64 3x5", nodes), TorchProducts::kF32,
                          std::int64_t{3} * 5000 * 5000);
  };
  const auto exact = nests(R"([{"op": "topk", "args": {"self": "%x", "k": 5}, "outputs": ["y", "i"]}])");
  ASSERT_GE(exact.runs.size(), 4u);
  EXPECT_EQ(exact.runs[1].steps, 9) << "runs of 32, and 8 times twice as long ones";
  EXPECT_EQ(exact.runs[2].steps, 1);
  const auto rounded = nests(R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["e"]},
                                 {"op": "topk", "args": {"self": "%e", "k": 5}, "outputs": ["y", "i"]}])");
  bool searched = false;
  for (const auto& run : rounded.runs) searched = searched || run.steps == 13;
  EXPECT_TRUE(searched) << "13 steps look at all of a row";
}

TEST(SortedRanksTest, TheSortsOfADeviceCompile) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  for (const char* arch : {"sm_80", "sm_90a"}) {
    const auto compiled = CompileNests(WriteCudaNests(Orders("f32"), TorchProducts::kF32, kAnyLooks), "orders", arch);
    EXPECT_TRUE(compiled) << arch << ": " << compiled.error().message;
  }
}

}  // namespace
}  // namespace hone
