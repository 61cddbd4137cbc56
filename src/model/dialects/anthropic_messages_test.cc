#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/must.h"
#include "model/dialect.h"

namespace hone {
namespace {

using testing::Must;
using Json = nlohmann::json;

const Dialect& Messages() { return *FindDialect("anthropic-messages"); }

Result<ModelReply> Read(const std::vector<std::string>& events, TokenUse* usage = nullptr) {
  const auto reader = Messages().reader();
  for (const std::string& event : events) HONE_TRY(reader->Take({.name = "as its type says", .data = event}));
  if (usage) *usage = reader->usage();
  return reader->End();
}

const std::string kStart =
    R"({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "model": "served-m", "content": [],
        "usage": {"input_tokens": 20, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 1000, "output_tokens": 1}}})";
std::string Begin(int index, const std::string& block) {
  return R"({"type": "content_block_start", "index": )" + std::to_string(index) + R"(, "content_block": )" + block +
         "}";
}
std::string Delta(int index, const std::string& delta) {
  return R"({"type": "content_block_delta", "index": )" + std::to_string(index) + R"(, "delta": )" + delta + "}";
}
std::string Stop(const std::string& reason) {
  return R"({"type": "message_delta", "delta": {"stop_reason": ")" + reason + R"("}, "usage": {"output_tokens": 77}})";
}
const std::string kStop = R"({"type": "message_stop"})";

TEST(AnthropicMessagesTest, AStreamBecomesTextThinkingAndCalls) {
  TokenUse usage;
  const ModelReply reply = Must(Read(
      {kStart, R"({"type": "ping"})", Begin(0, R"({"type": "thinking", "thinking": "", "signature": ""})"),
       Delta(0, R"({"type": "thinking_delta", "thinking": "let me "})"),
       Delta(0, R"({"type": "thinking_delta", "thinking": "see"})"),
       Delta(0, R"({"type": "signature_delta", "signature": "c2ln"})"), R"({"type": "content_block_stop", "index": 0})",
       Begin(1, R"({"type": "redacted_thinking", "data": "xyz"})"), Begin(2, R"({"type": "text", "text": ""})"),
       Delta(2, R"({"type": "text_delta", "text": "I "})"), Delta(2, R"({"type": "text_delta", "text": "look."})"),
       Begin(3, R"({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}})"),
       Delta(3, R"({"type": "input_json_delta", "partial_json": "{\"at\""})"),
       Delta(3, R"({"type": "input_json_delta", "partial_json": ": 1}"})"), R"({"type": "something_new", "index": 9})",
       Stop("tool_use"), kStop},
      &usage));
  EXPECT_EQ(reply.text, "I look.");
  EXPECT_EQ(reply.model, "served-m");
  EXPECT_EQ(reply.ending, Ending::kCalls);
  ASSERT_EQ(reply.calls.size(), 1u);
  EXPECT_EQ(reply.calls[0].arguments, "{\"at\": 1}");
  EXPECT_EQ(usage.input_tokens, 1320);
  EXPECT_EQ(usage.cached_tokens, 1000);
  EXPECT_EQ(usage.written_tokens, 300);
  EXPECT_EQ(usage.output_tokens, 77);
  // What goes back is what came.
  const Json echo = Messages().request({.turns = {AsTurn(reply)}}, "m")["messages"][0];
  EXPECT_EQ(echo, Json::parse(R"({"role": "assistant", "content": [
      {"type": "thinking", "thinking": "let me see", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "xyz"},
      {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 1}}]})"));
}

TEST(AnthropicMessagesTest, EndingsAreTold) {
  const auto ending = [](const std::string& reason) {
    return Must(Read({kStart, Begin(0, R"({"type": "text", "text": "x"})"), Stop(reason), kStop})).ending;
  };
  EXPECT_EQ(ending("end_turn"), Ending::kWhole);
  EXPECT_EQ(ending("stop_sequence"), Ending::kWhole);
  EXPECT_EQ(ending("max_tokens"), Ending::kLength);
  EXPECT_EQ(ending("model_context_window_exceeded"), Ending::kLength);
  EXPECT_EQ(ending("refusal"), Ending::kRefusal);
  EXPECT_FALSE(Read({kStart, Begin(0, R"({"type": "text", "text": "x"})")})) << "cut off";
  EXPECT_FALSE(Read({"nonsense"}));
}

TEST(AnthropicMessagesTest, AnErrorInTheStreamIsTheServers) {
  const auto reader = Messages().reader();
  Must(reader->Take({.data = kStart}));
  Must(reader->Take({.data = R"({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})"}));
  ASSERT_TRUE(reader->refused());
  EXPECT_TRUE(WorthAnotherTry(*reader->refused(), {}));
  EXPECT_EQ(reader->usage().input_tokens, 1320) << "what it took is known all the same";
}

TEST(AnthropicMessagesTest, TheCacheIsMarkedBehindWhatStays) {
  Conversation talk{.system = "s", .tools = {{"look", "looks", R"({"type": "object"})"}}};
  talk.turns = {{.who = TalkTurn::Who::kUser, .text = "u"},
                {.who = TalkTurn::Who::kModel, .text = "", .calls = {{"a", "look", "{}"}, {"b", "look", "bad JSON"}}},
                {.who = TalkTurn::Who::kTool, .text = "seen", .call_id = "a"},
                {.who = TalkTurn::Who::kTool, .text = "no", .call_id = "b", .failed = true}};
  EXPECT_EQ(Messages().request(talk, "m"), Json::parse(R"({"model": "m", "stream": true,
      "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
      "tools": [{"name": "look", "description": "looks", "input_schema": {"type": "object"}}],
      "messages": [
        {"role": "user", "content": [{"type": "text", "text": "u"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}},
                                          {"type": "tool_use", "id": "b", "name": "look", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "seen"},
            {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": true,
             "cache_control": {"type": "ephemeral"}}]}]})"));
}

TEST(AnthropicMessagesTest, TheVersionAndTheKeyAreInTheHeaders) {
  const auto find = [](const HttpHeaders& headers, std::string_view name) -> std::string {
    for (const auto& [one, value] : headers) {
      if (one == name) return value;
    }
    return "none";
  };
  EXPECT_EQ(find(Messages().headers("k", ""), "anthropic-version"), "2023-06-01");
  EXPECT_EQ(find(Messages().headers("k", "2026-10-21"), "anthropic-version"), "2026-10-21");
  EXPECT_EQ(find(Messages().headers("k", ""), "x-api-key"), "k");
  EXPECT_EQ(find(Messages().headers("", ""), "x-api-key"), "none");
}

}  // namespace
}  // namespace hone
