#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "report/export.h"

namespace hone {

extern const std::string_view kPythonCuda;

namespace {

constexpr std::string_view kPlan = R"json({
  "hone_plan": 1, "arch": "sm_90a",
  "sources": [{"name": "twice.cu", "text": [
    "extern \"C\" __global__ void twice(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }"]}],
  "steps": [{"do": "launch", "kernel": "twice", "grid": [1], "block": [64], "arguments": [
    {"kind": "buffer", "name": "x"}, {"kind": "buffer", "name": "y"}]}]
})json";

ExportMaterial Material() {
  ExportMaterial material;
  material.problem.name = "rms_norm_h64";
  material.problem.tensors = {{"x", {64}}, {"y", {64}}};
  material.problem.tensors[1].role = Role::kOutput;
  material.problem.provenance = {{"importer", "definition"}, {"constant arguments", "eps = 1e-06"}};
  material.plan = kPlan;
  material.run.id = "3fa21c";
  material.attempt.number = 7;
  material.processor = "NVIDIA H200";
  material.hone_version = "1";
  return material;
}

Result<std::vector<ExportedFile>> Export(const ExportMaterial& material) {
  const auto form = FindExportForm("flashinfer");
  if (!form) return tl::unexpected<Error>(form.error());
  return (*form)->write(material);
}

// The schema's fields, as FlashInfer-Bench names them.
TEST(FlashInferTest, ASolutionHasTheFieldsOfItsSchema) {
  const auto files = Export(Material());
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(files->front().path, "solution.json");
  const auto solution = nlohmann::json::parse(files->front().content);
  EXPECT_EQ(solution["name"], "hone_rms_norm_h64_3fa21c_7");
  EXPECT_EQ(solution["definition"], "rms_norm_h64");
  EXPECT_EQ(solution["author"], "hone 1");
  const auto& spec = solution["spec"];
  EXPECT_EQ(spec["language"], "python");
  EXPECT_EQ(spec["target_hardware"], nlohmann::json::array({"NVIDIA H200"}));
  EXPECT_EQ(spec["destination_passing_style"], false);
  EXPECT_EQ(spec["dependencies"], nlohmann::json::array({"torch"}));
  const std::string entry = spec["entry_point"], path = solution["sources"][0]["path"];
  EXPECT_EQ(entry, path + "::run");
  const std::string source = solution["sources"][0]["content"];
  EXPECT_NE(source.find("\ndef run("), std::string::npos);
  EXPECT_NE(source.find("class ModelNew("), std::string::npos);
}

TEST(FlashInferTest, RunTakesTheDefinitionsInputsByPlaceOrByName) {
  if (std::system("python3 -c '' 2> /dev/null") != 0) GTEST_SKIP() << "no python3";
  const auto files = Export(Material());
  ASSERT_TRUE(files);
  const std::string source = nlohmann::json::parse(files->front().content)["sources"][0]["content"];
  const auto scratch = TempDirectory::Create("flashinfer");
  ASSERT_TRUE(scratch);
  // Without a device: what would launch says what it was called with.
  const std::string script =
      "import contextlib, functools, inspect, sys, types\n"
      "class Tensor: ...\n"
      "torch = types.SimpleNamespace(Tensor=Tensor, no_grad=contextlib.nullcontext)\n"
      "hone_constant_arguments = 'eps = 1e-06'\n" +
      std::string(kPythonCuda) +
      "\nclass ModelNew:\n    def forward(self, *inputs): ...\n"
      "def hone_run(model, arguments, names):\n"
      "    numbers = hone_numbers(type(model).forward, hone_flatten(arguments), names)\n"
      "    return len(arguments), numbers == hone_constant_arguments\n" +
      source.substr(source.find("\nimport re\n")) +
      "\nassert run(Tensor(), 1e-06) == (2, True)\n"
      "assert run(x=Tensor(), eps=1e-06) == (2, True)\n"
      "assert run(Tensor(), 1e-05) == (2, False)\n"
      "assert run(Tensor()) == (1, False)\n";
  ASSERT_TRUE(WriteFileAtomically(scratch->path() + "/main.py", script));
  EXPECT_EQ(std::system(("python3 " + scratch->path() + "/main.py").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(scratch->path() + "/whole.py", source));
  EXPECT_EQ(std::system(("python3 -m py_compile " + scratch->path() + "/whole.py").c_str()), 0);
}

TEST(FlashInferTest, WhatIsOfNoDefinitionIsRefusedWithTheMend) {
  ExportMaterial material = Material();
  material.problem.provenance["importer"] = "kernelbench_py";
  EXPECT_NE(Export(material).error().message.find("--form kernelbench"), std::string::npos);
  material = Material();
  material.plan.clear();
  EXPECT_NE(Export(material).error().message.find("--target cuda"), std::string::npos);
  material = Material();
  material.problem.tensors[1].updates = "x";
  EXPECT_NE(Export(material).error().message.find("y is written into x"), std::string::npos);
  material = Material();
  material.problem.tensors.push_back({"weight", {64}});
  material.problem.tensors.back().role = Role::kParameter;
  EXPECT_NE(Export(material).error().message.find("--form bundle"), std::string::npos);
}

}  // namespace
}  // namespace hone
