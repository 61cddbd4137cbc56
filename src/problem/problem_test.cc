#include "problem/problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/process.h"

namespace hone {

extern const std::string_view kProblemSchema;  // docs/problem.schema.json

namespace {

constexpr char kGood[] = R"({
  "hone_problem": 1, "name": "row sum",
  "tensors": [
    {"name": "x", "shape": [4, 8], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
    {"name": "w", "shape": [8], "dtype": "bf16", "role": "parameter", "generator": {"kind": "normal", "mean": 0.5, "deviation": 2e-3}},
    {"name": "y", "shape": [4, 1], "dtype": "f32", "role": "output"}],
  "graph": [
    {"op": "aten.cat", "args": {"tensors": ["%x", "%x"], "dim": 0}, "outputs": ["c"]},
    {"op": "aten.clamp", "args": {"self": "%x", "min": {"real": "-inf"}, "max": 2.0}, "outputs": ["d"]},
    {"op": "aten.sum.dim_IntList", "args": {"self": "%d", "dim": [1], "keepdim": true, "dtype": null}, "outputs": ["y"]}],
  "contract": "fp32", "provenance": {"source": "a.py"}})";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ErrorOf(const std::string& text) {
  const auto problem = ParseProblem(text, "p.json");
  return problem ? "no error" : problem.error().message;
}

std::string ErrorWith(const std::string& from, const std::string& to) { return ErrorOf(Replaced(kGood, from, to)); }

TEST(ProblemTest, TheSchemaKnowsTheElementTypesOfTheTable) {
  auto known = nlohmann::json::array();
  for (const auto& row : kDTypes) known.push_back(row.name);
  EXPECT_EQ(nlohmann::json::parse(kProblemSchema)["$defs"]["dtype"]["enum"], known);
}

TEST(ProblemTest, ReadsWhatIsWritten) {
  const auto problem = ParseProblem(kGood, "p.json");
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->name, "row sum");
  EXPECT_EQ(problem->contract, Precision::kFp32);
  EXPECT_EQ(problem->Inputs().size(), 2u);
  EXPECT_EQ(problem->Outputs().size(), 1u);
  EXPECT_EQ(problem->Find("w")->dtype, DType::kBF16);
  EXPECT_EQ(std::get<Normal>(problem->Find("w")->generator).deviation, 2e-3);
  EXPECT_EQ(problem->Find("nobody"), nullptr);
  const auto& clamp = problem->nodes[1].arguments;
  EXPECT_EQ(std::get<double>(clamp.at("min").value), -HUGE_VAL);
  EXPECT_EQ(std::get<double>(clamp.at("max").value), 2.0);
  EXPECT_EQ(std::get<std::int64_t>(problem->nodes[0].arguments.at("dim").value), 0);
  EXPECT_EQ(std::get<TensorName>(std::get<ArgumentList>(problem->nodes[0].arguments.at("tensors").value)[1].value).name,
            "x");
}

TEST(ProblemTest, CanonicalTextIsAFixedPoint) {
  const auto problem = ParseProblem(kGood, "p.json");
  ASSERT_TRUE(problem);
  const auto text = ToJson(*problem);
  const auto again = ParseProblem(text, "q.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ToJson(*again), text);
}

TEST(ProblemTest, IdentityIgnoresNameAndOriginOnly) {
  const auto id = [](const std::string& text) { return Identity(ParseProblem(text, "p").value()); };
  const auto first = id(kGood);
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(id(Replaced(kGood, "row sum", "other")), first);
  EXPECT_EQ(id(Replaced(kGood, "a.py", "b.py")), first);
  EXPECT_NE(id(Replaced(kGood, "\"fp32\"", "\"bf16\"")), first);
  EXPECT_NE(id(Replaced(kGood, "2e-3", "2e-4")), first);
  EXPECT_NE(id(Replaced(kGood, "2.0", "2")), first);
}

TEST(ProblemTest, AnOutputMayBeWrittenIntoAnInputOfItsTypeAndShape) {
  const std::string output = R"("name": "y", "shape": [4, 1], "dtype": "f32", "role": "output")";
  const auto updating = [&](const std::string& input) {
    return Replaced(Replaced(kGood, output, output + ", \"updates\": \"" + input + "\""), R"({"name": "x", )",
                    R"({"name": "s", "shape": [4, 1], "dtype": "f32", "role": "input", )"
                    R"("generator": {"kind": "constant", "value": 0}}, {"name": "x", )");
  };
  const auto problem = ParseProblem(updating("s"), "p.json");
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->UpdateOf("s"), problem->Find("y"));
  EXPECT_EQ(problem->UpdateOf("x"), nullptr);
  EXPECT_EQ(ToJson(*ParseProblem(ToJson(*problem), "q")), ToJson(*problem));
  EXPECT_NE(Identity(*problem), Identity(*ParseProblem(Replaced(updating("s"), ", \"updates\": \"s\"", ""), "q")));
  EXPECT_EQ(ErrorOf(updating("w")),
            "p.json: /tensors/3/updates: w is no input; name the one whose memory y is written into");
  EXPECT_EQ(ErrorOf(updating("x")),
            "p.json: /tensors/3/updates: y is f32[4, 1] and x f32[4, 8]; one is written into the other, so "
            "they have to agree");
}

TEST(ProblemTest, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_TRUE(ErrorOf("{\n  \"a\": 1,\n  oops}").starts_with("p.json:3:3: not JSON: "))
      << ErrorOf("{\n  \"a\": 1,\n  oops}");
  EXPECT_TRUE(ErrorOf("").starts_with("p.json:1:1: not JSON: ")) << ErrorOf("");
  EXPECT_EQ(ErrorOf(std::string(100000, '[')), "p.json:1:65: brackets nest more than 64 deep");
}

