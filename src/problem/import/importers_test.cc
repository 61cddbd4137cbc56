// The importers of things other than KernelBench's files.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "problem/import/import.h"
#include "problem/import/python.h"
#include "problem/testing/warm_python.h"

namespace hone {
namespace {

#define NEEDS_TORCH() \
  if (!FindPython()) GTEST_SKIP() << "no Python with torch is installed"

class ImportersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDirectory::Create("importers");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TempDirectory>(std::move(*folder));
  }

  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(MakeDirectories(std::filesystem::path(Path(name)).parent_path().string()));
    ASSERT_TRUE(WriteFileAtomically(Path(name), text));
  }

  Result<Problem> Imported(const std::string& name, ImportOptions options = {}) {
    options.weights_path = Path("values.safetensors");
    if (const auto python = FindPython()) options.python = testing::WarmPython(python->path);
    return Import(Path(name), options);
  }

  std::string ErrorOf(const std::string& name, const ImportOptions& options = {}) {
    const auto problem = Imported(name, options);
    if (problem) return "no error";
    auto message = problem.error().message;
    for (auto at = message.find(folder_->path()); at != std::string::npos; at = message.find(folder_->path())) {
      message.erase(at, folder_->path().size() + 1);
    }
    return message;
  }

  std::unique_ptr<TempDirectory> folder_;
};

TEST_F(ImportersTest, AProblemFindsItsFileFromItsOwnFolder) {
  const auto problem = [](const std::string& source) {
    return R"({"hone_problem": 1, "name": "small", "contract": "fp32", "provenance": {"source": ")" + source + R"("},
      "tensors": [{"name": "x", "shape": [8], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0,
                   "deviation": 1}}, {"name": "y", "shape": [8], "dtype": "f32", "role": "output"}],
      "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}]})";
  };
  Write("p/small.py", "a model");
  Write("p/small.json", problem("small.py"));
  Write("p/old.json", problem("p/small.py"));
  EXPECT_EQ(Imported("p/small.json").value().provenance.at("source"), Path("p/small.py"));
  EXPECT_EQ(Imported("p/old.json").value().provenance.at("source"), "p/small.py") << "from where it was imported";
}

constexpr char kDefinition[] = R"({
  "name": "scaled_rms_d64",
  "axes": {"n": {"type": "var"}, "d": {"type": "const", "value": 64},
           "half": {"type": "expr", "expression": "d // 2"}, "whole": {"type": "expr", "expression": "half * 2"}},
  "inputs": {"x": {"shape": ["n", "d"], "dtype": "float32"}, "norm_weight": {"shape": ["whole"], "dtype": "float32"},
             "w_out": {"shape": ["half", "d"], "dtype": "float32"}, "eps": {"shape": null, "dtype": "float32"}},
  "outputs": {"y": {"shape": ["n", "half"], "dtype": "float32"}, "mean": {"shape": ["n"], "dtype": "float32"}},
  "reference": "import torch\n\n@torch.no_grad()\ndef run(x, norm_weight, w_out, eps):\n    mean = x.pow(2).mean(-1)\n    r = torch.rsqrt(mean + eps)\n    return (x * r[:, None] * norm_weight) @ w_out.T, mean\n"
})";
constexpr char kWorkloads[] =
    R"({"uuid": "small", "axes": {"n": 4}, "inputs": {"x": {"type": "random"}, "norm_weight": {"type": "random"}, "w_out": {"type": "random"}, "eps": {"type": "scalar", "value": 1e-6}}}
{"uuid": "large", "axes": {"n": 4096}, "inputs": {"x": {"type": "random"}, "norm_weight": {"type": "random"}, "w_out": {"type": "random"}, "eps": {"type": "scalar", "value": 0.5}}}
)";

