#include "candidate/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/json_schema.h"

namespace hone {

extern const std::string_view kPlanSchema;  // docs/plan.schema.json

namespace {

using nlohmann::json;
using NumberType = NumberArgument::Type;

constexpr std::string_view kComputeNames[] = {"f32", "tf32", "f16", "bf16", "f64"};
constexpr std::string_view kActivationNames[] = {"none", "relu", "gelu"};
constexpr std::string_view kNumberNames[] = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"};

std::string Text(const json& text) {
  if (text.is_string()) return text.get<std::string>();
  std::string lines;
  for (const auto& line : text) lines += line.get<std::string>() + '\n';
  return lines;
}

json Lines(std::string_view text) {
  if (!text.ends_with('\n')) return text;
  json lines = json::array();
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

class Reader {
 public:
  std::variant<Plan, PlanIssue> Read(const json& document) {
    plan_.arch = document.value("arch", plan_.arch);
    for (const auto& source : document["sources"]) {
      const Scope scope(*this, "/sources", plan_.sources.size());
      PlanSource one{source["name"], Text(source["text"]), source.value("flags", std::vector<std::string>()),
                     source.value("apart", false)};
      for (const auto& other : plan_.sources) {
        if (other.name == one.name) Fail(fmt::format("two sources are called '{}': give each its own name", one.name));
      }
      plan_.sources.push_back(std::move(one));
    }
    for (const auto& buffer : document.value("buffers", json::array())) {
      const Scope scope(*this, "/buffers", plan_.buffers.size());
      PlanBuffer one{buffer["name"], *ParseDType(buffer["dtype"].get<std::string>()), buffer["shape"]};
      for (const auto& other : plan_.buffers) {
        if (other.name == one.name) Fail(fmt::format("two buffers are called '{}': give each its own name", one.name));
      }
      plan_.buffers.push_back(std::move(one));
    }
    Steps(document.value("prepare", json::array()), "/prepare", plan_.prepare);
    Steps(document["steps"], "/steps", plan_.steps);
    if (!issue_.message.empty()) return std::move(issue_);
    return std::move(plan_);
  }

 private:
  // Where we are, for messages.
  struct Scope {
    Scope(Reader& owner, std::string_view list, std::size_t i) : reader(owner), length(owner.where_.size()) {
      reader.where_ += fmt::format("{}/{}", list, i);
    }
    ~Scope() { reader.where_.resize(length); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    Reader& reader;
    std::size_t length;
  };
  void Fail(std::string message) {
    if (issue_.message.empty()) issue_ = {where_, std::move(message)};
  }

  void Steps(const json& from, std::string_view list, std::vector<PlanStep>& steps) {
    for (const auto& step : from) {
      const Scope scope(*this, list, steps.size());
      if (step["do"] == "memset") {
        steps.emplace_back(MemsetStep{step["buffer"], step["byte"]});
      } else if (step["do"] == "cublaslt_matmul") {
        steps.emplace_back(Matmul(step));
      } else if (step["do"] == "cudnn_convolution") {
        steps.emplace_back(Convolution(step));
      } else {
        steps.emplace_back(Launch(step));
      }
    }
  }

  static std::array<std::int64_t, 3> Extents(const json& step, const char* name) {
    std::array<std::int64_t, 3> extents = {1, 1, 1};
    if (!step.contains(name)) return extents;
    std::copy(step[name].begin(), step[name].end(), extents.begin());
    return extents;
  }

  LaunchStep Launch(const json& step) {
    LaunchStep launch{.kernel = step["kernel"],
                      .grid = Extents(step, "grid"),
                      .block = Extents(step, "block"),
                      .cluster = Extents(step, "cluster"),
                      .shared_bytes = step.value("shared", std::int64_t{0}),
                      .together = step.value("together", std::int64_t{1})};
    if (step.contains("source")) {
      const std::string name = step["source"];
      const auto found = std::find_if(plan_.sources.begin(), plan_.sources.end(),
                                      [&](const PlanSource& source) { return source.name == name; });
      if (found == plan_.sources.end()) Fail(fmt::format("there is no source '{}'", name));
      launch.source = static_cast<std::size_t>(found - plan_.sources.begin());
    } else if (plan_.sources.size() > 1) {
      Fail(fmt::format("which source is '{}' in? Add \"source\"", launch.kernel));
    }
    for (std::size_t d = 0; d < 3; ++d) {
      if (launch.grid[d] % launch.cluster[d] != 0)
        Fail(fmt::format("a grid of {} blocks does not divide into clusters of {}", launch.grid[d], launch.cluster[d]));
    }
    if (launch.together > launch.grid[0] * launch.grid[1] * launch.grid[2])
      Fail(fmt::format("{} blocks that wait for each other, in a grid of fewer", launch.together));
    for (const auto& argument : step["arguments"]) {
      const Scope scope(*this, "/arguments", launch.arguments.size());
      launch.arguments.push_back(Argument(argument));
    }
    return launch;
  }

  template <std::size_t N>
  static int NumberOf(const std::string& word, const std::string_view (&words)[N]) {
    return static_cast<int>(std::find(std::begin(words), std::end(words), word) - std::begin(words));
  }
  // What both libraries' steps have.
  template <class Step>
  static void Common(const json& from, Step& step) {
    if (from.contains("bias"))
      step.bias = BufferArgument{from["bias"]["buffer"], from["bias"].value("offset", std::int64_t{0})};
    step.compute = static_cast<LibraryCompute>(NumberOf(from.value("compute", "f32"), kComputeNames));
    step.activation = static_cast<Activation>(NumberOf(from.value("activation", "none"), kActivationNames));
    step.algorithm = from.value("algorithm", 0);
    step.workspace = from.value("workspace", "");
  }

  static MatrixArgument Matrix(const json& from) {
    return {from["buffer"],
            from.value("offset", std::int64_t{0}),
            {from["strides"][0], from["strides"][1]},
            from.value("batch_stride", std::int64_t{0})};
  }

  MatmulStep Matmul(const json& from) {
    MatmulStep step{.m = from["m"],
                    .n = from["n"],
                    .k = from["k"],
                    .batch = from.value("batch", std::int64_t{1}),
                    .a = Matrix(from["a"]),
                    .b = Matrix(from["b"]),
                    .d = Matrix(from["d"])};
    if (from.contains("c")) step.c = Matrix(from["c"]);
    step.alpha = from.value("alpha", 1.0);
    step.beta = from.value("beta", 0.0);
    if ((step.beta != 0) != step.c.has_value())
      Fail(step.c ? "with \"c\" goes a \"beta\" that is not 0" : "with \"beta\" goes a matrix \"c\"");
    Common(from, step);
    return step;
  }

  StridedArgument Strided(const json& from, std::string_view name) {
    StridedArgument one{from["buffer"], from.value("offset", std::int64_t{0}), from["shape"], {}};
    if (from.contains("strides")) {
      one.strides = from["strides"].get<std::vector<std::int64_t>>();
    } else {
      one.strides.resize(one.shape.size());
      std::int64_t step = 1;
      for (std::size_t d = one.shape.size(); d-- > 0; step *= one.shape[d]) one.strides[d] = step;
    }
    if (one.strides.size() != one.shape.size())
      Fail(fmt::format("{}: {} extents and {} strides: give one a dimension", name, one.shape.size(),
                       one.strides.size()));
    return one;
  }

  ConvolutionStep Convolution(const json& from) {
    ConvolutionStep step{.x = Strided(from["x"], "x"), .w = Strided(from["w"], "w"), .y = Strided(from["y"], "y")};
    const std::size_t spatial = step.x.shape.size() - 2;
    if (step.w.shape.size() != spatial + 2 || step.y.shape.size() != spatial + 2)
      Fail("x, w and y differ in dimensions");
    for (const auto& [name, to, otherwise] :
         {std::tuple{"stride", &step.stride, 1}, {"padding", &step.padding, 0}, {"dilation", &step.dilation, 1}}) {
      *to = from.contains(name) ? from[name].get<std::vector<std::int64_t>>()
                                : std::vector<std::int64_t>(spatial, otherwise);
      if (to->size() != spatial)
        Fail(fmt::format("{} has {} numbers for {} spatial dimensions", name, to->size(), spatial));
    }
    step.groups = from.value("groups", std::int64_t{1});
    step.transposed = from.value("transposed", false);
    Common(from, step);
    return step;
  }

  PlanArgument Argument(const json& from) {
    const std::string kind = from["kind"];
    if (kind == "buffer") return BufferArgument{from["name"], from.value("offset", std::int64_t{0})};
    if (kind == "tensor_map") return TensorMap(from);
    NumberArgument number;
    number.type = static_cast<NumberType>(std::find(std::begin(kNumberNames), std::end(kNumberNames), kind) -
                                          std::begin(kNumberNames));
    const json& value = from["value"];
    if (kind[0] == 'f') {
      number.value = value == "inf"    ? HUGE_VAL
                     : value == "-inf" ? -HUGE_VAL
                     : value == "nan"  ? std::nan("")
                                       : value.get<double>();
    } else {
      const int bits = std::stoi(kind.substr(1));
      const bool fits = kind[0] == 'u'
                            ? value.is_number_unsigned() && (bits == 64 || value.get<std::uint64_t>() >> bits == 0)
                            : Fits(value, bits);
      if (!fits) Fail(fmt::format("{} is no {}", value.dump(), kind));
      if (kind[0] == 'u') {
        number.value = fits ? value.get<std::uint64_t>() : 0;
      } else {
        number.value = fits ? value.get<std::int64_t>() : 0;
      }
    }
    return number;
  }

  static bool Fits(const json& value, int bits) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) return false;
    const auto x = value.get<std::int64_t>();
    return bits == 64 || (x >> (bits - 1)) == 0 || (x >> (bits - 1)) == -1;
  }

  PlanArgument TensorMap(const json& from) {
    TensorMapArgument map{from["buffer"],
                          from.value("offset", std::int64_t{0}),
                          from["shape"],
                          from["strides"],
                          from["box"],
                          from.value("swizzle", 0),
                          from.value("promote", 256),
                          from.value("tf32", false)};
    if (from.contains("pixels")) return Pixels(from["pixels"], std::move(map));
    if (map.strides.size() != map.shape.size() || map.box.size() != map.shape.size()) {
      Fail(fmt::format("{} extents, {} strides and {} box extents: give one a dimension", map.shape.size(),
                       map.strides.size(), map.box.size()));
    } else if (map.strides.back() != 1) {
      Fail(fmt::format("the last dimension has stride {}: the copy engine wants it dense", map.strides.back()));
    }
    return map;
  }

  PlanArgument Pixels(const json& from, TensorMapArgument map) {
    const PixelWalk& walk = map.pixels.emplace(PixelWalk{from["lower"], from["upper"], from["stride"]});
    const std::size_t rank = map.shape.size(), spatial = walk.lower.size();
    if (rank < 3 || spatial + 2 != rank || walk.upper.size() != spatial || walk.stride.size() != spatial) {
      Fail(
          fmt::format("pixels of a tensor [n, spatial.., channels] of {} dimensions: give lower, upper and stride one "
                      "number a spatial dimension, one to three",
                      rank));
    } else if (map.strides.size() != rank || map.box.size() != 2) {
      Fail(fmt::format("{} strides and {} box extents: give {} strides, and pixels x channels", map.strides.size(),
                       map.box.size(), rank));
    } else if (map.strides.back() != 1) {
      Fail(fmt::format("the channels have stride {}: the copy engine wants them dense", map.strides.back()));
    }
    return map;
  }

  Plan plan_;
  std::string where_;
  PlanIssue issue_;
};

json ToJson(const PlanArgument& argument) {
  if (const auto* buffer = std::get_if<BufferArgument>(&argument)) {
    json out = {{"kind", "buffer"}, {"name", buffer->name}};
    if (buffer->offset != 0) out["offset"] = buffer->offset;
    return out;
  }
  if (const auto* map = std::get_if<TensorMapArgument>(&argument)) {
    json out = {{"kind", "tensor_map"},    {"buffer", map->buffer}, {"offset", map->offset},  {"shape", map->shape},
                {"strides", map->strides}, {"box", map->box},       {"swizzle", map->swizzle}};
    if (map->promote != 256) out["promote"] = map->promote;
    if (map->tf32) out["tf32"] = true;
    if (const auto& walk = map->pixels)
      out["pixels"] = {{"lower", walk->lower}, {"upper", walk->upper}, {"stride", walk->stride}};
    return out;
  }
  const auto& number = std::get<NumberArgument>(argument);
  json out = {{"kind", kNumberNames[static_cast<std::size_t>(number.type)]}};
  if (const auto* real = std::get_if<double>(&number.value)) {
    out["value"] = std::isnan(*real) ? json("nan") : std::isinf(*real) ? json(*real > 0 ? "inf" : "-inf") : json(*real);
  } else {
    std::visit([&](const auto& value) { out["value"] = value; }, number.value);
  }
  return out;
}

json ToJson(const MatrixArgument& matrix) {
  json out = {{"buffer", matrix.buffer}, {"strides", matrix.strides}};
  if (matrix.offset != 0) out["offset"] = matrix.offset;
  if (matrix.batch_stride != 0) out["batch_stride"] = matrix.batch_stride;
  return out;
}

template <class Step>
void AddCommon(const Step& step, json& out) {
  out["compute"] = kComputeNames[static_cast<std::size_t>(step.compute)];
  if (step.bias) {
    out["bias"] = {{"buffer", step.bias->name}};
    if (step.bias->offset != 0) out["bias"]["offset"] = step.bias->offset;
  }
  if (step.activation != Activation::kNone)
    out["activation"] = kActivationNames[static_cast<std::size_t>(step.activation)];
  if (step.algorithm != 0) out["algorithm"] = step.algorithm;
  if (!step.workspace.empty()) out["workspace"] = step.workspace;
}

json ToJson(const MatmulStep& step) {
  json out = {{"do", "cublaslt_matmul"}, {"m", step.m},         {"n", step.n},        {"k", step.k},
              {"a", ToJson(step.a)},     {"b", ToJson(step.b)}, {"d", ToJson(step.d)}};
  if (step.batch != 1) out["batch"] = step.batch;
  if (step.c) out["c"] = ToJson(*step.c);
  if (step.alpha != 1) out["alpha"] = step.alpha;
  if (step.beta != 0) out["beta"] = step.beta;
  AddCommon(step, out);
  return out;
}

json ToJson(const StridedArgument& tensor) {
  json out = {{"buffer", tensor.buffer}, {"shape", tensor.shape}, {"strides", tensor.strides}};
  if (tensor.offset != 0) out["offset"] = tensor.offset;
  return out;
}

json ToJson(const ConvolutionStep& step) {
  json out = {{"do", "cudnn_convolution"}, {"x", ToJson(step.x)},   {"w", ToJson(step.w)},
              {"y", ToJson(step.y)},       {"stride", step.stride}, {"padding", step.padding},
              {"dilation", step.dilation}, {"groups", step.groups}};
  if (step.transposed) out["transposed"] = true;
  AddCommon(step, out);
  return out;
}

json ToJson(const Plan& plan, const PlanStep& step) {
  if (const auto* matmul = std::get_if<MatmulStep>(&step)) return ToJson(*matmul);
  if (const auto* convolution = std::get_if<ConvolutionStep>(&step)) return ToJson(*convolution);
  if (const auto* set = std::get_if<MemsetStep>(&step))
    return {{"do", "memset"}, {"buffer", set->buffer}, {"byte", set->byte}};
  const auto& launch = std::get<LaunchStep>(step);
  json out = {{"do", "launch"}, {"kernel", launch.kernel}, {"grid", launch.grid}, {"block", launch.block}};
  if (plan.sources.size() > 1) out["source"] = plan.sources[launch.source].name;
  if (launch.cluster != std::array<std::int64_t, 3>{1, 1, 1}) out["cluster"] = launch.cluster;
  if (launch.shared_bytes != 0) out["shared"] = launch.shared_bytes;
  if (launch.together > 1) out["together"] = launch.together;
  out["arguments"] = json::array();
  for (const auto& argument : launch.arguments) out["arguments"].push_back(ToJson(argument));
  return out;
}

}  // namespace

bool CallsLibraries(const Plan& plan) {
  const auto any = [](const std::vector<PlanStep>& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const PlanStep& step) {
      return std::holds_alternative<MatmulStep>(step) || std::holds_alternative<ConvolutionStep>(step);
    });
  };
  return any(plan.prepare) || any(plan.steps);
}

