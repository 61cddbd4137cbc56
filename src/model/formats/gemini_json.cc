// One object of `gemini -o json`: the answer and what it took, by model. Of a failure it says on its error output,
// behind lines of other kinds; where a server refused, the message is what that server sent.
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "model/exec_format.h"
#include "model/fields.h"

namespace hone::format_gemini_json {
namespace {

using Json = nlohmann::json;

// What goes in has what the cache had; thoughts are told apart from what was said.
TokenUse OfAll(const Json& models) {
  TokenUse use;
  if (!models.is_object()) return use;
  for (const Json& model : models) {
    const Json& tokens = Field(model, "tokens");
    AddCount(use.input_tokens, CountField(tokens, "prompt"));
    AddCount(use.cached_tokens, CountField(tokens, "cached"));
    AddCount(use.output_tokens, CountField(tokens, "candidates"));
    AddCount(use.output_tokens, CountField(tokens, "thoughts"));
  }
  return use;
}

std::string Complaint(const Json& error) {
  if (!error.is_object()) return JsonText(error);
  std::string message = TextField(error, "message");
  const Json inner = Json::parse(message, nullptr, false);
  const std::string served = TextField(Field(inner, "error"), "message");
  return served.empty() ? message : served;
}

Result<ModelReply> Read(const std::string& output) {
  const std::size_t begin = output.starts_with('{') ? 0 : output.rfind("\n{\n");
  const Json json = Json::parse(begin == output.npos ? output : output.substr(begin), nullptr, false);
  if (const Json& error = Field(json, "error"); !error.is_null()) return Fail(ErrorKind::kIo, Complaint(error));
  if (!Field(json, "response").is_string()) return Fail(ErrorKind::kIo, "it printed no response as JSON");
  return ModelReply{.text = TextField(json, "response"), .usage = OfAll(Field(Field(json, "stats"), "models"))};
}

}  // namespace

HONE_ROW(ExecFormat){
    .name = "gemini-json", .doc = "gemini -o json", .read = Read, .complains = ExecFormat::Complains::kOnErrors};

}  // namespace hone::format_gemini_json