TEST_F(ImportersTest, DefinitionsImportWithAWorkload) {
  NEEDS_TORCH();
  Write("definition.json", kDefinition);
  Write("workload.jsonl", kWorkloads);
  const auto folder = Imported("");
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_EQ(folder->name, "scaled_rms_d64");
  ASSERT_EQ(folder->Inputs().size(), 3u);
  EXPECT_EQ(folder->Find("x")->shape, (Shape{4, 64}));
  EXPECT_EQ(std::get<Normal>(folder->Find("x")->generator).deviation, 1);
  EXPECT_EQ(std::get<Constant>(folder->Find("norm_weight")->generator).value, 1);
  EXPECT_EQ(std::get<Normal>(folder->Find("w_out")->generator).deviation, 1 / 8.0);
  EXPECT_EQ(folder->Find("y")->shape, (Shape{4, 32}));
  EXPECT_EQ(folder->Find("mean")->shape, (Shape{4}));
  EXPECT_EQ(folder->provenance.at("constant arguments"), "eps = 1e-06");
  EXPECT_EQ(folder->provenance.at("importer"), "definition");
  ImportOptions options;
  options.workload = "large";
  const auto large = Imported("definition.json", options);
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->Find("y")->shape, (Shape{4096, 32}));
  EXPECT_EQ(large->provenance.at("workload"), "large");
}

TEST_F(ImportersTest, FlashInfersTreeOfTracesImports) {
  NEEDS_TORCH();
  Write("definitions/norm/rms.json", kDefinition);
  auto trace = nlohmann::json::object();
  trace["definition"] = "rms";
  trace["workload"] = nlohmann::json::parse(std::string(kWorkloads).substr(0, std::string(kWorkloads).find('\n')));
  Write("workloads/norm/rms.jsonl", trace.dump() + "\n");
  const auto problem = Imported("definitions/norm/rms.json");
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->Find("x")->shape, (Shape{4, 64}));
}

TEST_F(ImportersTest, InputsOfAFunctionOfTheDefinitionAreDrawnAsItDrawsThem) {
  NEEDS_TORCH();
  Write("definition.json", R"({"name": "add_rows", "axes": {"n": {"type": "var"}}, "custom_inputs_entrypoint": "make",
    "inputs": {"x": {"shape": ["n", "n"], "dtype": "float32"}, "rows": {"shape": ["n"], "dtype": "int64"}},
    "outputs": {"y": {"shape": ["n", "n"], "dtype": "float32"}},
    "reference": "import torch\ndef make(axes, device):\n    n = axes['n']\n    return {'rows': torch.randint(0, n, (n,), device=device), 'x': torch.rand(n, n, device=device)}\ndef run(x, rows):\n    x.index_add_(0, rows, x.clone())\n    return x"})");
  Write("workload.jsonl",
        R"({"uuid": "a", "axes": {"n": 16}, "inputs": {"x": {"type": "custom"}, "rows": {"type": "custom"}}})");
  const auto problem = Imported("definition.json");
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(std::get<IntegerRange>(problem->Find("rows")->generator).high, 16);
  EXPECT_EQ(std::get<Uniform>(problem->Find("x")->generator).high, 1);
  ASSERT_EQ(problem->Outputs().size(), 1u);
  const auto& last = problem->nodes.back().op;
  EXPECT_TRUE(last == "aten.index_put.default" || last == "aten.index_add.default") << last;  // as torch has it
}

TEST_F(ImportersTest, WhatIsWrongInADefinitionIsSaidWithItsPlace) {
  Write("definition.json", kDefinition);
  NEEDS_TORCH();
  EXPECT_EQ(ErrorOf(""), "definition.json: /axes/n: is variable, and there is no workload beside the file");
  Write("workload.jsonl", "nonsense\n");
  EXPECT_EQ(ErrorOf(""), "workload.jsonl:1: is no JSON object: one workload a line");
  Write("workload.jsonl", kWorkloads);
  ImportOptions options;
  options.workload = "medium";
  EXPECT_EQ(ErrorOf("", options), "workload.jsonl: has no workload medium; there are 0 (small), 1 (large)");
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kDefinition;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  Write("definition.json", with("\"d // 2\"", "\"d // zero\""));
  EXPECT_EQ(ErrorOf(""), "definition.json: /axes/half/expression: zero is no axis");
  Write("definition.json", with("\"float32\"", "\"complex64\""));
  EXPECT_TRUE(ErrorOf("").starts_with(
      "definition.json: /inputs/x/dtype: is 'complex64', which hone does not know; it knows bfloat16, bool, "))
      << ErrorOf("");
  Write("definition.json", with("mean(-1)", "mean(-7)"));
  EXPECT_TRUE(ErrorOf("").starts_with("definition.json: line 5 of the reference: ")) << ErrorOf("");
  Write("definition.json", with(R"("mean": {"shape": ["n"])", R"("mean": {"shape": ["d"])"));
  EXPECT_EQ(ErrorOf(""), "definition.json: /outputs/mean: is f32 [64], and run() gives f32 [4]");
}

