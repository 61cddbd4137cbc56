// hone new: a candidate to begin with. Without a problem it is a whole one, of a small problem that is written beside
// it; for a problem it has all but the body, and says so when it is run.
#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "candidate/plan.h"
#include "command/command.h"
#include "problem/import/import.h"
#include "problem/problem.h"

namespace hone::verb_new {
namespace {

namespace fs = std::filesystem;

constexpr Positional kPositionals[] = {
    {.name = "kind",
     .help = "module (C++), cuda (a module of CUDA C++), kernel (CUDA C++ with launch lines) or plan (JSON)"},
    {.name = "name", .help = "what it is called: NAME.cc, NAME.cu or NAME.json is written, and is not there yet"}};
constexpr Option kOptions[] = {
    {.name = "problem",
     .value = "PATH",
     .help =
         "what it shall compute: problem.json, or a KernelBench-style .py file (default: a relu, written beside it)",
     .reads = true},
    {.name = "python", .value = "PATH", .help = "interpreter with PyTorch, for a .py problem"}};

constexpr std::string_view kExampleProblem = R"({
  "hone_problem": 1,
  "name": "relu",
  "contract": "fp32",
  "tensors": [
    {"name": "x", "dtype": "f32", "shape": [512, 1024], "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "y", "dtype": "f32", "shape": [512, 1024], "role": "output"}
  ],
  "graph": [{"op": "aten.relu.default", "args": {"self": "%x"}, "outputs": ["y"]}]
}
)";

// The tensors as a source sees them.
struct Pointer {
  std::string name;   // of a variable
  std::string type;   // of an element: "float"
  std::string where;  // "inputs[0]"
  const Tensor* tensor = nullptr;
};

std::string_view TypeName(DType dtype, bool cuda) {
  return cuda && IsSmallFloat(dtype) ? RowOf(dtype).cuda : RowOf(dtype).cpp;
}

// A name that C++ takes, unlike all others in the sources below.
std::string VariableName(std::string_view tensor, std::set<std::string>& taken) {
  std::string name;
  for (const char c : tensor) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "t_");
  while (!taken.insert(name).second) name += '_';
  return name;
}

std::vector<Pointer> Pointers(const Problem& problem, bool cuda) {
  std::set<std::string> taken = {"call",  "i",    "n",      "stream", "int",   "float",  "double", "bool",
                                 "char",  "for",  "if",     "in",     "long",  "short",  "new",    "delete",
                                 "this",  "auto", "return", "static", "const", "blocks", "do",     "while",
                                 "class", "and",  "or",     "not",    "xor"};
  std::vector<Pointer> pointers;
  std::size_t counts[3] = {};
  for (const Role role : {Role::kInput, Role::kParameter, Role::kOutput}) {
    const char* list = role == Role::kInput ? "inputs" : role == Role::kParameter ? "parameters" : "outputs";
    for (const Tensor& tensor : problem.tensors) {
      if (tensor.role != role) continue;
      pointers.push_back({VariableName(tensor.name, taken), std::string(TypeName(tensor.dtype, cuda)),
                          fmt::format("{}[{}]", list, counts[static_cast<int>(role)]++), &tensor});
    }
  }
  return pointers;
}

bool IsOutput(const Pointer& pointer) { return pointer.tensor->role == Role::kOutput; }

std::string Describe(const Pointer& pointer) {
  const std::string& updates = pointer.tensor->updates;
  return fmt::format("{}{}{}", Name(pointer.tensor->dtype), ToString(pointer.tensor->shape),
                     updates.empty() ? "" : fmt::format(", which lies where {} does", updates));
}

// "const float* x = static_cast<const float*>(call->inputs[0].data);  // f32[512, 1024]"
std::string Unpacked(const std::vector<Pointer>& pointers) {
  std::string text;
  for (const Pointer& one : pointers) {
    const std::string type = (IsOutput(one) ? "" : "const ") + one.type;
    text += fmt::format("  [[maybe_unused]] {}* {} = static_cast<{}*>(call->{}.data);  // {}: {}\n", type, one.name,
                        type, one.where, one.tensor->name, Describe(one));
  }
  return text;
}

