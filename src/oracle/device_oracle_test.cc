// The oracle's nests for a device: they compile, and they give what the host's give. Without a device their blocks run
// one after the other on the host; with one, as they are. The problems of these tests take every way that a nest can be
// written; the folder that HONE_PROBLEMS names may give more (problem.json files).
#include "oracle/device_oracle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>

#include "analysis/cost.h"
#include "graph/testing/small_problem.h"
#include "oracle/oracle.h"
#include "oracle/testing/nest_module.h"
#include "problem/generate.h"

namespace hone {
namespace {

using testing::Emulated;
using testing::Given;
using testing::SmallProblem;

constexpr double kFlopsAtMost = 3e9, kBytesAtMost = 2e9;

std::string Node(const std::string& op, const std::string& args) {
  return R"([{"op": ")" + op + R"(", "args": {)" + args + R"(}, "outputs": ["y"]}])";
}

using Add = std::function<void(const char* name, const char* contract, const char* inputs, const char* outputs,
                               const std::string& nodes)>;

std::string NodeMaking(const char* output, const char* op, const std::string& args) {
  return fmt::format(R"({{"op": "{}", "args": {{{}}}, "outputs": ["{}"]}})", op, args, output);
}

std::string Convolution(const char* output, const char* x, const char* w, const char* c, int padding, int stride,
                        int groups, bool transposed = false) {
  return NodeMaking(output, "convolution",
                    fmt::format(R"("input": "%{}", "weight": "%{}", "bias": "%{}", "stride": [{}],
    "padding": [{}], "dilation": [1], "transposed": {}, "output_padding": [0], "groups": {})",
                                x, w, c, stride, padding, transposed, groups));
}

// Sums of products with so many results that blocks make them by tiles, most of them with a rest at every edge.
void AddTiles(const Add& add) {
  const auto all = [](const std::vector<std::string>& nodes) { return fmt::format("[{}]", fmt::join(nodes, ", ")); };
  add("tiles", "fp32", "a f32 300x40, b f32 40x300, r f32 7x100x40, s f32 7x40x110, t f32 40x110",
      "y f32 300x300, z f32 300x300, u f32 7x100x110, v f32 7x100x110",
      all({NodeMaking("y", "mm", R"("self": "%a", "mat2": "%b")"), NodeMaking("at", "t", R"("self": "%a")"),
           NodeMaking("bt", "t", R"("self": "%b")"), NodeMaking("z", "mm", R"("self": "%bt", "mat2": "%at")"),
           NodeMaking("u", "bmm", R"("self": "%r", "mat2": "%s")"),
           NodeMaking("v", "matmul", R"("self": "%r", "other": "%t")")}));
  add("tiles of tiles", "tf32", "a f32 280x40, b f32 40x280, c f32 280x270, d f32 16x280, e f32 280x5000",
      "y f32 280x270, z f32 16x5000",
      all({NodeMaking("t", "mm", R"("self": "%a", "mat2": "%b")"),
           NodeMaking("y", "mm", R"("self": "%t", "mat2": "%c")"),
           NodeMaking("z", "mm", R"("self": "%d", "mat2": "%e")")}));
  add("tiles of f64", "fp64", "a f64 260x33, b f64 33x260", "y f64 260x260",
      Node("mm", R"("self": "%a", "mat2": "%b")"));
  add("tiles of bf16", "bf16", "a bf16 300x50, b bf16 300x50, c bf16 300, d bf16 50x300",
      "y bf16 300x300, z bf16 300x300",
      all({NodeMaking("y", "linear", R"("input": "%a", "weight": "%b", "bias": "%c")"),
           NodeMaking("z", "addmm", R"("self": "%c", "mat1": "%a", "mat2": "%d", "alpha": 1.5, "beta": 0.25)")}));
  // Some elements are as small as their errors: nothing is known of one over them.
  add("tiles in doubt", "fp32", "a f32 280x40, b f32 40x280, c f32 280x270", "y f32 280x280, z f32 280x270",
      all({NodeMaking("far", "add", R"("self": "%a", "other": 1e5, "alpha": 1)"),
           NodeMaking("near", "sub", R"("self": "%far", "other": 1e5, "alpha": 1)"),
           NodeMaking("over", "reciprocal", R"("self": "%near")"),
           NodeMaking("y", "mm", R"("self": "%over", "mat2": "%b")"),
           NodeMaking("z", "mm", R"("self": "%y", "mat2": "%c")")}));
  add("attention by tiles", "fp32", "q f32 2x4x70x33, k f32 2x2x130x33, v f32 2x2x130x140", "y f32 2x4x70x140",
      Node("scaled_dot_product_attention", R"("query": "%q", "key": "%k", "value": "%v", "enable_gqa": true)"));
  add("convolutions by tiles", "fp32",
      "a f32 3x7x33x30, b f32 40x7x3x3, c f32 40, d f32 3x5x65x51, e f32 64x5x3x3, f f32 64, g f32 2x9x40x17, "
      "h f32 9x33x2x2, j f32 33",
      "y f32 3x40x33x30, z f32 3x64x33x26, u f32 2x33x80x34",
      all({Convolution("y", "a", "b", "c", 1, 1, 1), Convolution("z", "d", "e", "f", 1, 2, 1),
           Convolution("u", "g", "h", "j", 0, 2, 1, true)}));
  // Of one form and of different sizes, so that they are one kernel that divides by its numbers.
  add("tiles of layers", "fp32", "a f32 3x7x33x30, b f32 40x7x3x3, c f32 40, d f32 2x5x41x35, e f32 64x5x3x3, f f32 64",
      "y f32 3x40x33x30, z f32 2x64x41x35",
      all({Convolution("y", "a", "b", "c", 1, 1, 1), Convolution("z", "d", "e", "f", 1, 1, 1)}));
  // Channels whose group is the same for a quarter of them, and for none.
  add("groups of convolutions", "fp32",
      "a f32 2x20x31x33, b f32 80x5x3x3, c f32 80, d f32 2x40x33x33, e f32 40x1x6x6, f f32 40",
      "y f32 2x80x31x33, z f32 2x40x28x28",
      all({Convolution("y", "a", "b", "c", 1, 1, 4), Convolution("z", "d", "e", "f", 0, 1, 40)}));
  // Groups end at the sums of widths from 0 to 3 times `step`: inside of tiles, and some are empty.
  const auto grouped = [&](int step, const char* more) {
    return all({NodeMaking("sums", "cumsum", R"("self": "%w", "dim": 0)"),
                NodeMaking("ends", "mul", fmt::format(R"("self": "%sums", "other": {})", step)), more});
  };
  const auto product = [](const char* output, const char* a, const char* b) {
    return NodeMaking(output, "_grouped_mm", fmt::format(R"("self": "%{}", "mat2": "%{}", "offs": "%ends")", a, b));
  };
  add("groups", "torch", "a bf16 700x40, b bf16 9x40x100, c bf16 9x100x40, d bf16 40x700, w i64 9",
      "y bf16 700x100, z bf16 100x700", grouped(55, (product("y", "a", "b") + ", " + product("z", "c", "d")).c_str()));
  add("more groups than a tile takes", "torch", "a bf16 700x40, b bf16 400x40x100, w i64 400", "y bf16 700x100",
      grouped(1, product("y", "a", "b").c_str()));
  add("groups whose ends are rounded", "torch", "a bf16 700x40, b bf16 9x40x100, w f32 9", "y bf16 700x100",
      all({NodeMaking("sums", "cumsum", R"("self": "%w", "dim": 0)"),
           NodeMaking("wide", "mul", R"("self": "%sums", "other": 100.3)"),
           NodeMaking("ends", "_to_copy", R"("self": "%wide", "dtype": "i64")"), product("y", "a", "b")}));
  add("groups of terms", "torch", "a bf16 120x300, b bf16 300x130, w i64 5", "y bf16 5x120x130",
      grouped(40, product("y", "a", "b").c_str()));
  add("few terms of groups", "tf32", "a f32 12x300, b f32 300x13, c f32 120x30, d f32 30x130, w i64 5",
      "y f32 5x12x13, z f32 5x120x130", grouped(9, (product("y", "a", "b") + ", " + product("z", "c", "d")).c_str()));
}

std::vector<Problem> Problems() {
  std::vector<Problem> problems;
  const auto add = [&](const char* name, const char* contract, const char* inputs, const char* outputs,
                       const std::string& nodes) {
    problems.push_back(SmallProblem(contract, inputs, outputs, nodes));
    problems.back().name = name;
  };
  const std::string product = Node("mm", R"("self": "%a", "mat2": "%b")");
  add("product", "fp32", "a f32 70x33, b f32 33x40", "y f32 70x40", product);
  add("long product", "tf32", "a f32 3x300, b f32 300x5", "y f32 3x5", product);
  add("many results", "fp32", "a f32 300x9, b f32 9x400", "y f32 300x400", product);
  add("f16 product", "fp16", "a f16 5x200, b f16 200x7", "y f16 5x7", product);
  add("bf16 product", "bf16", "a bf16 5x200, b bf16 200x7", "y bf16 5x7", product);
  add("8-bit product", "fp32", "a f8e4m3 5x200, b f8e5m2 200x7, s f32 5x1, t f32 1x7", "y f8e4m3 5x7",
      Node("_scaled_mm", R"("self": "%a", "mat2": "%b", "scale_a": "%s", "scale_b": "%t")"));
  add("sum of all", "fp32", "x f32 300x301", "y f32 -", Node("sum", R"("self": "%x")"));
  add("f64 mean", "fp64", "x f64 100x701", "y f64 100", Node("mean", R"("self": "%x", "dim": [1])"));
  add("max of few", "fp32", "x f32 3x50000", "y f32 3", Node("amax", R"("self": "%x", "dim": [1])"));
  add("argmax of few", "fp32", "x f32 2x40000", "y i64 2", Node("argmax", R"("self": "%x", "dim": 1)"));
  add("argmin", "fp32", "x f32 40x300", "y i64 40", Node("argmin", R"("self": "%x", "dim": 1)"));
  add("prod", "fp32", "x f32 30x100", "y f32 30", Node("prod.dim_int", R"("self": "%x", "dim": 1)"));
  add("softmax", "fp32", "x f32 20x500", "y f32 20x500", Node("_softmax", R"("self": "%x", "dim": -1)"));
  add("narrow softmax", "fp32", "x f32 300x20", "y f32 300x20", Node("_softmax", R"("self": "%x", "dim": -1)"));
  add("gelu", "fp32", "x f32 1000", "y f32 1000", Node("gelu", R"("self": "%x")"));
  add("cumsum", "fp32", "x f32 70x90", "y f32 70x90", Node("cumsum", R"("self": "%x", "dim": 1)"));
  add("cumprod", "fp32", "x f32 7x50", "y f32 7x50", Node("cumprod", R"("self": "%x", "dim": 0)"));
  add("whole numbers", "fp32", "x i32 50x70", "y i64 50", Node("sum.dim_IntList", R"("self": "%x", "dim": [1])"));
  // Rows are sorted, and what hangs on a place is listed by it.
  add("best of rows", "fp32", "x f32 3x9000", "y f32 3x5, i i64 3x5",
      R"([{"op": "topk", "args": {"self": "%x", "k": 5}, "outputs": ["y", "i"]}])");
  add("order of rounded rows", "fp32", "x f32 9000x2", "i i64 9000x2",
      R"([{"op": "relu", "args": {"self": "%x"}, "outputs": ["r"]}, {"op": "exp", "args": {"self": "%r"}, "outputs": ["e"]},
          {"op": "argsort", "args": {"self": "%e", "dim": 0, "descending": true}, "outputs": ["i"]}])");
  add("rows by rounded keys", "fp32", "x f32 300x40, k f32 9000, s f32 9000x40", "y f32 300x40",
      R"([{"op": "mul", "args": {"self": "%k", "other": 99.9}, "outputs": ["w"]},
          {"op": "_to_copy", "args": {"self": "%w", "dtype": "i64"}, "outputs": ["i"]},
          {"op": "index_add", "args": {"self": "%x", "dim": 0, "index": "%i", "source": "%s"}, "outputs": ["y"]}])");
  AddTiles(add);
  add("any", "fp32", "x i32 50x70", "y bool 50", Node("any.dim", R"("self": "%x", "dim": 1)"));
  if (const char* folder = std::getenv("HONE_PROBLEMS")) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      if (auto problem = LoadProblem(entry.path().string())) problems.push_back(std::move(*problem));
    }
  }
  return problems;
}

