// The events of `codex exec --json`, one a line: the last message is the answer. It tells tokens and no money.
#include <nlohmann/json.hpp>

#include "model/exec_format.h"
#include "model/fields.h"

namespace hone::format_codex_jsonl {
namespace {

using Json = nlohmann::json;

Result<ModelReply> Read(const std::string& output) {
  ModelReply reply;
  bool answered = false;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const Json event = Json::parse(output.substr(at, end - at), nullptr, false);
    at = end + 1;
    const std::string type = TextField(event, "type");
    const Json& item = Field(event, "item");
    if (type == "item.completed" && TextField(item, "type") == "agent_message") {
      reply.text = TextField(item, "text");
      answered = true;
    }
    if (type == "turn.failed") return Fail(ErrorKind::kIo, TextField(Field(event, "error"), "message"));
    if (type == "turn.completed") {
      const Json& usage = Field(event, "usage");
      reply.usage = {.input_tokens = CountField(usage, "input_tokens"),
                     .cached_tokens = CountField(usage, "cached_input_tokens"),
                     .written_tokens = CountField(usage, "cache_write_input_tokens"),
                     .output_tokens = CountField(usage, "output_tokens")};
    }
  }
  if (!answered) return Fail(ErrorKind::kIo, "it printed no message of an agent as lines of JSON");
  return reply;
}

}  // namespace

HONE_ROW(ExecFormat){.name = "codex-jsonl", .doc = "codex exec --json", .read = Read};

}  // namespace hone::format_codex_jsonl
