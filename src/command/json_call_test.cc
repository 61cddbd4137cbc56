#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command/command.h"
#include "command/run_note.h"
#include "command/testing/silence.h"

namespace hone {
namespace {

using Json = nlohmann::json;
using testing::Silence;

// A value that a property of the schema may have: one that a command line could mistake for something else.
Json ValueFor(const Json& property, bool is_file) {
  const std::string type = property["type"];
  if (type == "boolean") return true;
  if (type == "integer") return property.value("minimum", 0) + 7;
  if (type == "number") return property.value("minimum", 0.0) + 0.25;
  const std::string text = is_file ? "/etc/passwd" : "--json=x y";
  return type == "array" ? Json{text, text} : Json(text);
}

// Of every verb there is.
TEST(JsonCallTest, WhatTheSchemaAllowsIsReadAsItWasMeant) {
  Silence silence;
  for (const Verb* verb : ListedVerbs()) {
    SCOPED_TRACE(verb->name);
    const Json schema = Describe(*verb)["arguments"];
    Json arguments = Json::object();
    const auto reads = [&](const std::string& name) {
      const auto same = [&](const auto& one) { return one.name == name && one.reads; };
      return std::any_of(verb->options.begin(), verb->options.end(), same) ||
             std::any_of(verb->positionals.begin(), verb->positionals.end(), same);
    };
    for (const auto& [name, property] : schema["properties"].items()) arguments[name] = ValueFor(property, reads(name));
    const auto line = ArgumentsOf(*verb, arguments);
    ASSERT_TRUE(line) << line.error().message;
    const auto call = VerbCall::Parse(*verb, *line, silence);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_FALSE(call->json()) << "no value becomes an option";
    for (const auto& [name, value] : arguments.items()) {
      SCOPED_TRACE(name);
      if (value.is_boolean()) {
        EXPECT_TRUE(call->Flag(name));
      }
      if (value.is_number_integer()) {
        EXPECT_EQ(call->Int(name), value);
      }
      if (value.is_number_float()) {
        EXPECT_EQ(call->Real(name), value);
      }
      if (value.is_string()) {
        EXPECT_EQ(call->Text(name), value.get<std::string>());
      }
      if (value.is_array()) {
        EXPECT_EQ(call->Texts(name), value.get<std::vector<std::string>>());
      }
    }
  }
}

TEST(JsonCallTest, WhatItDoesNotAllowGetsOneLine) {
  static constexpr Positional kPositionals[] = {
      {.name = "from", .help = "where it begins", .presence = Presence::kOptional},
      {.name = "rest", .help = "more", .presence = Presence::kRepeated}};
  static constexpr Option kOptions[] = {{.name = "many", .type = ValueType::kInteger, .value = "N", .help = "so many"},
                                        {.name = "now", .type = ValueType::kFlag, .help = "at once"},
                                        {.name = "part", .type = ValueType::kReal, .value = "F", .help = "a part"}};
  const Verb verb{.name = "try", .doc = "tries", .positionals = kPositionals, .options = kOptions};
  const auto message = [&](const Json& arguments) {
    const auto line = ArgumentsOf(verb, arguments);
    return line ? "no error" : line.error().message;
  };
  EXPECT_EQ(message({{"mny", 1}}), "try has no argument \"mny\"; did you mean 'many'?");
  EXPECT_EQ(message({{"json", true}}), "try has no argument \"json\"");
  EXPECT_EQ(message({{"many", "7"}}), "try: argument \"many\" has to be a whole number");
  EXPECT_EQ(message({{"many", 7.5}}), "try: argument \"many\" has to be a whole number");
  EXPECT_EQ(message({{"part", "x"}}), "try: argument \"part\" has to be a number");
  EXPECT_EQ(message({{"now", "yes"}}), "try: argument \"now\" has to be true or false");
  EXPECT_EQ(message({{"from", 1}}), "try: argument \"from\" has to be a text, not number");
  EXPECT_EQ(message({{"from", std::string("a\0b", 3)}}),
            "try: argument \"from\" holds a zero byte, which no argument can");
  EXPECT_EQ(message({{"rest", {"a"}}}), "try: argument \"from\" is missing, without which \"rest\" has no place");
  EXPECT_EQ(*ArgumentsOf(verb, {{"from", nullptr}, {"now", false}, {"many", 3}}),
            (std::vector<std::string>{"--many=3", "--"}));
}

TEST(JsonCallTest, ARunsNoteIsReadBack) {
  EXPECT_EQ(RunOfNote(RunNote("3fa2c1", true)), "3fa2c1");
  EXPECT_EQ(RunOfNote(RunNote("3fa2c1", false)), "3fa2c1");
  for (const char* line : {"run 3fa2c1", "run it begins", "going on with run", "[1/4] best 3 us", ""})
    EXPECT_FALSE(RunOfNote(line)) << line;
}

}  // namespace
}  // namespace hone