Result<std::vector<std::vector<std::byte>>> Drawn(const Problem& problem) {
  std::vector<std::vector<std::byte>> data;
  for (const Tensor* tensor : problem.Inputs()) {
    auto& bytes = data.emplace_back(static_cast<std::size_t>(tensor->bytes()) + 1);
    HONE_TRY(Fill(*tensor, 1, data.size(), {}, bytes.data(), problem.folder));
  }
  return data;
}

// Both agree when the values are the same to far less than a budget, and the budgets to within what another order of
// summation makes of them.
void ExpectSame(const std::vector<Expected>& host, const Given& device, const Problem& problem) {
  // How often a product of many is rounded hangs on the order. Tiles of sums of products count those of what is not
  // there as terms, too (TermErrors in generated_code/numbers.h).
  static const std::map<std::string, double> kSlack = {{"prod", 1},
                                                       {"convolutions by tiles", 0.1},
                                                       {"tiles of layers", 0.1},
                                                       {"groups of convolutions", 0.1},
                                                       {"groups of terms", 0.1},
                                                       {"few terms of groups", 0.1}};
  const auto known = kSlack.find(problem.name);
  const double slack = known == kSlack.end() ? 1e-6 : known->second;
  const double share = problem.contract == Precision::kFp64 ? 1 : 1e-3;  // double precision is all that there is
  for (std::size_t o = 0; o < host.size(); ++o) {
    std::size_t wrong = 0, loose = 0;
    double honest_ratio = 0;
    for (std::size_t i = 0; i < host[o].value.size() && wrong + loose < 3; ++i) {
      const double want = host[o].value[i], got = device.value[o][i];
      const double scale = host[o].scale[i], other = device.scale[o][i];
      const bool same = got == want || (std::isnan(got) && std::isnan(want)) ||
                        std::abs(got - want) <= share * scale + 1e-12 * std::abs(want) || std::isinf(scale);
      if (!same && ++wrong) ADD_FAILURE() << "output " << o << ", element " << i << ": " << got << " for " << want;
      const double honest = device.honest[o][i];
      const bool overflow = std::isinf(scale) && !std::isfinite(honest);
      const bool near = overflow || (std::isnan(want) && std::isnan(honest)) || other == scale ||
                        std::abs(other - scale) <= slack * scale + 1e-300;
      if (!near && ++loose)
        ADD_FAILURE() << "output " << o << ", element " << i << ": scale " << other << " for " << scale;
      if (std::isfinite(other) && other > 0 && std::isfinite(honest))
        honest_ratio = std::max(honest_ratio, (std::abs(honest - got) - 0x1p-149) / other);
    }
    EXPECT_LE(honest_ratio, 2 * std::max(1.0, host[o].honest_ratio)) << "output " << o;
    EXPECT_GE(2 * std::max(1.0, honest_ratio), host[o].honest_ratio) << "output " << o;
  }
}