std::variant<Plan, PlanIssue> ParsePlan(std::string_view text) {
  constexpr int kDeepest = 16;
  int depth = 0;
  json document;
  try {
    document = json::parse(text, [&](int level, json::parse_event_t, json&) {
      depth = std::max(depth, level);
      return level <= kDeepest;
    });
  } catch (const json::parse_error& error) {
    const std::string_view what = error.what();
    return PlanIssue{fmt::format("byte {}", error.byte), std::string(what.substr(what.rfind(": ") + 2))};
  }
  if (depth > kDeepest) return PlanIssue{"", fmt::format("brackets nest more than {} deep", kDeepest)};
  static const JsonSchema schema(kPlanSchema);
  if (auto issue = schema.Validate(document)) return PlanIssue{issue->pointer, issue->message};
  return Reader().Read(document);
}

std::string ToJson(const Plan& plan) {
  json out = {{"hone_plan", 1}, {"sources", json::array()}, {"steps", json::array()}};
  if (!plan.arch.empty()) out["arch"] = plan.arch;
  for (const auto& source : plan.sources) {
    json one = {{"name", source.name}, {"text", Lines(source.text)}};
    if (!source.flags.empty()) one["flags"] = source.flags;
    if (source.apart) one["apart"] = true;
    out["sources"].push_back(std::move(one));
  }
  for (const auto& buffer : plan.buffers)
    out["buffers"].push_back({{"name", buffer.name}, {"dtype", Name(buffer.dtype)}, {"shape", buffer.shape}});
  for (const auto& step : plan.prepare) out["prepare"].push_back(ToJson(plan, step));
  for (const auto& step : plan.steps) out["steps"].push_back(ToJson(plan, step));
  return out.dump(1) + "\n";
}

}  // namespace hone