TEST_F(ImportersTest, ProgramsOfTorchExportImport) {
  const auto python = FindPython();
  if (!python || python->torch_version.starts_with("1.")) GTEST_SKIP() << "no Python with torch 2 is installed";
  Command command;
  command.argv = {testing::WarmPython(python->path), "-I", "-c", R"(
import sys, torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 16)
        self.register_buffer("mask", torch.tril(torch.ones(5, 5)))
        self.register_buffer("table", torch.arange(16.0), persistent=False)
    def forward(self, x, rows):
        return (self.mask @ torch.relu(self.linear(x)) + self.table)[rows]
torch.export.save(torch.export.export(Model(), (torch.rand(3, 5, 8), torch.tensor([0, 2])), strict=False), sys.argv[1])
)",
                  Path("program.pt2")};
  command.environment = InheritedEnvironment();
  const auto exit = hone::Run(command);
  ASSERT_TRUE(exit && exit->ok()) << (exit ? exit->error : exit.error().message);
  const auto problem = Imported("program.pt2");
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->Inputs().size(), 6u);
  EXPECT_EQ(problem->provenance.at("parameter table"), "table");  // a buffer that a module's saved state does not have
  EXPECT_EQ(problem->Outputs()[0]->shape, (Shape{2, 5, 16}));
  EXPECT_EQ(problem->Find("rows")->dtype, DType::kI64);
  EXPECT_TRUE(std::holds_alternative<FromFile>(problem->Find("mask")->generator));  // exact, with or without --weights
  EXPECT_TRUE(std::holds_alternative<Uniform>(problem->Find("linear_weight")->generator));
  ImportOptions options;
  options.weights = true;
  const auto exact = Imported("program.pt2", options);
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_TRUE(std::holds_alternative<FromFile>(exact->Find("linear_weight")->generator));
  Write("broken.pt2", "PK nonsense");
  EXPECT_TRUE(ErrorOf("broken.pt2").starts_with("broken.pt2: is no program that torch ")) << ErrorOf("broken.pt2");
}

TEST_F(ImportersTest, PlainGraphsGetDataOfTheirOwn) {
  Write("sum.json", R"({"tensors": [{"name": "x", "shape": [4, 8]}, {"name": "rows", "shape": [4], "dtype": "i64"},
    {"name": "y", "shape": [4], "role": "output"}], "graph": [
    {"op": "aten.sum.dim_IntList", "args": {"self": "%x", "dim": [1]}, "outputs": ["s"]},
    {"op": "aten.index_select.default", "args": {"self": "%s", "dim": 0, "index": "%rows"}, "outputs": ["y"]}]})");
  const auto problem = Imported("sum.json");
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->name, "sum");
  EXPECT_EQ(std::get<Normal>(problem->Find("x")->generator).deviation, 1);
  EXPECT_EQ(std::get<IntegerRange>(problem->Find("rows")->generator).high, 2);
  Write("bad.json", R"({"tensors": [{"name": "x", "shape": [4, "n"]}], "graph": [
    {"op": "aten.relu.default", "args": {"self": "%x"}, "outputs": ["y"]}]})");
  EXPECT_TRUE(ErrorOf("bad.json").starts_with("bad.json: /tensors/0/shape/1: ")) << ErrorOf("bad.json");
}

}  // namespace
}  // namespace hone
