// One object of `claude -p --output-format json`: the answer, its usage, and what it cost.
#include <nlohmann/json.hpp>

#include "model/exec_format.h"
#include "model/fields.h"

namespace hone::format_claude_json {
namespace {

using Json = nlohmann::json;

Result<ModelReply> Read(const std::string& output) {
  const Json json = Json::parse(output, nullptr, false);
  if (TextField(json, "type") != "result") return Fail(ErrorKind::kIo, "it printed no result as JSON");
  const Json& failed = Field(json, "is_error");
  const std::string text = TextField(json, "result"), subtype = TextField(json, "subtype");
  if ((failed.is_boolean() && failed.get<bool>()) || (!subtype.empty() && subtype != "success"))
    return Fail(ErrorKind::kIo, text.empty() ? subtype : text);
  const Json& usage = Field(json, "usage");
  ModelReply reply{.text = text,
                   .usage = {.cached_tokens = CountField(usage, "cache_read_input_tokens"),
                             .written_tokens = CountField(usage, "cache_creation_input_tokens"),
                             .output_tokens = CountField(usage, "output_tokens")}};
  if (const auto plain = CountField(usage, "input_tokens")) {
    reply.usage.input_tokens = *plain + reply.usage.cached_tokens.value_or(0) + reply.usage.written_tokens.value_or(0);
  }
  const Json& dollars = Field(json, "total_cost_usd");
  if (dollars.is_number() && dollars.get<double>() >= 0) reply.usage.dollars = dollars.get<double>();
  const Json& models = Field(json, "modelUsage");
  if (models.is_object() && models.size() == 1) reply.model = models.begin().key();
  return reply;
}

}  // namespace

HONE_ROW(ExecFormat){.name = "claude-json", .doc = "claude -p --output-format json", .read = Read};

}  // namespace hone::format_claude_json
