// A Problem: what shall be computed, on which data, how accurately, and where it came from. The in-memory form of
// problem.json (docs/problem.md). A plain value: copy it, share it, no thread rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace hone {

using Shape = std::vector<std::int64_t>;
std::int64_t ElementCount(const Shape& shape);  // 1 for a scalar, 0 if any extent is 0
std::string ToString(const Shape& shape);       // "[4, 1024]"
// Of elements that lie in rows without gaps: the last dimension's is 1.
std::vector<std::int64_t> DenseStrides(const Shape& shape);

enum class Role { kInput, kParameter, kOutput };

// How the elements of an input or a parameter are drawn. Reals are drawn in double and rounded to the tensor's type.
struct Uniform {
  double low = 0, high = 1;
};  // real, low <= x < high
struct Normal {
  double mean = 0, deviation = 1;
};
struct IntegerRange {
  std::int64_t low = 0, high = 2;
};  // low <= x < high, any type
struct Constant {
  double value = 0;
};
struct FromFile {
  std::string path, tensor;
};  // safetensors file, relative to problem.json
using Generator = std::variant<Uniform, Normal, IntegerRange, Constant, FromFile>;

struct Tensor {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
  Role role = Role::kInput;
  Generator generator = Uniform{};  // unused for an output
  // Of an output: the input whose memory it is written into, of the same shape and type, as a cache is. Empty: it has
  // memory of its own.
  std::string updates = {};
  std::int64_t bytes() const { return ElementCount(shape) * static_cast<std::int64_t>(Bytes(dtype)); }
};

// The value of an operator's argument, by the name that its ATen schema gives it.
struct Argument;
struct TensorName {
  std::string name;
};  // written "%name" in JSON
using ArgumentList = std::vector<Argument>;
struct Argument {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, TensorName, ArgumentList> value;
};

// One operator call: op is an ATen name with or without namespace and overload ("relu", "aten.sum.dim_IntList").
struct Node {
  std::string op;
  std::map<std::string, Argument> arguments;
  std::vector<std::string> outputs;  // names of the values that it makes, unique in the problem; "" = not used
};

// How accurate a result has to be (design: the error budget is measured). kTorch: each op at the precision that
// PyTorch's defaults give it on the target; on a CPU that is fp32 throughout, on a CUDA device convolutions and
// recurrent layers multiply in tf32.
enum class Precision { kTorch, kFp64, kFp32, kTf32, kBf16, kFp16 };
bool TorchMultipliesInTf32(const Node& node);  // on a CUDA device, where its operands are f32
std::string_view Name(Precision precision);
std::optional<Precision> ParsePrecision(std::string_view name);

struct Problem {
  std::string name;
  std::vector<Tensor> tensors;  // inputs, parameters and outputs, each group in call order
  std::vector<Node> nodes;      // in an order in which every value is made before it is used
  Precision contract = Precision::kTorch;
  // source (path of the .py file: in a problem.json from its folder, in memory from ours), source_sha256, importer, ...
  std::map<std::string, std::string> provenance;
  std::string folder;  // where problem.json lay: FromFile paths are relative to it; not part of the identity

  std::vector<const Tensor*> Inputs() const;  // role input and parameter, in the order of a module's arguments
  std::vector<const Tensor*> Outputs() const;
  const Tensor* Find(std::string_view name) const;       // nullptr if there is none
  const Tensor* UpdateOf(std::string_view input) const;  // the output that is written into it; nullptr if none is
};

// Reading checks the schema, names and shapes' signs; whether the graph makes sense is Graph::Create's to say.
Result<Problem> ParseProblem(const std::string& json_text, const std::string& where);
Result<Problem> LoadProblem(const std::string& path);
std::string ToJson(const Problem& problem);  // canonical, so that equal problems are equal bytes; ends in a newline

// SHA-256 of what is computed, on which data and how accurately: not of the name or the provenance.
std::string Identity(const Problem& problem);

}  // namespace hone