// "const float* x, float* y"
std::string Parameters(const std::vector<Pointer>& pointers) {
  std::string text;
  for (const Pointer& one : pointers)
    text += fmt::format("{}{}{}* {}", text.empty() ? "" : ", ", IsOutput(one) ? "" : "const ", one.type, one.name);
  return text;
}

std::string Names(const std::vector<Pointer>& pointers, bool of_tensors) {
  std::string text;
  for (const Pointer& one : pointers)
    text += fmt::format("{}{}", text.empty() ? "" : of_tensors ? "," : ", ", of_tensors ? one.tensor->name : one.name);
  return text;
}

std::string CudaHeaders(const std::vector<Pointer>& pointers) {
  std::string text;
  for (const DTypeRow& row : kDTypes) {
    const auto is = [&](const Pointer& one) { return one.tensor->dtype == row.dtype; };
    if (!row.cuda_header.empty() && std::any_of(pointers.begin(), pointers.end(), is))
      text += fmt::format("#include <{}>\n", row.cuda_header);
  }
  return text;
}

// What stands where the computation belongs.
struct Body {
  std::string of_module;  // in hone_run, before its return
  std::string result;     // what hone_run returns
  std::string of_kernel;  // of the thread that has element i of the first output, if i < n
};

constexpr std::string_view kToFillIn = "To be filled in: compute the outputs here.";

Body ExampleBody() {
  return {.of_module =
              "#pragma omp parallel for num_threads(call->threads)\n"
              "  for (long i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;\n",
          .result = "0",
          .of_kernel = "  if (i < n) y[i] = fmaxf(x[i], 0.0f);\n"};
}

Body EmptyBody() {
  return {
      .of_module = fmt::format("  // {}\n  // Until then 1 says that nothing was computed; 0 is success.\n", kToFillIn),
      .result = "1",
      .of_kernel =
          fmt::format("  if (i >= n) return;\n  // {} Until then they are refused as not written.\n", kToFillIn)};
}

std::string Module(const std::vector<Pointer>& pointers, std::int64_t n, const Body& body) {
  return fmt::format(R"(#include <hone/module.h>

#include <cstdint>

extern "C" int32_t hone_abi_version() {{ return HONE_ABI_VERSION; }}

extern "C" int32_t hone_run(const HoneCall* call) {{
{}  [[maybe_unused]] const long n = {};  // elements of the first output
{}  return {};
}}
)",
                     Unpacked(pointers), n, body.of_module, body.result);
}

std::string Kernel(std::string_view qualifiers, const std::vector<Pointer>& pointers, const Body& body) {
  return fmt::format(R"({}__global__ void compute({}, long n) {{
  const long i = blockIdx.x * 256l + threadIdx.x;  // an element of the first output
{}}}
)",
                     qualifiers, Parameters(pointers), body.of_kernel);
}

std::string CudaModule(const std::vector<Pointer>& pointers, std::int64_t n, const Body& body) {
  return fmt::format(R"(#include <hone/module.h>
{}
{}
extern "C" int32_t hone_abi_version() {{ return HONE_ABI_VERSION; }}

extern "C" int32_t hone_run(const HoneCall* call) {{
{}  const long n = {};  // elements of the first output
  compute<<<(n + 255) / 256, 256, 0, static_cast<cudaStream_t>(call->stream)>>>({}, n);
  return cudaGetLastError();
}}
)",
                     CudaHeaders(pointers), Kernel("", pointers, body), Unpacked(pointers), n, Names(pointers, false));
}

