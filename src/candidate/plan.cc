#include "candidate/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_schema.h"

namespace hone {

extern const std::string_view kPlanSchema;  // docs/plan.schema.json

namespace {

using nlohmann::json;
using NumberType = NumberArgument::Type;

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
      PlanSource one{source["name"], Text(source["text"]), source.value("flags", std::vector<std::string>())};
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
                      .shared_bytes = step.value("shared", std::int64_t{0})};
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
    for (const auto& argument : step["arguments"]) {
      const Scope scope(*this, "/arguments", launch.arguments.size());
      launch.arguments.push_back(Argument(argument));
    }
    return launch;
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
    TensorMapArgument map{from["buffer"], from.value("offset", std::int64_t{0}),
                          from["shape"],  from["strides"],
                          from["box"],    from.value("swizzle", 0)};
    if (map.strides.size() != map.shape.size() || map.box.size() != map.shape.size()) {
      Fail(fmt::format("{} extents, {} strides and {} box extents: give one a dimension", map.shape.size(),
                       map.strides.size(), map.box.size()));
    } else if (map.strides.back() != 1) {
      Fail(fmt::format("the last dimension has stride {}: the copy engine wants it dense", map.strides.back()));
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
    return {{"kind", "tensor_map"},    {"buffer", map->buffer}, {"offset", map->offset},  {"shape", map->shape},
            {"strides", map->strides}, {"box", map->box},       {"swizzle", map->swizzle}};
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

json ToJson(const Plan& plan, const PlanStep& step) {
  if (const auto* set = std::get_if<MemsetStep>(&step))
    return {{"do", "memset"}, {"buffer", set->buffer}, {"byte", set->byte}};
  const auto& launch = std::get<LaunchStep>(step);
  json out = {{"do", "launch"}, {"kernel", launch.kernel}, {"grid", launch.grid}, {"block", launch.block}};
  if (plan.sources.size() > 1) out["source"] = plan.sources[launch.source].name;
  if (launch.cluster != std::array<std::int64_t, 3>{1, 1, 1}) out["cluster"] = launch.cluster;
  if (launch.shared_bytes != 0) out["shared"] = launch.shared_bytes;
  out["arguments"] = json::array();
  for (const auto& argument : launch.arguments) out["arguments"].push_back(ToJson(argument));
  return out;
}

}  // namespace

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
  json out = {{"hone_plan", 1}, {"arch", plan.arch}, {"sources", json::array()}, {"steps", json::array()}};
  for (const auto& source : plan.sources) {
    json one = {{"name", source.name}, {"text", Lines(source.text)}};
    if (!source.flags.empty()) one["flags"] = source.flags;
    out["sources"].push_back(std::move(one));
  }
  for (const auto& buffer : plan.buffers)
    out["buffers"].push_back({{"name", buffer.name}, {"dtype", Name(buffer.dtype)}, {"shape", buffer.shape}});
  for (const auto& step : plan.prepare) out["prepare"].push_back(ToJson(plan, step));
  for (const auto& step : plan.steps) out["steps"].push_back(ToJson(plan, step));
  return out.dump(1) + "\n";
}

}  // namespace hone
