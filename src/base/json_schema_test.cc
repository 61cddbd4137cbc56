#include "base/json_schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hone {
namespace {

using nlohmann::json;

std::string Issue(const JsonSchema& schema, std::string_view document) {
  const auto issue = schema.Validate(json::parse(document));
  return issue ? issue->pointer + ": " + issue->message : "";
}

TEST(JsonSchemaTest, NamesThePlaceAndTheWant) {
  const JsonSchema schema(R"({"type": "object", "required": ["a"], "additionalProperties": false, "properties": {
      "a": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 3}, "b/c": {"enum": ["x", "y"]}}})");
  EXPECT_EQ(Issue(schema, R"({"a": [1, 2.0]})"), "");
  EXPECT_EQ(Issue(schema, R"([])"), ": is [], not an object");
  EXPECT_EQ(Issue(schema, R"({})"), ": lacks \"a\"");
  EXPECT_EQ(Issue(schema, R"({"a": [1, "2"]})"), "/a/1: is \"2\", not an integer");
  EXPECT_EQ(Issue(schema, R"({"a": [-1]})"), "/a/0: is -1, less than 0");
  EXPECT_EQ(Issue(schema, R"({"a": [1, 2, 3, 4]})"), "/a: has 4 items, more than 3");
  EXPECT_EQ(Issue(schema, R"({"a": [], "b/c": "z"})"), "/b~1c: is \"z\"; known are x, y");
  EXPECT_EQ(Issue(schema, R"({"a": [], "d": 1})"), "/d: is not known here; known are a, b/c");
}

TEST(JsonSchemaTest, AOneOfSpeaksOfTheBranchThatIsMeant) {
  const JsonSchema schema(R"({"oneOf": [
      {"type": "object", "properties": {"kind": {"const": "p"}, "x": {"type": "number"}}, "required": ["kind", "x"]},
      {"type": "object", "properties": {"kind": {"const": "q"}}, "required": ["kind"], "additionalProperties": false}]})");
  EXPECT_EQ(Issue(schema, R"({"kind": "p", "x": 1})"), "");
  EXPECT_EQ(Issue(schema, R"({"kind": "p", "x": "1"})"), "/x: is \"1\", not a number");
  EXPECT_EQ(Issue(schema, R"({"kind": "p"})"), ": lacks \"x\"");
  EXPECT_EQ(Issue(schema, R"({"kind": "q", "x": 1})"), "/x: is not known here; known are kind");
  EXPECT_EQ(Issue(schema, R"({"kind": "r"})"), "/kind: is \"r\"; known are p, q");
  EXPECT_EQ(Issue(schema, "5"), ": is 5, not an object");
}

TEST(JsonSchemaTest, RefsMayRecurse) {
  const JsonSchema schema(
      R"({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": ["array", "null"], "items": {"$ref": "#/$defs/tree"}}}})");
  EXPECT_EQ(Issue(schema, "[[], [null]]"), "");
  EXPECT_EQ(Issue(schema, "[[], [[3]]]"), "/1/0/0: is 3, not an array or null");
}

TEST(JsonSchemaDeathTest, AnUnsupportedKeywordIsOurBug) {
  EXPECT_DEATH(JsonSchema(R"({"properties": {"a": {"multipleOf": 2}}})"), "multipleOf");
}

}  // namespace
}  // namespace hone