TEST(ProblemTest, SchemaErrorsHaveAPointer) {
  EXPECT_EQ(ErrorWith("\"hone_problem\": 1", "\"hone_problem\": 2"),
            "p.json: /hone_problem: is version 2; this hone reads version 1");
  EXPECT_EQ(ErrorWith("\"low\": 0", "\"lo\": 0"), "p.json: /tensors/0/generator: lacks \"low\"");
  EXPECT_EQ(ErrorWith("\"uniform\"", "\"unicorn\""),
            "p.json: /tensors/0/generator/kind: is \"unicorn\"; known are uniform, normal, integer, constant, file");
  EXPECT_EQ(ErrorWith("\"role\": \"output\"", "\"role\": \"result\""),
            "p.json: /tensors/2/role: is \"result\"; known are input, parameter, output");
  EXPECT_EQ(ErrorWith("[4, 8]", "[4, -8]"), "p.json: /tensors/0/shape/1: is -8, less than 0");
  EXPECT_EQ(
      ErrorWith("bf16", "float"),
      "p.json: /tensors/1/dtype: is \"float\"; known are f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u8, "
      "bool");
  EXPECT_EQ(ErrorWith("\"name\": \"row sum\",", ""), "p.json: /: lacks \"name\"");
  EXPECT_EQ(ErrorWith("\"contract\"", "\"contrast\""),
            "p.json: /contrast: is not known here; known are contract, graph, hone_problem, name, provenance, tensors");
}

TEST(ProblemTest, NamesAndSizesAreChecked) {
  EXPECT_EQ(ErrorWith("\"name\": \"w\"", "\"name\": \"x\""),
            "p.json: /tensors/1/name: a second tensor is named x; names are unique");
  EXPECT_EQ(ErrorWith("\"%d\"", "\"%e\""),
            "p.json: /graph/2/args/self: %e is no input, parameter or result of an earlier node");
  EXPECT_EQ(ErrorWith("[\"d\"]", "[\"c\"]"), "p.json: /graph/1/outputs/0: c exists already; every value has one maker");
  EXPECT_EQ(ErrorWith("[\"y\"]", "[\"z\"]"),
            "p.json: /tensors/2: no node makes the output y; name it in the outputs of one");
  EXPECT_EQ(ErrorWith("[4, 8]", "[1048576, 1048577]"),
            "p.json: /tensors/0/shape: [1048576, 1048577] has more than 2^40 elements");
  EXPECT_TRUE(
      ErrorWith("\"name\": \"w\"", "\"name\": \"w w\"").starts_with("p.json: /tensors/1/name: \"w w\" is no name;"));
  EXPECT_EQ(ErrorWith("\"role\": \"output\"",
                      "\"role\": \"parameter\", \"generator\": {\"kind\": \"constant\", \"value\": \"nan\"}"),
            "p.json: /tensors: no tensor has the role output: nothing is to be computed");
}

TEST(ProblemTest, AMissingFileIsNotFound) {
  const auto problem = LoadProblem("/no/such/p.json");
  ASSERT_FALSE(problem);
  EXPECT_EQ(problem.error().kind, ErrorKind::kNotFound);
}

// An independent validator agrees with ours on the schema and on what is good and bad.
TEST(ProblemTest, PythonsValidatorAgrees) {
  const char* source = std::getenv("HONE_SOURCE");
  if (!source) GTEST_SKIP() << "HONE_SOURCE is not set";
  const auto python = [](std::vector<std::string> words, const std::string& input) {
    Command command;
    command.argv = std::move(words);
    command.argv.insert(command.argv.begin(), "/usr/bin/python3");
    command.environment = InheritedEnvironment();
    command.input = input;
    return hone::Run(command);
  };
  const auto present = python({"-c", "import jsonschema"}, "");
  if (!present || !present->ok()) GTEST_SKIP() << "python3-jsonschema is not installed";
  const auto check = [&](const std::string& text) {
    const auto exit = python({"-c",
                              "import json, sys, jsonschema\n"
                              "s = json.load(open(sys.argv[1]))\n"
                              "jsonschema.Draft202012Validator.check_schema(s)\n"
                              "v = jsonschema.Draft202012Validator(s)\n"
                              "print(v.is_valid(json.load(sys.stdin)))",
                              std::string(source) + "/docs/problem.schema.json"},
                             text);
    EXPECT_TRUE(exit && exit->ok()) << (exit ? exit->error : exit.error().message);
    return exit ? exit->output : "";
  };
  EXPECT_EQ(check(kGood), "True\n");
  EXPECT_EQ(check(ToJson(ParseProblem(kGood, "p").value())), "True\n");
  EXPECT_EQ(check(Replaced(kGood, "\"uniform\"", "\"unicorn\"")), "False\n");
  EXPECT_EQ(check(Replaced(kGood, "[4, 8]", "[4, -8]")), "False\n");
  EXPECT_EQ(check(Replaced(kGood, "\"-inf\"", "\"-fin\"")), "False\n");
  for (const auto& entry : std::filesystem::directory_iterator(std::string(source) + "/examples/problems")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    EXPECT_EQ(check({std::istreambuf_iterator<char>(file), {}}), "True\n") << entry.path();
    EXPECT_TRUE(LoadProblem(entry.path().string())) << entry.path();
  }
}

}  // namespace
}  // namespace hone