void ForEachProblem(const std::function<void(const Graph&)>& body) {
  for (auto& problem : Problems()) {
    SCOPED_TRACE(problem.name);
    auto graph = Graph::Create(std::move(problem));
    ASSERT_TRUE(graph) << graph.error().message;
    body(*graph);
  }
}

bool Small(const Graph& graph) {
  double bytes = 0;
  for (const auto& buffer : graph.buffers()) bytes += 16.0 * static_cast<double>(ElementCount(buffer.shape));
  return GraphCost(graph).flops() <= kFlopsAtMost && bytes <= kBytesAtMost;
}

TEST(DeviceOracleTest, EveryNestCompilesForADevice) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  ForEachProblem([](const Graph& graph) {
    // Tiles are made by what the least device does not have.
    std::vector<const char*> archs = {"sm_90a"};
    if (graph.problem().name.starts_with("tiles")) archs.push_back("sm_80");
    for (const char* arch : archs) {
      const auto compiled = CompileNests(WriteCudaNests(graph), graph.problem().name, arch);
      EXPECT_TRUE(compiled) << compiled.error().message;
    }
  });
}

// What the least device takes every later one does.
TEST(DeviceOracleTest, TheJudgesKernelsCompileForTheLeastDeviceAndForHopper) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  for (const char* arch : {"sm_80", "sm_90a"}) {
    const auto compiled = CompileJudgeKernels(arch, JudgedTypes::All());
    EXPECT_TRUE(compiled) << arch << ": " << compiled.error().message;
  }
}

