#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/must.h"
#include "model/dialect.h"

namespace hone {
namespace {

using testing::Must;
using Json = nlohmann::json;

const Dialect& Chat() { return *FindDialect("openai-chat"); }

// The reply that these chunks make.
Result<ModelReply> Read(const std::vector<std::string>& chunks) {
  const auto reader = Chat().reader();
  for (const std::string& chunk : chunks) HONE_TRY(reader->Take({.data = chunk}));
  return reader->End();
}
std::string Chunk(const std::string& delta, const std::string& finish = "null") {
  return R"({"id": "c", "choices": [{"index": 0, "delta": )" + delta + R"(, "finish_reason": )" + finish + "}]}";
}

TEST(OpenAiChatTest, PartsOfCallsBecomeCalls) {
  const ModelReply reply = Must(Read(
      {Chunk(
           R"({"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "look", "arguments": ""}}]})"),
       Chunk(R"({"tool_calls": [{"index": 0, "function": {"arguments": "{\"at\""}}]})"),
       Chunk(R"({"tool_calls": [{"index": 1, "id": "call_b", "function": {"name": "run", "arguments": "{}"}}]})"),
       Chunk(R"({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]})"), Chunk("{}", "\"tool_calls\""),
       "[DONE]"}));
  EXPECT_EQ(reply.ending, Ending::kCalls);
  ASSERT_EQ(reply.calls.size(), 2u);
  EXPECT_EQ(reply.calls[0].id, "call_a");
  EXPECT_EQ(reply.calls[0].arguments, "{\"at\": 1}");
  EXPECT_EQ(reply.calls[1].name, "run");
}

// Ollama and others: no index, no id, arguments as an object, no reason to end.
TEST(OpenAiChatTest, WhatLocalServersLeaveOutIsNotMissed) {
  const ModelReply reply =
      Must(Read({Chunk(R"({"tool_calls": [{"function": {"name": "look", "arguments": {"at": 1}}}]})"),
                 R"({"choices": [], "usage": null})", "[DONE]"}));
  ASSERT_EQ(reply.calls.size(), 1u);
  EXPECT_EQ(reply.calls[0].id, "call_0");
  EXPECT_EQ(Json::parse(reply.calls[0].arguments), Json({{"at", 1}}));
  EXPECT_EQ(reply.ending, Ending::kCalls);
  EXPECT_FALSE(reply.usage.input_tokens) << "unknown is unknown";
  const ModelReply two =
      Must(Read({Chunk(R"({"tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}}]})"),
                 Chunk(R"({"tool_calls": [{"id": "b", "function": {"name": "y", "arguments": "{}"}}]})"), "[DONE]"}));
  EXPECT_EQ(two.calls.size(), 2u);
  EXPECT_EQ(Must(Read({Chunk(R"({"content": "x"})", "\"stop\"")})).text, "x") << "no [DONE]";
}

TEST(OpenAiChatTest, ReasoningIsKeptApartAndGivenBack) {
  for (const std::string name : {"reasoning", "reasoning_content"}) {
    const ModelReply reply = Must(Read({Chunk("{\"" + name + "\": \"let me \"}"), Chunk("{\"" + name + "\": \"see\"}"),
                                        Chunk(R"({"content": "7"})", "\"stop\""), "[DONE]"}));
    EXPECT_EQ(reply.text, "7");
    const Json sent = Chat().request({.turns = {AsTurn(reply)}}, "m");
    EXPECT_EQ(sent["messages"][0], Json({{"role", "assistant"}, {"content", "7"}, {name, "let me see"}}));
  }
}

TEST(OpenAiChatTest, EndingsAreTold) {
  EXPECT_EQ(Must(Read({Chunk(R"({"content": "x"})", "\"length\""), "[DONE]"})).ending, Ending::kLength);
  EXPECT_EQ(Must(Read({Chunk("{}", "\"content_filter\""), "[DONE]"})).ending, Ending::kRefusal);
  EXPECT_EQ(Must(Read({Chunk(R"({"refusal": "I cannot"})", "\"stop\""), "[DONE]"})).ending, Ending::kRefusal);
  EXPECT_FALSE(Read({Chunk(R"({"content": "x"})")})) << "cut off";
  EXPECT_FALSE(Read({"[1, 2]"}));
}

TEST(OpenAiChatTest, AConversationWithToolsIsWrittenAsItsServersReadIt) {
  Conversation talk{.system = "s", .tools = {{"look", "looks", R"({"type": "object"})"}}};
  talk.turns = {{.who = TalkTurn::Who::kUser, .text = "u"},
                {.who = TalkTurn::Who::kModel, .text = "t", .calls = {{"call_a", "look", "{}"}}},
                {.who = TalkTurn::Who::kTool, .text = "seen", .call_id = "call_a"}};
  const Json sent = Chat().request(talk, "m");
  EXPECT_EQ(sent["tools"], Json::parse(R"([{"type": "function", "function": {"name": "look", "description": "looks",
                                            "parameters": {"type": "object"}}}])"));
  EXPECT_EQ(sent["messages"], Json::parse(R"([{"role": "system", "content": "s"}, {"role": "user", "content": "u"},
      {"role": "assistant", "content": "t", "tool_calls": [
          {"id": "call_a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "call_a", "content": "seen"}])"));
}

}  // namespace
}  // namespace hone
