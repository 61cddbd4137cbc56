#include "mcp/message.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace hone::mcp {
namespace {

using Json = nlohmann::json;

// Looked at before it is parsed: much of what one does with JSON, its copy and its text among it, goes as deep as it.
bool TooDeep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

Refusal Refused(std::string id, int code, std::string message) {
  return {std::move(id), {.code = code, .message = std::move(message)}};
}

}  // namespace

std::variant<Message, Refusal, Ignored> ParseMessage(std::string_view line) {
  if (TooDeep(line))
    return Refused("", kInvalidRequest,
                   fmt::format("the message has more than {} levels of arrays and objects", kDeepest));
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Refused("", kParseError, "the line is not JSON: a message is one JSON object in one line of UTF-8");
  if (json.is_array()) return Refused("", kInvalidRequest, "batches are not taken: send one message a line");
  if (!json.is_object()) return Refused("", kInvalidRequest, "a message is a JSON object");

  Message message;
  const auto id = json.find("id");
  const bool has_id = id != json.end();
  if (has_id && (id->is_string() || id->is_number_integer())) message.id = JsonText(*id);
  if (json.value("jsonrpc", Json()) != "2.0")
    return Refused(std::move(message.id), kInvalidRequest, "\"jsonrpc\" has to be \"2.0\"");
  if (!json.contains("method") && (json.contains("result") || json.contains("error"))) return Ignored();
  if (has_id && message.id.empty())
    return Refused("", kInvalidRequest, "\"id\" has to be a text or a whole number; a notification has none");
  const auto method = json.find("method");
  if (method == json.end() || !method->is_string())
    return Refused(std::move(message.id), kInvalidRequest, "\"method\" is missing, or no text");
  message.method = method->get<std::string>();
  Json params = Json::object();
  if (const auto given = json.find("params"); given != json.end()) {
    if (!given->is_object()) return Refused(std::move(message.id), kInvalidParams, "\"params\" has to be an object");
    params = std::move(*given);
  }
  message.params = std::make_shared<const Json>(std::move(params));
  return message;
}

// The id is JSON already, and everything else has its place: no need to parse it for that.
std::string ResultLine(std::string_view id, const Json& result) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, JsonText(result));
}

std::string FailureLine(std::string_view id, const Failure& failure) {
  Json error = {{"code", failure.code}, {"message", failure.message}};
  if (!failure.data.empty()) error["data"] = Json::parse(failure.data, nullptr, false);
  if (id.empty()) return fmt::format(R"({{"jsonrpc":"2.0","error":{}}})", JsonText(error));
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{}}})", id, JsonText(error));
}

std::string NotificationLine(std::string_view method, const Json& params) {
  return JsonText({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

}  // namespace hone::mcp