TEST(DeviceOracleTest, TheNestsOfADeviceGiveWhatThoseOfTheHostGive) {
  int compared = 0;
  ForEachProblem([&](const Graph& graph) {
    if (!Small(graph)) return;
    const auto data = Drawn(graph.problem());
    if (!data) return;
    std::vector<const void*> inputs;
    for (const auto& bytes : *data) inputs.push_back(bytes.data());
    const Given given = testing::EmulatedNests(WriteCudaNests(graph), 0).Run(graph, inputs);  // by slabs, where it can
    const auto oracle = Oracle::Compile(graph);
    ASSERT_TRUE(oracle) << oracle.error().message;
    ExpectSame(*oracle->Run(inputs, 2), given, graph.problem());
    ++compared;
  });
  EXPECT_GT(compared, 10);
}

// Terms that go far from zero and come back, so that all sums are zero: what is rounded on the way goes both ways, what
// is cut off goes toward zero.
TEST(DeviceOracleTest, HonestSumsOfHalvesAreCutOffAsTensorCoresDo) {
  constexpr std::size_t kSide = 256, kTerms = 1024;
  std::vector<std::uint16_t> a(kSide * kTerms), b(kSide * kTerms);
  const auto one_to_two = [](std::size_t n) {
    return static_cast<std::uint16_t>(0x3c00 + (n * 2654435761 >> 16) % 0x400);
  };
  for (std::size_t k = 0; k < kTerms; ++k) {
    const bool back = k >= kTerms / 2;
    const std::size_t n = back ? kTerms - 1 - k : k;
    for (std::size_t i = 0; i < kSide; ++i) {
      a[i * kTerms + k] = static_cast<std::uint16_t>(one_to_two(n * kSide + i) | (back ? 0x8000 : 0));
      b[k * kSide + i] = one_to_two(i * kTerms + n);
    }
  }
  const auto graph = Graph::Create(SmallProblem("torch", "a f16 256x1024, b f16 1024x256", "y f16 256x256",
                                                Node("matmul", R"("self": "%a", "other": "%b")")));
  ASSERT_TRUE(graph) << graph.error().message;
  const auto honest = [&](TorchProducts products) {
    return Emulated(WriteCudaNests(*graph, products), *graph, {a.data(), b.data()}).honest[0];
  };
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  const auto nearest = honest(TorchProducts::kF32), cut_off = honest(TorchProducts::kTf32);
  EXPECT_LT(*std::max_element(cut_off.begin(), cut_off.end()), 0);
  EXPECT_LT(mean(cut_off), 10 * -std::abs(mean(nearest)));
}

