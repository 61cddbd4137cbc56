// One object of `claude -p --output-format json`: the answer, what it took, and what it cost. The program asks more
// than it is asked (for a title of the session, say): `usage` is of the answer alone, `modelUsage` of all, as the
// dollars are.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "model/exec_format.h"
#include "model/fields.h"

namespace hone::format_claude_json {
namespace {

using Json = nlohmann::json;

// What goes in is told in three parts: not of the cache, from it, into it.
TokenUse Summed(std::optional<std::int64_t> plain, std::optional<std::int64_t> cached,
                std::optional<std::int64_t> written, std::optional<std::int64_t> output) {
  TokenUse use{.cached_tokens = cached, .written_tokens = written, .output_tokens = output};
  if (plain) use.input_tokens = *plain + cached.value_or(0) + written.value_or(0);
  return use;
}

TokenUse OfAnswer(const Json& usage) {
  return Summed(CountField(usage, "input_tokens"), CountField(usage, "cache_read_input_tokens"),
                CountField(usage, "cache_creation_input_tokens"), CountField(usage, "output_tokens"));
}

TokenUse OfAll(const Json& models) {
  std::optional<std::int64_t> plain, cached, written, output;
  if (!models.is_object()) return {};
  for (const Json& model : models) {
    AddCount(plain, CountField(model, "inputTokens"));
    AddCount(cached, CountField(model, "cacheReadInputTokens"));
    AddCount(written, CountField(model, "cacheCreationInputTokens"));
    AddCount(output, CountField(model, "outputTokens"));
  }
  return Summed(plain, cached, written, output);
}

TokenUse Larger(const TokenUse& a, const TokenUse& b) {
  return {.input_tokens = std::max(a.input_tokens, b.input_tokens),
          .cached_tokens = std::max(a.cached_tokens, b.cached_tokens),
          .written_tokens = std::max(a.written_tokens, b.written_tokens),
          .output_tokens = std::max(a.output_tokens, b.output_tokens)};
}

Result<ModelReply> Read(const std::string& output) {
  const Json json = Json::parse(output, nullptr, false);
  if (TextField(json, "type") != "result") return Fail(ErrorKind::kIo, "it printed no result as JSON");
  const Json& failed = Field(json, "is_error");
  const std::string text = TextField(json, "result"), subtype = TextField(json, "subtype");
  if ((failed.is_boolean() && failed.get<bool>()) || (!subtype.empty() && subtype != "success"))
    return Fail(ErrorKind::kIo, text.empty() ? subtype : text);
  ModelReply reply{.text = text, .usage = Larger(OfAnswer(Field(json, "usage")), OfAll(Field(json, "modelUsage")))};
  const Json& dollars = Field(json, "total_cost_usd");
  if (dollars.is_number() && dollars.get<double>() >= 0) reply.usage.dollars = dollars.get<double>();
  const Json& models = Field(json, "modelUsage");
  if (models.is_object() && models.size() == 1) reply.model = models.begin().key();
  return reply;
}

}  // namespace

HONE_ROW(ExecFormat){.name = "claude-json", .doc = "claude -p --output-format json", .read = Read};

}  // namespace hone::format_claude_json
