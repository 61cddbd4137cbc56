#include "model/testing/speech.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/testing/loopback.h"

namespace hone::testing {
namespace {

using Json = nlohmann::json;
using Events = std::vector<std::string>;

// ---- anthropic-messages ----

std::string Named(const Json& event) { return EventText(event.dump(), event["type"].get<std::string>()); }

Events Message(const Json& block, const Json& delta, const std::string& stop) {
  const Json usage = {
      {"input_tokens", 20}, {"cache_creation_input_tokens", 0}, {"cache_read_input_tokens", 100}, {"output_tokens", 1}};
  const Json message = {{"id", "msg_1"},
                        {"type", "message"},
                        {"role", "assistant"},
                        {"model", "served-m"},
                        {"content", Json::array()},
                        {"stop_reason", nullptr},
                        {"stop_sequence", nullptr},
                        {"usage", usage}};
  return {Named({{"type", "message_start"}, {"message", message}}),
          Named({{"type", "content_block_start"}, {"index", 0}, {"content_block", block}}),
          Named({{"type", "ping"}}),
          Named({{"type", "content_block_delta"}, {"index", 0}, {"delta", delta}}),
          Named({{"type", "content_block_stop"}, {"index", 0}}),
          Named({{"type", "message_delta"},
                 {"delta", {{"stop_reason", stop}, {"stop_sequence", nullptr}}},
                 {"usage", {{"output_tokens", 30}}}}),
          Named({{"type", "message_stop"}})};
}
Events MessageText(const std::string& text, const std::string& stop) {
  return Message({{"type", "text"}, {"text", ""}}, {{"type", "text_delta"}, {"text", text}}, stop);
}
Events MessageWhole(const std::string& text) { return MessageText(text, "end_turn"); }
Events MessageCut(const std::string& text) { return MessageText(text, "max_tokens"); }
Events MessageRefusal() { return MessageText("", "refusal"); }
Events MessageCall() {
  return Message({{"type", "tool_use"}, {"id", "toolu_1"}, {"name", "look"}, {"input", Json::object()}},
                 {{"type", "input_json_delta"}, {"partial_json", R"({"at": 1})"}}, "tool_use");
}
Json MessageError(std::string_view type, std::string_view code, const std::string& message) {
  Json error = {{"type", type}, {"message", message}};
  if (!code.empty()) error["details"] = {{"error_code", code}};
  return {{"type", "error"}, {"error", error}, {"request_id", "req_1"}};
}
std::string MessageErrorBody(std::string_view type, std::string_view code, const std::string& message) {
  return MessageError(type, code, message).dump();
}
std::string MessageErrorEvent(std::string_view type, std::string_view code, const std::string& message) {
  return Named(MessageError(type, code, message));
}
constexpr Worded kMessageWorded[] = {{429, "rate_limit_error", "", true},
                                     {429, "rate_limit_error", "enforced_spend_limit_reached", false},
                                     {429, "rate_limit_error", "contract_spend_limit_reached", false},
                                     {402, "billing_error", "", false},
                                     {400, "invalid_request_error", "", false},
                                     {504, "timeout_error", "", true},
                                     {529, "overloaded_error", "", true}};

// ---- openai-chat ----

std::string Chunk(const Json& delta, const Json& finish) {
  Json event = {{"id", "chatcmpl_1"}, {"object", "chat.completion.chunk"}, {"created", 1}, {"model", "served-m"}};
  event["choices"] = Json::array({Json::object({{"index", 0}, {"delta", delta}, {"finish_reason", finish}})});
  return EventText(event.dump());
}
Events Chat(const Json& delta, const std::string& finish) {
  const Json usage = {{"prompt_tokens", 120},
                      {"completion_tokens", 30},
                      {"total_tokens", 150},
                      {"prompt_tokens_details", {{"cached_tokens", 100}}}};
  const Json last = {{"id", "chatcmpl_1"},  {"object", "chat.completion.chunk"}, {"created", 1},
                     {"model", "served-m"}, {"choices", Json::array()},          {"usage", usage}};
  return {Chunk({{"role", "assistant"}}, nullptr), Chunk(delta, nullptr), Chunk(Json::object(), finish),
          EventText(last.dump()), EventText("[DONE]")};
}
Events ChatWhole(const std::string& text) { return Chat({{"content", text}}, "stop"); }
Events ChatCut(const std::string& text) { return Chat({{"content", text}}, "length"); }
Events ChatRefusal() { return Chat({{"refusal", "I will not"}}, "stop"); }
Events ChatCall() {
  const Json call = {{"index", 0},
                     {"id", "call_1"},
                     {"type", "function"},
                     {"function", {{"name", "look"}, {"arguments", R"({"at": 1})"}}}};
  return Chat({{"tool_calls", Json::array({call})}}, "tool_calls");
}
Json OpenAiError(std::string_view type, std::string_view code, const std::string& message) {
  return {{"message", message}, {"type", type}, {"param", nullptr}, {"code", code.empty() ? Json() : Json(code)}};
}
std::string OpenAiErrorBody(std::string_view type, std::string_view code, const std::string& message) {
  return Json::object({{"error", OpenAiError(type, code, message)}}).dump();
}
std::string ChatErrorEvent(std::string_view type, std::string_view code, const std::string& message) {
  return EventText(OpenAiErrorBody(type, code, message));
}
constexpr Worded kOpenAiWorded[] = {{429, "requests", "rate_limit_exceeded", true},
                                    {429, "tokens", "rate_limit_exceeded", true},
                                    {429, "requests", "slow_down", true},
                                    {429, "insufficient_quota", "insufficient_quota", false},
                                    {429, "insufficient_quota", "credit_balance_exhausted", false},
                                    {429, "insufficient_quota", "organization_spend_limit_exceeded", false},
                                    {429, "insufficient_quota", "project_spend_limit_exceeded", false},
                                    {400, "invalid_request_error", "context_length_exceeded", false},
                                    {503, "server_error", "", true}};

// ---- openai-responses ----

Events Response(const Json& item, const Json& delta, const std::string& incomplete) {
  const Json usage = {{"input_tokens", 120},
                      {"input_tokens_details", {{"cached_tokens", 100}}},
                      {"output_tokens", 30},
                      {"output_tokens_details", {{"reasoning_tokens", 0}}},
                      {"total_tokens", 150}};
  const std::string status = incomplete.empty() ? "completed" : "incomplete";
  const Json begun = {{"id", "resp_1"},      {"object", "response"},    {"created_at", 1},
                      {"model", "served-m"}, {"status", "in_progress"}, {"output", Json::array()}};
  Json ended = begun;
  ended.update({{"status", status}, {"output", Json::array({item})}, {"usage", usage}});
  if (!incomplete.empty()) ended["incomplete_details"] = {{"reason", incomplete}};
  Json added = item;
  added["status"] = "in_progress";
  if (added.contains("content")) added["content"] = Json::array();
  if (added.contains("arguments")) added["arguments"] = "";
  Events events = {
      Named({{"type", "response.created"}, {"sequence_number", 0}, {"response", begun}}),
      Named({{"type", "response.output_item.added"}, {"sequence_number", 1}, {"output_index", 0}, {"item", added}})};
  if (!delta.is_null()) {
    Json part = item["content"][0];
    part["text"] = "";
    events.push_back(Named({{"type", "response.content_part.added"},
                            {"sequence_number", 2},
                            {"item_id", "item_1"},
                            {"output_index", 0},
                            {"content_index", 0},
                            {"part", part}}));
    events.push_back(Named(delta));
  }
  events.push_back(
      Named({{"type", "response.output_item.done"}, {"sequence_number", 4}, {"output_index", 0}, {"item", item}}));
  events.push_back(Named({{"type", "response." + status}, {"sequence_number", 5}, {"response", ended}}));
  return events;
}
Json Said(const Json& part) {
  return {{"type", "message"},
          {"id", "item_1"},
          {"role", "assistant"},
          {"status", "completed"},
          {"content", Json::array({part})}};
}
Events ResponseText(const std::string& text, const std::string& incomplete) {
  return Response(Said({{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}}),
                  {{"type", "response.output_text.delta"},
                   {"sequence_number", 3},
                   {"item_id", "item_1"},
                   {"output_index", 0},
                   {"content_index", 0},
                   {"delta", text},
                   {"logprobs", Json::array()}},
                  incomplete);
}
Events ResponseWhole(const std::string& text) { return ResponseText(text, ""); }
Events ResponseCut(const std::string& text) { return ResponseText(text, "max_output_tokens"); }
Events ResponseRefusal() { return Response(Said({{"type", "refusal"}, {"refusal", "I will not"}}), nullptr, ""); }
Events ResponseCall() {
  return Response({{"type", "function_call"},
                   {"id", "item_1"},
                   {"call_id", "call_1"},
                   {"name", "look"},
                   {"arguments", R"({"at": 1})"},
                   {"status", "completed"}},
                  nullptr, "");
}
std::string ResponseErrorEvent(std::string_view type, std::string_view code, const std::string& message) {
  const Json error = {{"code", code.empty() ? type : code}, {"message", message}};
  const Json response = {{"id", "resp_1"},     {"object", "response"},    {"model", "served-m"},
                         {"status", "failed"}, {"output", Json::array()}, {"error", error}};
  return Named({{"type", "response.failed"}, {"sequence_number", 2}, {"response", response}});
}

constexpr Speech kSpeeches[] = {
    {.dialect = "anthropic-messages",
     .base = "",
     .line = "POST /v1/messages HTTP/1.1",
     .parameters = "max_tokens = 100",
     .key_header = "x-api-key",
     .key_before = "",
     .text = MessageWhole,
     .call = MessageCall,
     .cut = MessageCut,
     .refusal = MessageRefusal,
     .error = MessageErrorBody,
     .error_event = MessageErrorEvent,
     .worded = kMessageWorded},
    {.dialect = "openai-chat",
     .base = "/v1",
     .line = "POST /v1/chat/completions HTTP/1.1",
     .parameters = "",
     .key_header = "authorization",
     .key_before = "Bearer ",
     .text = ChatWhole,
     .call = ChatCall,
     .cut = ChatCut,
     .refusal = ChatRefusal,
     .error = OpenAiErrorBody,
     .error_event = ChatErrorEvent,
     .worded = kOpenAiWorded},
    {.dialect = "openai-responses",
     .base = "/v1",
     .line = "POST /v1/responses HTTP/1.1",
     .parameters = "",
     .key_header = "authorization",
     .key_before = "Bearer ",
     .text = ResponseWhole,
     .call = ResponseCall,
     .cut = ResponseCut,
     .refusal = ResponseRefusal,
     .error = OpenAiErrorBody,
     .error_event = ResponseErrorEvent,
     .worded = kOpenAiWorded},
};

}  // namespace

std::span<const Speech> AllSpeeches() { return kSpeeches; }

std::string ChatAnswer(const std::string& text) { return HttpStream(ChatWhole(text)); }

}  // namespace hone::testing
