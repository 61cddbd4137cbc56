// Messages: Anthropic's, and what vLLM, llama.cpp and Ollama serve under the same path. Versions 2023-06-01 and
// 2026-10-21 differ in what they refuse, and hone sends nothing of that by itself.
//
// The cache is laid out by two marks: one behind the system's text, which is the same in all questions, and one behind
// the last block, so that a turn that follows finds all before it.
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "model/dialect.h"
#include "model/fields.h"

namespace hone::dialect_anthropic_messages {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kOurs[] = {"model", "messages", "system", "tools", "stream"};
constexpr std::string_view kNeeded[] = {"max_tokens"};
constexpr std::string_view kPath = "/v1/messages";
constexpr const char* kOldestVersion = "2023-06-01";  // which all servers know

HttpHeaders Headers(const std::string& key, const std::string& version) {
  HttpHeaders headers = {{"content-type", "application/json"},
                         {"accept", "text/event-stream"},
                         {"anthropic-version", version.empty() ? kOldestVersion : version}};
  if (!key.empty()) headers.emplace_back("x-api-key", key);
  return headers;
}

Json TextBlock(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

// An answer's blocks go back as they came, thinking with its signature among them.
Json Blocks(const TalkTurn& turn) {
  Json blocks = Json::parse(turn.opaque, nullptr, false);
  if (blocks.is_array() && !blocks.empty()) return blocks;
  blocks = Json::array();
  if (turn.who == TalkTurn::Who::kTool) {
    Json result = {{"type", "tool_result"}, {"tool_use_id", turn.call_id}, {"content", turn.text}};
    if (turn.failed) result["is_error"] = true;
    blocks.push_back(std::move(result));
    return blocks;
  }
  if (!turn.text.empty()) blocks.push_back(TextBlock(turn.text));  // an empty one is refused
  for (const ToolCall& call : turn.calls) {
    const Json input = Json::parse(call.arguments, nullptr, false);
    blocks.push_back({{"type", "tool_use"},
                      {"id", call.id},
                      {"name", call.name},
                      {"input", input.is_object() ? input : Json::object()}});
  }
  return blocks;
}

Json Request(const Conversation& conversation, const std::string& model) {
  const Json mark = {{"type", "ephemeral"}};
  Json request = {{"model", model}, {"stream", true}};
  if (!conversation.system.empty()) {
    request["system"] = Json::array({TextBlock(conversation.system)});
    request["system"].back()["cache_control"] = mark;
  }
  Json& messages = request["messages"] = Json::array();
  for (const TalkTurn& turn : conversation.turns) {
    const char* role = turn.who == TalkTurn::Who::kModel ? "assistant" : "user";
    Json blocks = Blocks(turn);
    // Results of calls that were made at once belong into one message.
    if (!messages.empty() && messages.back()["role"] == role) {
      messages.back()["content"].insert(messages.back()["content"].end(), blocks.begin(), blocks.end());
    } else {
      messages.push_back({{"role", role}, {"content", std::move(blocks)}});
    }
  }
  if (!messages.empty() && messages.back()["role"] == "user" && !messages.back()["content"].empty())
    messages.back()["content"].back()["cache_control"] = mark;
  for (const ModelTool& tool : conversation.tools) {
    request["tools"].push_back({{"name", tool.name},
                                {"description", tool.description},
                                {"input_schema", Json::parse(tool.parameters, nullptr, false)}});
  }
  return request;
}

class Reader final : public ReplyReader {
 public:
  Result<void> Take(const ServerEvent& event) override {
    const Json json = Json::parse(event.data, nullptr, false);
    if (!json.is_object()) return Fail(ErrorKind::kIo, "its answer is no stream of JSON objects");
    const std::string type = TextField(json, "type");
    const std::int64_t index = CountField(json, "index").value_or(0);
    if (type == "error") refused_ = ReadServiceError(200, Field(json, "error"));
    if (type == "message_start") {
      reply_.model = TextField(Field(json, "message"), "model");
      TakeUsage(Field(Field(json, "message"), "usage"));
    }
    if (type == "content_block_start") blocks_[index] = Field(json, "content_block");
    if (type == "content_block_delta") TakeDelta(blocks_[index], index, Field(json, "delta"));
    if (type == "message_delta") {
      if (const std::string stop = TextField(Field(json, "delta"), "stop_reason"); !stop.empty()) stop_ = stop;
      TakeUsage(Field(json, "usage"));
    }
    if (type == "message_stop") done_ = true;
    return {};  // pings, ends of blocks, and what is not known yet
  }

  Result<ModelReply> End() override {
    if (!done_ && stop_.empty()) return Fail(ErrorKind::kIo, "its answer breaks off");
    Json echo = Json::array();
    for (auto& [index, block] : blocks_) {
      const std::string type = TextField(block, "type");
      if (type == "text") reply_.text += TextField(block, "text");
      if (type == "tool_use") {
        const std::string arguments = inputs_[index].empty() ? JsonText(Field(block, "input")) : inputs_[index];
        const Json input = Json::parse(arguments, nullptr, false);
        block["input"] = input.is_object() ? input : Json::object();
        reply_.calls.push_back({TextField(block, "id"), TextField(block, "name"), arguments});
      }
      const bool empty = type == "text" && TextField(block, "text").empty();
      if (block.is_object() && !empty) echo.push_back(block);
    }
    reply_.ending = stop_ == "refusal"                                                  ? Ending::kRefusal
                    : stop_ == "max_tokens" || stop_ == "model_context_window_exceeded" ? Ending::kLength
                    : !reply_.calls.empty()                                             ? Ending::kCalls
                                                                                        : Ending::kWhole;
    reply_.opaque = JsonText(echo);
    return std::move(reply_);
  }

  // What goes in is told in three parts: not of the cache, from it, into it.
  TokenUse usage() const override {
    TokenUse usage{.cached_tokens = cached_, .written_tokens = written_, .output_tokens = output_};
    if (plain_) usage.input_tokens = *plain_ + cached_.value_or(0) + written_.value_or(0);
    return usage;
  }

 private:
  // Sums up to now: a later one takes the place of an earlier one.
  void TakeUsage(const Json& usage) {
    const auto take = [&](std::optional<std::int64_t>& to, const char* name) {
      if (const auto count = CountField(usage, name)) to = count;
    };
    take(plain_, "input_tokens");
    take(cached_, "cache_read_input_tokens");
    take(written_, "cache_creation_input_tokens");
    take(output_, "output_tokens");
  }

  void TakeDelta(Json& block, std::int64_t index, const Json& delta) {
    if (!block.is_object()) block = Json::object();
    const std::string type = TextField(delta, "type");
    const auto append = [&](const char* name) { block[name] = TextField(block, name) + TextField(delta, name); };
    if (type == "text_delta") append("text");
    if (type == "thinking_delta") append("thinking");
    if (type == "signature_delta") append("signature");
    if (type == "input_json_delta") inputs_[index] += TextField(delta, "partial_json");
  }

  std::map<std::int64_t, Json> blocks_;
  std::map<std::int64_t, std::string> inputs_;  // of calls, as they come
  std::optional<std::int64_t> plain_, cached_, written_, output_;
  std::string stop_;
  bool done_ = false;
};

}  // namespace

HONE_ROW(Dialect){.name = "anthropic-messages",
                  .doc = "Messages: Anthropic, vLLM, llama.cpp, Ollama",
                  .path = kPath,
                  .ours = kOurs,
                  .needed = kNeeded,
                  .headers = Headers,
                  .request = Request,
                  .reader = MakeReader<Reader>};

}  // namespace hone::dialect_anthropic_messages
