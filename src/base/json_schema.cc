#include "base/json_schema.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/check.h"
#include "base/json_text.h"

namespace hone {
namespace {

using nlohmann::json;

const std::set<std::string, std::less<>> kKeywords = {
    "$schema",  "$id",      "$defs",   "$ref",    "$comment",   "title",    "description",          "examples",
    "default",  "type",     "const",   "enum",    "properties", "required", "additionalProperties", "items",
    "minItems", "maxItems", "minimum", "maximum", "minLength",  "oneOf"};

// Every keyword of a schema is one that Validator knows, all the way down.
void CheckKeywords(const json& schema) {
  if (schema.is_boolean()) return;
  HONE_CHECK(schema.is_object(), "a schema is an object or a boolean");
  for (const auto& [key, value] : schema.items()) {
    HONE_CHECK(kKeywords.contains(key), fmt::format("JSON Schema keyword {} is not supported", key));
    if (key == "properties" || key == "$defs") {
      for (const auto& [name, inner] : value.items()) CheckKeywords(inner);
    } else if (key == "items" || key == "additionalProperties") {
      CheckKeywords(value);
    } else if (key == "oneOf") {
      for (const auto& inner : value) CheckKeywords(inner);
    }
  }
}

std::string Escape(std::string_view key) {  // RFC 6901
  std::string text;
  for (const char c : key) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return text;
}

bool IsType(const json& value, std::string_view type) {
  if (type == "integer")
    return value.is_number_integer() ||
           (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "array") return value.is_array();
  HONE_CHECK(type == "object", "unknown type in a JSON Schema");
  return value.is_object();
}

std::string Short(const json& value) {
  auto text = JsonText(value);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

std::string Join(const json& values, std::string_view separator) {
  std::string text;
  for (const auto& value : values) {
    if (!text.empty()) text += separator;
    text += value.is_string() ? value.get<std::string>() : value.dump();
  }
  return text;
}

struct Issue {
  std::string pointer, message;
  json wanted;            // of a const or enum property: the values that would do
  bool mismatch = false;  // such a property did not fit: this branch of a oneOf is not meant
};

class Validator {
 public:
  explicit Validator(const json& root) : root_(root) {}

  std::optional<Issue> Check(const json& schema, const json& value, const std::string& at) const {
    if (schema.is_boolean()) {
      if (schema.get<bool>()) return std::nullopt;
      return Issue{at, "is not known here", {}, false};
    }
    if (const auto ref = schema.find("$ref"); ref != schema.end()) {
      const auto text = ref->get<std::string>();
      HONE_CHECK(text.starts_with("#/"), "a $ref points into its own schema");
      const json::json_pointer pointer(text.substr(1));
      HONE_CHECK(root_.contains(pointer), "a $ref points at nothing");
      if (auto issue = Check(root_.at(pointer), value, at)) return issue;
    }
    if (auto issue = CheckSelf(schema, value, at)) return issue;
    if (value.is_object()) {
      if (auto issue = CheckObject(schema, value, at)) return issue;
    }
    if (value.is_array()) {
      if (auto issue = CheckArray(schema, value, at)) return issue;
    }
    if (const auto branches = schema.find("oneOf"); branches != schema.end()) return CheckOneOf(*branches, value, at);
    return std::nullopt;
  }

 private:
  static std::optional<Issue> CheckSelf(const json& schema, const json& value, const std::string& at) {
    if (const auto type = schema.find("type"); type != schema.end()) {
      const json types = type->is_array() ? *type : json::array({*type});
      bool fits = false;
      for (const auto& one : types) fits = fits || IsType(value, one.get<std::string>());
      if (!fits)
        return Issue{at, fmt::format("is {}, not {}", Short(value), WithArticle(Join(types, " or "))), {}, false};
    }
    if (const auto wanted = schema.find("const"); wanted != schema.end() && value != *wanted) {
      return Issue{at, fmt::format("is {}, not {}", Short(value), wanted->dump()), json::array({*wanted}), false};
    }
    if (const auto wanted = schema.find("enum"); wanted != schema.end()) {
      bool fits = false;
      for (const auto& one : *wanted) fits = fits || one == value;
      if (!fits)
        return Issue{at, fmt::format("is {}; known are {}", Short(value), Join(*wanted, ", ")), *wanted, false};
    }
    if (value.is_number()) {
      const auto number = value.get<double>();
      if (const auto low = schema.find("minimum"); low != schema.end() && number < low->get<double>()) {
        return Issue{at, fmt::format("is {}, less than {}", Short(value), low->dump()), {}, false};
      }
      if (const auto high = schema.find("maximum"); high != schema.end() && number > high->get<double>()) {
        return Issue{at, fmt::format("is {}, more than {}", Short(value), high->dump()), {}, false};
      }
    }
    if (const auto least = schema.find("minLength");
        least != schema.end() && value.is_string() &&
        value.get_ref<const std::string&>().size() < least->get<std::size_t>()) {
      return Issue{at, "is an empty or too short string", {}, false};
    }
    return std::nullopt;
  }

  std::optional<Issue> CheckObject(const json& schema, const json& value, const std::string& at) const {
    const auto properties = schema.find("properties");
    if (properties != schema.end()) {
      // What tells the branches of a oneOf apart comes first.
      for (const auto& [name, inner] : properties->items()) {
        if (!inner.is_object() || !(inner.contains("const") || inner.contains("enum"))) continue;
        const auto found = value.find(name);
        if (found == value.end()) continue;
        if (auto issue = Check(inner, *found, at + "/" + Escape(name))) {
          issue->mismatch = true;
          return issue;
        }
      }
    }
    if (const auto required = schema.find("required"); required != schema.end()) {
      for (const auto& name : *required) {
        if (!value.contains(name.get<std::string>())) return Issue{at, fmt::format("lacks {}", name.dump()), {}, false};
      }
    }
    const auto others = schema.find("additionalProperties");
    for (const auto& [name, inner] : value.items()) {
      const bool listed = properties != schema.end() && properties->contains(name);
      const auto here = at + "/" + Escape(name);
      if (listed) {
        if (auto issue = Check(properties->at(name), inner, here)) return issue;
      } else if (others != schema.end()) {
        if (others->is_boolean() && !others->get<bool>()) {
          json names = json::array();
          if (properties != schema.end()) {
            for (const auto& [known, unused] : properties->items()) names.push_back(known);
          }
          return Issue{here, fmt::format("is not known here; known are {}", Join(names, ", ")), {}, false};
        }
        if (auto issue = Check(*others, inner, here)) return issue;
      }
    }
    return std::nullopt;
  }

  std::optional<Issue> CheckArray(const json& schema, const json& value, const std::string& at) const {
    if (const auto least = schema.find("minItems"); least != schema.end() && value.size() < least->get<std::size_t>()) {
      return Issue{at, fmt::format("has {} items, fewer than {}", value.size(), least->dump()), {}, false};
    }
    if (const auto most = schema.find("maxItems"); most != schema.end() && value.size() > most->get<std::size_t>()) {
      return Issue{at, fmt::format("has {} items, more than {}", value.size(), most->dump()), {}, false};
    }
    if (const auto items = schema.find("items"); items != schema.end()) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (auto issue = Check(*items, value[i], fmt::format("{}/{}", at, i))) return issue;
      }
    }
    return std::nullopt;
  }

