// problem.json: read, checked, and written in one canonical form.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/json_schema.h"
#include "base/json_text.h"
#include "base/sha256.h"
#include "problem/problem.h"

namespace hone {

extern const std::string_view kProblemSchema;  // docs/problem.schema.json

namespace {

using nlohmann::json;

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
constexpr int kDeepest = 64;  // nested brackets: reading recurses
constexpr std::size_t kLongestName = 200;

// Where a byte of the text is, as an editor counts.
std::string LineAndColumn(std::string_view text, std::size_t byte) {
  const auto before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto newline = before.rfind('\n');
  const auto column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return fmt::format("{}:{}", line, column);
}

// What quotes a text of the file can be as long as that: the middle goes, the beginning says what, the end the mend.
std::string Shortened(const std::string& text) {
  constexpr std::size_t kHead = 220, kTail = 140;
  if (text.size() <= kHead + kTail + 5) return text;
  const auto boundary = [&](std::size_t at) {  // not within a character
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    return at;
  };
  return text.substr(0, boundary(kHead)) + " ... " + text.substr(boundary(text.size() - kTail));
}

// The byte at which brackets nest too deep, or npos.
std::size_t TooDeepAt(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

bool IsIdentifier(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

double Nonfinite(std::string_view text) {
  if (text == "inf") return HUGE_VAL;
  return text == "-inf" ? -HUGE_VAL : std::nan("");
}

class Reader {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  Result<Problem> Read(const json& document) {
    Problem problem;
    problem.name = document["name"].get<std::string>();
    if (document.contains("contract")) problem.contract = *ParsePrecision(document["contract"].get<std::string>());
    if (document.contains("provenance")) {
      problem.provenance = document["provenance"].get<std::map<std::string, std::string>>();
    }
    std::set<std::string, std::less<>> tensor_names, made;
    for (std::size_t i = 0; i < document["tensors"].size(); ++i) {
      const auto at = fmt::format("/tensors/{}", i);
      auto tensor = HONE_TRY(ReadTensor(document["tensors"][i], at));
      if (!tensor_names.insert(tensor.name).second) {
        return Wrong(at + "/name", fmt::format("a second tensor is named {}; names are unique", tensor.name));
      }
      if (tensor.role != Role::kOutput) made.insert(tensor.name);
      problem.tensors.push_back(std::move(tensor));
    }
    if (problem.Outputs().empty()) return Wrong("/tensors", "no tensor has the role output: nothing is to be computed");
    for (std::size_t i = 0; i < document["graph"].size(); ++i) {
      const auto at = fmt::format("/graph/{}", i);
      const auto& row = document["graph"][i];
      Node node;
      node.op = row["op"].get<std::string>();
      for (const auto& [name, value] : row["args"].items()) {
        node.arguments[name] = HONE_TRY(ReadArgument(value, at + "/args/" + name, made));
      }
      bool used = false;
      for (std::size_t k = 0; k < row["outputs"].size(); ++k) {
        auto name = row["outputs"][k].get<std::string>();
        const auto here = fmt::format("{}/outputs/{}", at, k);
        if (!name.empty()) {
          used = true;
          HONE_TRY(CheckName(name, here));
          if (!made.insert(name).second)
            return Wrong(here, fmt::format("{} exists already; every value has one maker", name));
        }
        node.outputs.push_back(std::move(name));
      }
      if (!used) return Wrong(at + "/outputs", "names nothing; drop the node or name what it makes");
      problem.nodes.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
      const auto& tensor = problem.tensors[i];
      if (tensor.role == Role::kOutput && !made.contains(tensor.name)) {
        return Wrong(fmt::format("/tensors/{}", i),
                     fmt::format("no node makes the output {}; name it in the outputs of one", tensor.name));
      }
      if (!tensor.updates.empty()) HONE_TRY(CheckUpdate(problem, tensor, fmt::format("/tensors/{}/updates", i)));
    }
    return problem;
  }

  tl::unexpected<Error> Wrong(const std::string& pointer, const std::string& what) const {
    return Fail(ErrorKind::kUsage,
                fmt::format("{}: {}: {}", where_, pointer.empty() ? "/" : Shortened(pointer), Shortened(what)));
  }

 private:
  Result<void> CheckName(const std::string& name, const std::string& at) const {
    if (IsIdentifier(name)) return {};
    return Wrong(at, fmt::format("{} is no name; use letters, digits and _, no digit first, at most {} characters",
                                 JsonText(json(name)), kLongestName));
  }

  Result<void> CheckUpdate(const Problem& problem, const Tensor& tensor, const std::string& at) const {
    const Tensor* input = problem.Find(tensor.updates);
    if (!input || input->role != Role::kInput) {
      return Wrong(
          at, fmt::format("{} is no input; name the one whose memory {} is written into", tensor.updates, tensor.name));
    }
    if (input->shape != tensor.shape || input->dtype != tensor.dtype) {
      return Wrong(at, fmt::format("{} is {}{} and {} {}{}; one is written into the other, so they have to agree",
                                   tensor.name, Name(tensor.dtype), ToString(tensor.shape), input->name,
                                   Name(input->dtype), ToString(input->shape)));
    }
    if (problem.UpdateOf(tensor.updates) != &tensor) {
      return Wrong(at, fmt::format("a second output is written into {}; one is at most", tensor.updates));
    }
    return {};
  }

  Result<Tensor> ReadTensor(const json& row, const std::string& at) const {
    Tensor tensor;
    tensor.name = row["name"].get<std::string>();
    HONE_TRY(CheckName(tensor.name, at + "/name"));
    tensor.dtype = *ParseDType(row["dtype"].get<std::string>());
    const auto role = row["role"].get<std::string>();
    tensor.role = role == "input" ? Role::kInput : role == "parameter" ? Role::kParameter : Role::kOutput;
    std::int64_t count = 1;
    for (const auto& item : row["shape"]) {
      const auto extent = item.get<std::int64_t>();
      tensor.shape.push_back(extent);
      if (extent > 0 && count > kMostElements / extent) {
        return Wrong(at + "/shape", fmt::format("{} has more than 2^40 elements", ToString(ShapeOf(row))));
      }
      count *= std::max<std::int64_t>(extent, 1);
    }
    if (tensor.role != Role::kOutput) tensor.generator = HONE_TRY(ReadGenerator(row["generator"], at + "/generator"));
    if (row.contains("updates")) tensor.updates = row["updates"].get<std::string>();
    return tensor;
  }

  static Shape ShapeOf(const json& row) {
    Shape shape;
    for (const auto& item : row["shape"]) shape.push_back(item.get<std::int64_t>());
    return shape;
  }

  Result<Generator> ReadGenerator(const json& row, const std::string& at) const {
    const auto kind = row["kind"].get<std::string>();
    if (kind == "uniform") {
      const Uniform uniform{row["low"].get<double>(), row["high"].get<double>()};
      if (!(uniform.low < uniform.high)) return Wrong(at, "low is not less than high; use constant for one value");
      return uniform;
    }
    if (kind == "normal") return Normal{row["mean"].get<double>(), row["deviation"].get<double>()};
    if (kind == "integer") {
      for (const char* name : {"low", "high"}) {
        if (!FitsInt64(row[name])) return Wrong(at + "/" + name, "does not fit 64 bits");
      }
      const IntegerRange range{row["low"].get<std::int64_t>(), row["high"].get<std::int64_t>()};
      if (range.low >= range.high) return Wrong(at, "low is not less than high; high itself is not drawn");
      return range;
    }
    if (kind == "constant") {
      const auto& value = row["value"];
      return Constant{value.is_string() ? Nonfinite(value.get<std::string>()) : value.get<double>()};
    }
    return FromFile{row["path"].get<std::string>(), row["tensor"].get<std::string>()};
  }

  static bool FitsInt64(const json& value) {
    if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
    return value.is_number_integer() || std::abs(value.get<double>()) < 9.2e18;
  }

  Result<Argument> ReadArgument(const json& value, const std::string& at,
                                const std::set<std::string, std::less<>>& made) const {
    if (value.is_null()) return Argument{};
    if (value.is_boolean()) return Argument{value.get<bool>()};
    if (value.is_number_integer()) {
      if (!FitsInt64(value)) return Wrong(at, "does not fit 64 bits; write it as a real, such as 1e20");
      return Argument{value.get<std::int64_t>()};
    }
    if (value.is_number_float()) return Argument{value.get<double>()};
    if (value.is_object()) return Argument{Nonfinite(value["real"].get<std::string>())};
    if (value.is_string()) {
      auto text = value.get<std::string>();
      if (!text.starts_with('%')) return Argument{std::move(text)};
      text.erase(0, 1);
      if (!made.contains(text)) {
        return Wrong(at, fmt::format("%{} is no input, parameter or result of an earlier node", text));
      }
      return Argument{TensorName{std::move(text)}};
    }
    ArgumentList list;
    for (std::size_t i = 0; i < value.size(); ++i) {
      list.push_back(HONE_TRY(ReadArgument(value[i], fmt::format("{}/{}", at, i), made)));
    }
    return Argument{std::move(list)};
  }

  const std::string& where_;
};

std::string Quoted(std::string_view text) { return JsonText(json(text)); }

// The shortest text that reads back as the same double. `whole` keeps 2.0 apart from the integer 2.
std::string RealText(double value, bool whole) {
  auto text = fmt::format("{}", value);
  if (whole && text.find_first_of(".e") == std::string::npos) text += ".0";
  if (!whole && text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string_view NonfiniteText(double value) {
  return std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"";
}

std::string Text(const Argument& argument) {
  struct Write {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const {
      if (!std::isfinite(value)) return fmt::format("{{\"real\": {}}}", NonfiniteText(value));
      return RealText(value, true);
    }
    std::string operator()(const std::string& value) const { return Quoted(value); }
    std::string operator()(const TensorName& value) const { return Quoted("%" + value.name); }
    std::string operator()(const ArgumentList& list) const {
      std::string text;
      for (const auto& item : list) text += (text.empty() ? "" : ", ") + Text(item);
      return "[" + text + "]";
    }
  };
  return std::visit(Write{}, argument.value);
}

std::string Text(const Generator& generator) {
  struct Write {
    std::string operator()(const Uniform& g) const {
      return fmt::format(R"({{"kind": "uniform", "low": {}, "high": {}}})", RealText(g.low, false),
                         RealText(g.high, false));
    }
    std::string operator()(const Normal& g) const {
      return fmt::format(R"({{"kind": "normal", "mean": {}, "deviation": {}}})", RealText(g.mean, false),
                         RealText(g.deviation, false));
    }
    std::string operator()(const IntegerRange& g) const {
      return fmt::format(R"({{"kind": "integer", "low": {}, "high": {}}})", g.low, g.high);
    }
    std::string operator()(const Constant& g) const {
      return fmt::format(R"({{"kind": "constant", "value": {}}})",
                         std::isfinite(g.value) ? RealText(g.value, false) : std::string(NonfiniteText(g.value)));
    }
    std::string operator()(const FromFile& g) const {
      return fmt::format(R"({{"kind": "file", "path": {}, "tensor": {}}})", Quoted(g.path), Quoted(g.tensor));
    }
  };
  return std::visit(Write{}, generator);
}

std::string_view RoleText(Role role) {
  return role == Role::kInput ? "input" : role == Role::kParameter ? "parameter" : "output";
}

std::string Write(const Problem& problem, bool with_origin) {
  std::string text = "{\n  \"hone_problem\": 1,\n";
  text += fmt::format("  \"name\": {},\n  \"contract\": \"{}\",\n", Quoted(with_origin ? problem.name : "-"),
                      Name(problem.contract));
  if (with_origin && !problem.provenance.empty()) {
    std::string rows;
    for (const auto& [key, value] : problem.provenance) {
      rows += fmt::format("{}    {}: {}", rows.empty() ? "" : ",\n", Quoted(key), Quoted(value));
    }
    text += fmt::format("  \"provenance\": {{\n{}\n  }},\n", rows);
  }
  std::string rows;
  for (const auto& tensor : problem.tensors) {
    rows += fmt::format(R"({}    {{"name": {}, "shape": {}, "dtype": "{}", "role": "{}")", rows.empty() ? "" : ",\n",
                        Quoted(tensor.name), ToString(tensor.shape), Name(tensor.dtype), RoleText(tensor.role));
    if (tensor.role != Role::kOutput) rows += ", \"generator\": " + Text(tensor.generator);
    if (!tensor.updates.empty()) rows += ", \"updates\": " + Quoted(tensor.updates);
    rows += "}";
  }
  text += fmt::format("  \"tensors\": [\n{}\n  ],\n", rows);
  rows.clear();
  for (const auto& node : problem.nodes) {
    std::string arguments, outputs;
    for (const auto& [name, value] : node.arguments) {
      arguments += fmt::format("{}{}: {}", arguments.empty() ? "" : ", ", Quoted(name), Text(value));
    }
    for (const auto& name : node.outputs) outputs += fmt::format("{}{}", outputs.empty() ? "" : ", ", Quoted(name));
    rows += fmt::format(R"({}    {{"op": {}, "args": {{{}}}, "outputs": [{}]}})", rows.empty() ? "" : ",\n",
                        Quoted(node.op), arguments, outputs);
  }
  text += fmt::format("  \"graph\": [\n{}\n  ]\n}}\n", rows);
  return text;
}

}  // namespace

Result<Problem> ParseProblem(const std::string& json_text, const std::string& where) {
  if (const auto deep = TooDeepAt(json_text); deep != std::string::npos) {
    return Fail(ErrorKind::kUsage,
                fmt::format("{}:{}: brackets nest more than {} deep", where, LineAndColumn(json_text, deep), kDeepest));
  }
  json document;
  try {
    document = json::parse(json_text);
  } catch (const json::exception& exception) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while ...": the words after the
    // place.
    std::string what = exception.what();
    if (const auto colon = what.find(": "); colon != std::string::npos) what.erase(0, colon + 2);
    std::replace(what.begin(), what.end(), '\n', ' ');
    std::size_t byte = 0;
    if (const auto* parse = dynamic_cast<const json::parse_error*>(&exception)) {
      byte = parse->byte > 0 ? parse->byte - 1 : 0;
    } else if (const auto quote = what.find('\''); quote != std::string::npos) {
      // "[json.exception.out_of_range.406] number overflow parsing '1e400'": has no place.
      const auto found = json_text.find(what.substr(quote + 1, what.rfind('\'') - quote - 1));
      if (found != std::string::npos) byte = found;
    }
    if (const auto bracket = what.find("] "); what.starts_with('[') && bracket != std::string::npos) {
      what.erase(0, bracket + 2);
    }
    return Fail(ErrorKind::kUsage,
                fmt::format("{}:{}: not JSON: {}", where, LineAndColumn(json_text, byte), Shortened(what)));
  }
  const Reader reader(where);
  if (document.is_object() && document.contains("hone_problem") && document["hone_problem"].is_number_integer() &&
      document["hone_problem"] != 1) {
    return reader.Wrong("/hone_problem",
                        fmt::format("is version {}; this hone reads version 1", document["hone_problem"].dump()));
  }
  static const JsonSchema schema(kProblemSchema);
  if (const auto issue = schema.Validate(document)) return reader.Wrong(issue->pointer, issue->message);
  return Reader(where).Read(document);
}

Result<Problem> LoadProblem(const std::string& path) {
  const auto text = HONE_TRY(ReadFile(path));
  auto problem = HONE_TRY(ParseProblem(text, path));
  problem.folder = std::filesystem::path(path).parent_path().string();
  // Its file is named from the problem's folder; older ones name it from where they were imported.
  if (const auto source = problem.provenance.find("source"); source != problem.provenance.end()) {
    std::error_code ignored;
    const auto beside = (std::filesystem::path(problem.folder) / source->second).lexically_normal();
    if (std::filesystem::exists(beside, ignored)) source->second = beside.string();
  }
  return problem;
}

std::string ToJson(const Problem& problem) { return Write(problem, true); }

std::string Identity(const Problem& problem) {
  // Data in files count by their content, wherever they lie.
  Problem copy = problem;
  std::map<std::string, std::string> hashes;
  for (auto& tensor : copy.tensors) {
    auto* file = std::get_if<FromFile>(&tensor.generator);
    if (tensor.role == Role::kOutput || !file) continue;
    auto& hash = hashes[file->path];
    if (hash.empty()) {
      hash = Sha256OfFile((std::filesystem::path(problem.folder) / file->path).string()).value_or(file->path);
    }
    file->path = hash;
  }
  return Sha256(Write(copy, false));
}

}  // namespace hone
