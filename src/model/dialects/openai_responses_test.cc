#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/must.h"
#include "model/dialect.h"

namespace hone {
namespace {

using testing::Must;
using Json = nlohmann::json;

const Dialect& Responses() { return *FindDialect("openai-responses"); }

Result<ModelReply> Read(const std::vector<std::string>& events, TokenUse* usage = nullptr) {
  const auto reader = Responses().reader();
  for (const std::string& event : events) HONE_TRY(reader->Take({.data = event}));
  if (usage) *usage = reader->usage();
  return reader->End();
}

const std::string kReasoning = R"({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"})";
const std::string kMessage =
    R"({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]})";
const std::string kCall =
    R"({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{\"at\": 1}"})";
std::string Item(int index, const std::string& item) {
  return R"({"type": "response.output_item.done", "output_index": )" + std::to_string(index) + R"(, "item": )" + item +
         "}";
}
std::string Done(const std::string& output, const std::string& type = "completed", const std::string& more = "") {
  return R"({"type": "response.)" + type + R"(", "response": {"model": "served-m", "output": )" + output + more +
         R"(, "usage": {"input_tokens": 1320, "input_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 300},
             "output_tokens": 77, "output_tokens_details": {"reasoning_tokens": 50}, "total_tokens": 1397}}})";
}

TEST(OpenAiResponsesTest, AStreamBecomesTextAndCallsAndGoesBackAsItCame) {
  const std::string all = "[" + kReasoning + ", " + kMessage + ", " + kCall + "]";
  for (const std::string& output : {all, std::string("[]")}) {  // some servers repeat the items at the end, some do not
    TokenUse usage;
    const ModelReply reply =
        Must(Read({R"({"type": "response.created", "response": {"model": "served-m"}})",
                   R"({"type": "response.output_text.delta", "output_index": 1, "delta": "I look."})",
                   Item(0, kReasoning), Item(1, kMessage), Item(2, kCall), Done(output)},
                  &usage));
    EXPECT_EQ(reply.text, "I look.");
    EXPECT_EQ(reply.ending, Ending::kCalls);
    ASSERT_EQ(reply.calls.size(), 1u);
    EXPECT_EQ(reply.calls[0].id, "call_1");
    EXPECT_EQ(reply.calls[0].arguments, "{\"at\": 1}");
    EXPECT_EQ(usage.input_tokens, 1320);
    EXPECT_EQ(usage.cached_tokens, 1000);
    EXPECT_EQ(usage.written_tokens, 300);
    EXPECT_EQ(usage.output_tokens, 77);
    EXPECT_EQ(Responses().request({.turns = {AsTurn(reply)}}, "m")["input"], Json::parse(all));
  }
}

TEST(OpenAiResponsesTest, EndingsAreTold) {
  const std::string whole = "[" + kMessage + "]";
  EXPECT_EQ(Must(Read({Done(whole)})).ending, Ending::kWhole);
  const auto incomplete = [&](const std::string& reason) {
    return Must(Read({Done(whole, "incomplete", R"(, "incomplete_details": {"reason": ")" + reason + R"("})")})).ending;
  };
  EXPECT_EQ(incomplete("max_output_tokens"), Ending::kLength);
  EXPECT_EQ(incomplete("content_filter"), Ending::kRefusal);
  EXPECT_EQ(Must(Read({Done(R"([{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}])")})).ending,
            Ending::kRefusal);
  EXPECT_FALSE(Read({Item(0, kMessage)})) << "cut off";
  EXPECT_FALSE(Read({"nonsense"}));
}

TEST(OpenAiResponsesTest, ErrorsInTheStreamAreTheServers) {
  for (const std::string event :
       {R"({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "oh"}}})",
        R"({"type": "error", "code": "server_error", "message": "oh", "param": null})",
        R"({"type": "error", "error": {"type": "server_error", "message": "oh"}})"}) {
    const auto reader = Responses().reader();
    Must(reader->Take({.data = event}));
    ASSERT_TRUE(reader->refused()) << event;
    EXPECT_EQ(reader->refused()->message, "oh");
    EXPECT_TRUE(WorthAnotherTry(*reader->refused(), {})) << event;
  }
}

TEST(OpenAiResponsesTest, NothingIsStoredAndReasoningIsAskedFor) {
  Conversation talk{.system = "s", .tools = {{"look", "looks", R"({"type": "object"})"}}};
  talk.turns = {{.who = TalkTurn::Who::kUser, .text = "u"},
                {.who = TalkTurn::Who::kModel, .text = "t", .calls = {{"call_1", "look", "{}"}}},
                {.who = TalkTurn::Who::kTool, .text = "seen", .call_id = "call_1"}};
  EXPECT_EQ(Responses().request(talk, "m"), Json::parse(R"({"model": "m", "stream": true, "store": false,
      "include": ["reasoning.encrypted_content"], "instructions": "s",
      "tools": [{"type": "function", "name": "look", "description": "looks", "parameters": {"type": "object"}, "strict": false}],
      "input": [{"role": "user", "content": [{"type": "input_text", "text": "u"}]},
                {"role": "assistant", "content": [{"type": "output_text", "text": "t"}]},
                {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "seen"}]})"));
}

}  // namespace
}  // namespace hone