// Draws and runs on the device what is compared with the host's.
TEST(DeviceOracleTest, ADeviceGivesWhatTheHostGives) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  if (const auto devices = cuda::FindDevices(); !devices) GTEST_SKIP() << devices.error().message;
  const auto context = cuda::Context::Open(0);
  ASSERT_TRUE(context) << context.error().message;
  DeviceHeap heap(**context);
  const auto kernels = DeviceKernels::Load(**context, heap, JudgedTypes::All());
  ASSERT_TRUE(kernels) << kernels.error().message;
  bool by_slabs = false;
  ForEachProblem([&](const Graph& graph) {
    if (!Small(graph)) return;
    const auto data = Drawn(graph.problem());
    if (!data) return;
    std::vector<DeviceArray> arrays;
    std::vector<cuda::Address> addresses;
    std::vector<const void*> inputs;
    const auto tensors = graph.problem().Inputs();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      inputs.push_back((*data)[i].data());
      auto array = heap.Take(tensors[i]->bytes());
      ASSERT_TRUE(array);
      addresses.push_back(array->address());
      arrays.push_back(std::move(*array));
      const auto drawing = DrawingOf(*tensors[i], 1, i + 1, {});
      std::vector<std::byte> drawn((*data)[i].size() - 1);
      if (std::holds_alternative<FromFile>(tensors[i]->generator)) {
        ASSERT_TRUE((*context)->CopyIn(addresses[i], inputs[i], tensors[i]->bytes()));
      } else {
        ASSERT_TRUE((*kernels)->Draw(*tensors[i], drawing, addresses[i], 0, ElementCount(tensors[i]->shape)));
      }
      ASSERT_TRUE((*context)->CopyOut(drawn.data(), addresses[i], tensors[i]->bytes()));
      EXPECT_EQ(std::memcmp(drawn.data(), inputs[i], drawn.size()), 0) << "drawn otherwise: " << tensors[i]->name;
    }
    // Every other by slabs, where it can.
    by_slabs = !by_slabs;
    const auto device =
        by_slabs ? DeviceOracle::Create(**kernels, graph, OracleRoom{0, 0}) : DeviceOracle::Create(**kernels, graph);
    ASSERT_TRUE(device) << device.error().message;
    const auto expected = (*device)->Run(addresses);
    ASSERT_TRUE(expected) << expected.error().message;
    const auto oracle = Oracle::Compile(graph);
    ASSERT_TRUE(oracle) << oracle.error().message;
    const auto host = oracle->Run(inputs, 16);
    Given given;
    for (std::size_t o = 0; o < host->size(); ++o) {
      const auto count = (*host)[o].value.size();
      for (auto* part : {&given.value, &given.scale, &given.honest}) part->emplace_back(count);
      const auto bytes = static_cast<std::int64_t>(8 * count);
      ASSERT_TRUE((*context)->CopyOut(given.value[o].data(), (*expected)[o].value.address(), bytes));
      ASSERT_TRUE((*context)->CopyOut(given.scale[o].data(), (*expected)[o].scale.address(), bytes));
      // Its largest error is all that is left of the honest implementation.
      EXPECT_LE((*expected)[o].honest_ratio, 2 * std::max(1.0, (*host)[o].honest_ratio)) << "output " << o;
      EXPECT_GE(3 * std::max(1.0, (*expected)[o].honest_ratio), (*host)[o].honest_ratio) << "output " << o;
      given.honest[o] = given.value[o];
      const_cast<double&>((*host)[o].honest_ratio) = 0;
    }
    ExpectSame(*host, given, graph.problem());
  });
}

