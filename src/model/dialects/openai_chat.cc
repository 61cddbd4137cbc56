// Chat Completions: OpenAI's, and what vLLM, llama.cpp, Ollama and SGLang serve under the same path. Those differ in
// what they leave out: usage, ids of calls, the reason to end; and in what they call reasoning.
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "model/dialect.h"
#include "model/fields.h"

namespace hone::dialect_openai_chat {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kOurs[] = {"model", "messages", "tools", "stream", "stream_options"};
constexpr std::string_view kSpare[] = {"stream_options"};
constexpr std::string_view kPath = "/chat/completions";
// What reasoning is called; it is given back under the name that it came by.
constexpr const char* kReasoning[] = {"reasoning", "reasoning_content"};

Json Message(const TalkTurn& turn) {
  if (turn.who == TalkTurn::Who::kUser) return {{"role", "user"}, {"content", turn.text}};
  if (turn.who == TalkTurn::Who::kTool)
    return {{"role", "tool"}, {"tool_call_id", turn.call_id}, {"content", turn.text}};
  Json message = {{"role", "assistant"}, {"content", turn.text}};
  for (const ToolCall& call : turn.calls) {
    message["tool_calls"].push_back(
        {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  const Json opaque = Json::parse(turn.opaque, nullptr, false);
  if (opaque.is_object()) message.update(opaque);
  return message;
}

Json Request(const Conversation& conversation, const std::string& model) {
  Json request = {{"model", model}, {"stream", true}, {"stream_options", {{"include_usage", true}}}};
  Json& messages = request["messages"] = Json::array();
  if (!conversation.system.empty()) messages.push_back({{"role", "system"}, {"content", conversation.system}});
  for (const TalkTurn& turn : conversation.turns) messages.push_back(Message(turn));
  for (const ModelTool& tool : conversation.tools) {
    request["tools"].push_back({{"type", "function"},
                                {"function",
                                 {{"name", tool.name},
                                  {"description", tool.description},
                                  {"parameters", Json::parse(tool.parameters, nullptr, false)}}}});
  }
  return request;
}

class Reader final : public ReplyReader {
 public:
  Result<void> Take(const ServerEvent& event) override {
    if (event.data == "[DONE]") {
      done_ = true;
      return {};
    }
    const Json chunk = Json::parse(event.data, nullptr, false);
    if (!chunk.is_object()) return Fail(ErrorKind::kIo, "its answer is no stream of JSON objects");
    if (const Json& error = Field(chunk, "error"); !error.is_null()) {
      refused_ = ReadServiceError(200, error);
      return {};
    }
    if (const std::string model = TextField(chunk, "model"); !model.empty()) reply_.model = model;
    TakeUsage(Field(chunk, "usage"));
    const Json& choices = Field(chunk, "choices");
    if (choices.is_array() && !choices.empty()) TakeChoice(choices.front());
    return {};
  }

  Result<ModelReply> End() override {
    if (!done_ && finish_.empty()) return Fail(ErrorKind::kIo, "its answer breaks off");
    for (auto& [place, call] : calls_) reply_.calls.push_back(std::move(call));
    const bool calls = !reply_.calls.empty();
    reply_.ending = refusal_ || finish_ == "content_filter" ? Ending::kRefusal
                    : finish_ == "length"                   ? Ending::kLength
                    : calls                                 ? Ending::kCalls
                                                            : Ending::kWhole;
    if (!reasoning_.empty()) reply_.opaque = JsonText(reasoning_);
    return std::move(reply_);
  }

 private:
  void TakeUsage(const Json& usage) {
    if (!usage.is_object()) return;
    const Json& details = Field(usage, "prompt_tokens_details");
    reply_.usage = {.input_tokens = CountField(usage, "prompt_tokens"),
                    .cached_tokens = CountField(details, "cached_tokens"),
                    .written_tokens = CountField(details, "cache_write_tokens"),
                    .output_tokens = CountField(usage, "completion_tokens")};
  }

  void TakeChoice(const Json& choice) {
    if (const std::string finish = TextField(choice, "finish_reason"); !finish.empty()) finish_ = finish;
    const Json& delta = Field(choice, "delta");
    reply_.text += TextField(delta, "content");
    if (const std::string refusal = TextField(delta, "refusal"); !refusal.empty()) {
      refusal_ = true;
      reply_.text += refusal;
    }
    for (const char* name : kReasoning) {
      const std::string more = TextField(delta, name);
      if (!more.empty()) reasoning_[name] = TextField(reasoning_, name) + more;
    }
    const Json& calls = Field(delta, "tool_calls");
    if (!calls.is_array()) return;
    for (const Json& call : calls) TakeCall(call);
  }

  // A part of a call: of which one the index says, else a new id begins another.
  void TakeCall(const Json& part) {
    const std::string id = TextField(part, "id");
    std::int64_t place = calls_.empty() ? 0 : calls_.rbegin()->first;
    if (const auto index = CountField(part, "index")) {
      place = *index;
    } else if (!calls_.empty() && !id.empty() && calls_.rbegin()->second.id != id) {
      ++place;
    }
    ToolCall& call = calls_[place];
    if (!id.empty()) call.id = id;
    if (call.id.empty()) call.id = "call_" + std::to_string(place);
    const Json& function = Field(part, "function");
    call.name += TextField(function, "name");
    const Json& arguments = Field(function, "arguments");
    call.arguments += arguments.is_object() ? JsonText(arguments) : TextField(function, "arguments");
  }

  std::map<std::int64_t, ToolCall> calls_;
  Json reasoning_ = Json::object();
  std::string finish_;
  bool done_ = false, refusal_ = false;
};

}  // namespace

HONE_ROW(Dialect){.name = "openai-chat",
                  .doc = "Chat Completions: OpenAI, vLLM, llama.cpp, Ollama, SGLang",
                  .path = kPath,
                  .ours = kOurs,
                  .spare = kSpare,
                  .headers = BearerHeaders,
                  .request = Request,
                  .reader = MakeReader<Reader>};

}  // namespace hone::dialect_openai_chat
