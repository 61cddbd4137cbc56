// A validator for the part of JSON Schema 2020-12 that our own schemas use: type, const, enum, properties, required,
// additionalProperties, items, minItems, maxItems, minimum, maximum, minLength, oneOf, $ref to #/$defs. Immutable once
// made; safe to use from any thread.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

// The first place where a document breaks its schema.
struct SchemaIssue {
  std::string pointer;  // JSON pointer (RFC 6901), "" = the whole document
  std::string message;  // what is wrong and what is wanted
};

class JsonSchema {
 public:
  // A schema is part of the program: bad JSON or a keyword that is not listed above is our bug (HONE_CHECK).
  explicit JsonSchema(std::string_view text);
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;
  ~JsonSchema();

  // Nothing if the document satisfies the schema. When no branch of a oneOf fits, the issue is that of the branch whose
  // const and enum properties fit: {"kind": "uniform", "lo": 0} is a uniform with an unknown "lo", not "none of five".
  std::optional<SchemaIssue> Validate(const nlohmann::json& document) const;

 private:
  std::unique_ptr<const nlohmann::json> schema_;
};

}  // namespace hone