TEST(DeviceOracleTest, ADeviceComparesAsTheHostDoes) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  if (const auto devices = cuda::FindDevices(); !devices) GTEST_SKIP() << devices.error().message;
  const auto context = cuda::Context::Open(0);
  ASSERT_TRUE(context) << context.error().message;
  DeviceHeap heap(**context);
  const auto kernels = DeviceKernels::Load(**context, heap, JudgedTypes::All());
  ASSERT_TRUE(kernels) << kernels.error().message;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::uint16_t kPattern = 0x7fa5;
  const auto upload = [&](const auto& data) {
    const auto bytes = static_cast<std::int64_t>(data.size() * sizeof data[0]);
    auto array = heap.Take(bytes);
    EXPECT_TRUE(array);
    EXPECT_TRUE((*context)->CopyIn(array->address(), data.data(), bytes));
    EXPECT_TRUE((*context)->Wait());
    return std::move(*array);
  };
  const auto on_device = [&](const Expected& expected) {
    DeviceExpected made;
    made.value = upload(expected.value);
    made.scale = upload(expected.budget);
    made.factor = 1;
    return made;
  };
  // An infinity within its budget, and one element that is right by the norm only.
  const Tensor half{.name = "y", .shape = {3}, .dtype = DType::kF16, .role = Role::kOutput};
  const std::vector<std::uint16_t> halves = {0xfc00, 0x3c66, 0x6400};  // -infinity, 1.0996, 1024
  const Expected reals{.value = {-65520, 1, 1024}, .budget = {780, 1e-3, 1}};
  const auto got = upload(halves);
  const auto check = (*kernels)->Compare(half, got.address(), on_device(reals), kPattern);
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ(check->wrong, CompareOutput(half, halves.data(), reals, kPattern).wrong);
  EXPECT_EQ(check->wrong, 1);
  const auto norm = (*kernels)->CompareNorm(half, got.address(), on_device(reals), kPattern);
  ASSERT_TRUE(norm) << norm.error().message;
  EXPECT_TRUE(norm->right());
  // Whole numbers that rounding decides.
  const Tensor whole{.name = "i", .shape = {4}, .dtype = DType::kI64, .role = Role::kOutput};
  const std::vector<std::int64_t> places = {5, 7, 0, 9};
  const Expected open{.value = {5, 5, 5, 1}, .budget = {kInfinity, kInfinity, kInfinity, 0}};
  const Expected distance{.value = {9, 1e-6, -3, 9}, .budget = {0, 1e-5, 1e-5, 0}};
  const auto given = upload(places);
  const DeviceExpected far = on_device(distance);
  for (const bool by_value : {false, true}) {
    const auto one = (*kernels)->CompareOpen(whole, given.address(), on_device(open), 0, by_value ? &far : nullptr);
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(one->wrong, CompareOpen(whole, places.data(), open, 0, by_value ? &distance : nullptr).wrong);
    EXPECT_EQ(one->worst, by_value ? 2 : 1);
  }
  const Expected sure{.value = {5, 5, 5, 1}, .budget = {0, 0, 0, 0}};
  for (const double sure_room : {kAnyRoom, 0.0, -1.0}) {
    const auto one = (*kernels)->CompareOpen(whole, given.address(), on_device(sure), 0, &far, sure_room);
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(one->wrong, CompareOpen(whole, places.data(), sure, 0, &distance, sure_room).wrong) << sure_room;
  }
}

}  // namespace
}  // namespace hone
