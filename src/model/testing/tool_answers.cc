#include "model/testing/tool_answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/testing/loopback.h"
#include "model/testing/speech.h"

namespace hone::testing {
namespace {

using Json = nlohmann::json;

std::string NamedEvent(const Json& event) { return EventText(event.dump(), event["type"].get<std::string>()); }

std::string ChatStream(const Json& delta, const char* finish) {
  const auto chunk = [](Json choice) { return EventText(Json{{"choices", Json::array({std::move(choice)})}}.dump()); };
  const Json usage = {{"choices", Json::array()}, {"usage", {{"prompt_tokens", 120}, {"completion_tokens", 30}}}};
  return HttpStream({chunk({{"index", 0}, {"delta", delta}}),
                     chunk({{"index", 0}, {"delta", Json::object()}, {"finish_reason", finish}}),
                     EventText(usage.dump()), EventText("[DONE]")});
}

std::string ResponsesStream(const Json& output, bool whole) {
  Json response = {{"model", "m"}, {"output", output}, {"usage", {{"input_tokens", 120}, {"output_tokens", 30}}}};
  if (!whole) response["incomplete_details"] = {{"reason", "max_output_tokens"}};
  return HttpStream(
      {NamedEvent({{"type", whole ? "response.completed" : "response.incomplete"}, {"response", response}})});
}

std::string MessagesStream(const std::vector<Json>& events, const char* stop) {
  std::vector<std::string> all = {
      NamedEvent({{"type", "message_start"}, {"message", {{"model", "m"}, {"usage", {{"input_tokens", 120}}}}}})};
  for (const Json& event : events) all.push_back(NamedEvent(event));
  all.push_back(
      NamedEvent({{"type", "message_delta"}, {"delta", {{"stop_reason", stop}}}, {"usage", {{"output_tokens", 30}}}}));
  all.push_back(NamedEvent({{"type", "message_stop"}}));
  return HttpStream(all);
}

}  // namespace

std::string TextAnswer(std::string_view dialect, const std::string& text) {
  return HttpStream(std::ranges::find(AllSpeeches(), dialect, &Speech::dialect)->text(text));
}

std::string CallsAnswer(std::string_view dialect, const std::vector<ToolCall>& calls, Ending ending) {
  const bool whole = ending == Ending::kCalls;
  Json items = Json::array();
  std::vector<Json> events;
  for (const ToolCall& call : calls) {
    const auto place = items.size();
    if (dialect == "openai-chat") {
      items.push_back({{"index", place},
                       {"id", call.id},
                       {"type", "function"},
                       {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    } else if (dialect == "openai-responses") {
      items.push_back(
          {{"type", "function_call"}, {"call_id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
    } else {
      items.push_back(call.id);
      events.push_back(
          {{"type", "content_block_start"},
           {"index", place},
           {"content_block", {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", Json::object()}}}});
      events.push_back({{"type", "content_block_delta"},
                        {"index", place},
                        {"delta", {{"type", "input_json_delta"}, {"partial_json", call.arguments}}}});
      events.push_back({{"type", "content_block_stop"}, {"index", place}});
    }
  }
  if (dialect == "openai-chat") return ChatStream({{"tool_calls", items}}, whole ? "tool_calls" : "length");
  if (dialect == "openai-responses") return ResponsesStream(items, whole);
  return MessagesStream(events, whole ? "tool_use" : "max_tokens");
}

std::vector<std::string> ResultsIn(std::string_view dialect, const std::string& body) {
  std::vector<std::string> results;
  const auto add = [&](const Json& of, const char* id, const char* text) {
    results.push_back(of[id].get<std::string>() + ": " + of[text].get<std::string>());
  };
  const Json request = Json::parse(body);
  for (const Json& turn : request[dialect == "openai-responses" ? "input" : "messages"]) {
    if (dialect == "openai-chat" && turn["role"] == "tool") add(turn, "tool_call_id", "content");
    if (dialect == "openai-responses" && turn.value("type", "") == "function_call_output")
      add(turn, "call_id", "output");
    if (dialect != "anthropic-messages" || turn["role"] != "user") continue;
    for (const Json& block : turn["content"]) {
      if (block["type"] == "tool_result") add(block, "tool_use_id", "content");
    }
  }
  return results;
}

}  // namespace hone::testing