  std::optional<Issue> CheckOneOf(const json& branches, const json& value, const std::string& at) const {
    std::vector<Issue> issues;
    std::size_t fitting = 0;
    for (const auto& branch : branches) {
      if (auto issue = Check(branch, value, at))
        issues.push_back(std::move(*issue));
      else
        ++fitting;
    }
    if (fitting == 1) return std::nullopt;
    if (fitting > 1)
      return Issue{
          at, fmt::format("{} fits more than one of the forms that are possible here", Short(value)), {}, false};
    // The branch that is meant: its telling properties fit, and its trouble lies deeper than the value itself.
    const Issue* meant = nullptr;
    std::size_t possible = 0;
    std::string reasons;
    for (const auto& issue : issues) {
      // A telling property of the value itself, not of something in it.
      if (issue.mismatch && issue.pointer.find('/', at.size() + 1) == std::string::npos) continue;
      ++possible;
      if (!meant || issue.pointer.size() > meant->pointer.size()) meant = &issue;
      if (issue.pointer == at && reasons.find(issue.message) == std::string::npos) {
        reasons += (reasons.empty() ? "" : "; or ") + issue.message;
      }
    }
    if (meant && (meant->pointer != at || possible == 1)) return *meant;
    if (meant) return Issue{at, reasons, {}, false};
    Issue joined = issues.front();
    joined.wanted = json::array();
    for (const auto& issue : issues) {
      if (issue.pointer != joined.pointer) continue;
      for (const auto& one : issue.wanted) joined.wanted.push_back(one);
    }
    const json::json_pointer place(joined.pointer.substr(at.size()));
    joined.message = fmt::format("is {}; known are {}", Short(value.at(place)), Join(joined.wanted, ", "));
    return joined;
  }

  static std::string WithArticle(const std::string& noun) {
    return (std::string_view("aeiou").find(noun[0]) == std::string_view::npos ? "a " : "an ") + noun;
  }

  const json& root_;
};

}  // namespace

JsonSchema::JsonSchema(std::string_view text) {
  auto schema = json::parse(text, nullptr, false);
  HONE_CHECK(!schema.is_discarded(), "a JSON Schema of ours is not JSON");
  CheckKeywords(schema);
  schema_ = std::make_unique<const json>(std::move(schema));
}

JsonSchema::~JsonSchema() = default;

std::optional<SchemaIssue> JsonSchema::Validate(const json& document) const {
  const auto issue = Validator(*schema_).Check(*schema_, document, "");
  if (!issue) return std::nullopt;
  return SchemaIssue{issue->pointer, issue->message};
}

}  // namespace hone