std::string KernelWithLaunchLine(const std::vector<Pointer>& pointers, const Body& body) {
  std::string tensors;
  for (const Pointer& one : pointers) tensors += fmt::format("// {}: {}\n", one.tensor->name, Describe(one));
  const std::string headers = CudaHeaders(pointers);
  return fmt::format("{}{}{}// hone: launch compute grid=(n+255)/256 block=256 args={},i64:n\n{}", headers,
                     headers.empty() ? "" : "\n", tensors, Names(pointers, true), Kernel("", pointers, body));
}

std::string PlanText(const std::vector<Pointer>& pointers, std::int64_t n, const Body& body) {
  LaunchStep step{.kernel = "compute", .grid = {(n + 255) / 256, 1, 1}, .block = {256, 1, 1}, .arguments = {}};
  for (const Pointer& one : pointers) step.arguments.emplace_back(BufferArgument{one.tensor->name});
  step.arguments.emplace_back(NumberArgument{NumberArgument::Type::kI64, n});
  Plan plan;
  plan.sources.push_back(
      {.name = "compute.cu", .text = CudaHeaders(pointers) + Kernel("extern \"C\" ", pointers, body), .flags = {}});
  plan.steps.emplace_back(std::move(step));
  return ToJson(plan);
}

Result<void> WriteNew(const std::string& path, std::string_view text) {
  std::error_code ignored;
  if (fs::exists(path, ignored))
    return Fail(ErrorKind::kUsage, fmt::format("{} is there already: choose another name", path));
  return WriteFileAtomically(path, text);
}

Result<Answer> RunIt(VerbCall& call) {
  const std::string kind = call.Text("kind"), name = call.Text("name");
  std::string problem_path = call.Text("problem");
  const bool example = problem_path.empty();
  const std::string suffix = kind == "module" ? ".cc" : kind == "plan" ? ".json" : ".cu";
  if (kind != "module" && kind != "cuda" && kind != "kernel" && kind != "plan")
    return Fail(ErrorKind::kUsage, fmt::format("{}: a candidate is a module, cuda, a kernel or a plan", kind));
  ImportOptions import;
  import.python = call.Text("python");
  const Problem problem =
      HONE_TRY(example ? ParseProblem(std::string(kExampleProblem), "the example") : Import(problem_path, import));

  const auto pointers = Pointers(problem, kind != "module");
  const std::int64_t n = ElementCount(problem.Outputs().front()->shape);
  const Body body = example ? ExampleBody() : EmptyBody();
  const std::string path = name + suffix;
  const std::string text = kind == "module"   ? Module(pointers, n, body)
                           : kind == "cuda"   ? CudaModule(pointers, n, body)
                           : kind == "kernel" ? KernelWithLaunchLine(pointers, body)
                                              : PlanText(pointers, n, body);
  HONE_TRY(WriteNew(path, text));
  if (example) {
    problem_path = name + ".problem.json";
    HONE_TRY(WriteNew(problem_path, kExampleProblem));
  }
  std::string said = fmt::format("{}: {}\n", path, example ? "computes relu as it is" : "its body is to be filled in");
  said += fmt::format("next  {} evaluate {} {}\n", ProgramAsTyped(), problem_path, path);
  return Answer({{"candidate", path}, {"problem", problem_path}, {"complete", example}}, said);
}

}  // namespace

HONE_ROW(Verb){
    .name = "new",
    .doc = "Write a kernel of your own to begin with, that compiles and is judged as it is",
    .group = VerbGroup::kKernels,
    .place = 1,
    .help =
        "Without --problem it is a whole candidate, of a relu that is written beside it as NAME.problem.json. For a\n"
        "problem it has the tensors with their names, types and shapes, and a body to fill in; until that is done, it\n"
        "is refused.\n"
        "\n"
        "  hone new module first\n"
        "  hone new kernel fast_softmax --problem softmax.json\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json = "candidate and problem (paths), complete (false: the body is to be filled in)",
    .run = RunIt,
};

}  // namespace hone::verb_new
