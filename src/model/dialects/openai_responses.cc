// Responses: OpenAI's, and what vLLM, llama.cpp and Ollama serve under the same path. Nothing is stored at the server
// (`store` is true where nobody says so): each request has the whole conversation, reasoning as the server encrypted it
// among it.
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "model/dialect.h"
#include "model/fields.h"

namespace hone::dialect_openai_responses {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kOurs[] = {"model",   "input",  "instructions", "tools",
                                      "include", "stream", "store",        "previous_response_id"};
constexpr std::string_view kSpare[] = {"include", "store"};
constexpr std::string_view kPath = "/responses";

void AddItems(const TalkTurn& turn, Json& input) {
  const auto message = [&](const char* role, const char* type) {
    const Json part = {{"type", type}, {"text", turn.text}};
    input.push_back({{"role", role}, {"content", Json::array({part})}});
  };
  if (turn.who == TalkTurn::Who::kUser) return message("user", "input_text");
  if (turn.who == TalkTurn::Who::kTool) {
    input.push_back({{"type", "function_call_output"}, {"call_id", turn.call_id}, {"output", turn.text}});
    return;
  }
  // An answer's items go back as they came.
  const Json items = Json::parse(turn.opaque, nullptr, false);
  if (items.is_array() && !items.empty()) {
    input.insert(input.end(), items.begin(), items.end());
    return;
  }
  if (!turn.text.empty()) message("assistant", "output_text");
  for (const ToolCall& call : turn.calls) {
    input.push_back(
        {{"type", "function_call"}, {"call_id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  }
}

Json Request(const Conversation& conversation, const std::string& model) {
  Json request = {{"model", model},
                  {"stream", true},
                  {"store", false},
                  {"include", Json::array({"reasoning.encrypted_content"})},
                  {"input", Json::array()}};
  if (!conversation.system.empty()) request["instructions"] = conversation.system;
  for (const TalkTurn& turn : conversation.turns) AddItems(turn, request["input"]);
  for (const ModelTool& tool : conversation.tools) {
    request["tools"].push_back({{"type", "function"},
                                {"name", tool.name},
                                {"description", tool.description},
                                {"parameters", Json::parse(tool.parameters, nullptr, false)},
                                {"strict", false}});  // else the schema has to be of a narrower kind
  }
  return request;
}

class Reader final : public ReplyReader {
 public:
  Result<void> Take(const ServerEvent& event) override {
    if (event.data == "[DONE]") return {};  // some local servers end so
    const Json json = Json::parse(event.data, nullptr, false);
    if (!json.is_object()) return Fail(ErrorKind::kIo, "its answer is no stream of JSON objects");
    const std::string type = TextField(json, "type");
    if (type == "error" || (type.empty() && json.contains("error"))) {
      const Json& nested = Field(json, "error");
      refused_ = ReadServiceError(200, nested.is_object() ? nested : json);
    }
    if (type == "response.output_item.done") {
      const auto index = CountField(json, "output_index");
      items_[index.value_or(static_cast<std::int64_t>(items_.size()))] = Field(json, "item");
    }
    const Json& response = Field(json, "response");
    if (const std::string model = TextField(response, "model"); !model.empty()) reply_.model = model;
    TakeUsage(Field(response, "usage"));
    if (type == "response.failed") refused_ = ReadServiceError(200, Field(response, "error"));
    if (type == "response.completed" || type == "response.incomplete") {
      done_ = true;
      incomplete_ = TextField(Field(response, "incomplete_details"), "reason");
      const Json& output = Field(response, "output");
      if (!output.is_array() || output.empty()) return {};
      items_.clear();
      for (const Json& item : output) items_.emplace(static_cast<std::int64_t>(items_.size()), item);
    }
    return {};
  }

  Result<ModelReply> End() override {
    if (!done_) return Fail(ErrorKind::kIo, "its answer breaks off");
    bool refusal = incomplete_ == "content_filter";
    Json echo = Json::array();
    for (const auto& [index, item] : items_) {
      echo.push_back(item);
      if (TextField(item, "type") == "function_call")
        reply_.calls.push_back({TextField(item, "call_id"), TextField(item, "name"), TextField(item, "arguments")});
      const Json& content = Field(item, "content");
      if (TextField(item, "type") != "message" || !content.is_array()) continue;
      for (const Json& part : content) {
        reply_.text += TextField(part, "text") + TextField(part, "refusal");
        refusal = refusal || TextField(part, "type") == "refusal";
      }
    }
    reply_.ending = refusal                 ? Ending::kRefusal
                    : !incomplete_.empty()  ? Ending::kLength
                    : !reply_.calls.empty() ? Ending::kCalls
                                            : Ending::kWhole;
    reply_.opaque = JsonText(echo);
    return std::move(reply_);
  }

 private:
  void TakeUsage(const Json& usage) {
    if (!usage.is_object()) return;
    const Json& details = Field(usage, "input_tokens_details");
    reply_.usage = {.input_tokens = CountField(usage, "input_tokens"),
                    .cached_tokens = CountField(details, "cached_tokens"),
                    .written_tokens = CountField(details, "cache_write_tokens"),
                    .output_tokens = CountField(usage, "output_tokens")};
  }

  std::map<std::int64_t, Json> items_;  // by their places in the answer
  std::string incomplete_;
  bool done_ = false;
};

}  // namespace

HONE_ROW(Dialect){.name = "openai-responses",
                  .doc = "Responses: OpenAI, vLLM, llama.cpp, Ollama",
                  .path = kPath,
                  .ours = kOurs,
                  .spare = kSpare,
                  .headers = BearerHeaders,
                  .request = Request,
                  .reader = MakeReader<Reader>};

}  // namespace hone::dialect_openai_responses
