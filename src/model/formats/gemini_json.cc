// One object of `gemini -o json`: the answer, or an error. What it took is not read: the form of that is not known to
// us.
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "model/exec_format.h"
#include "model/fields.h"

namespace hone::format_gemini_json {
namespace {

using Json = nlohmann::json;

Result<ModelReply> Read(const std::string& output) {
  const Json json = Json::parse(output, nullptr, false);
  if (const Json& error = Field(json, "error"); !error.is_null())
    return Fail(ErrorKind::kIo, error.is_object() ? TextField(error, "message") : JsonText(error));
  if (!Field(json, "response").is_string()) return Fail(ErrorKind::kIo, "it printed no response as JSON");
  return ModelReply{.text = TextField(json, "response")};
}

}  // namespace

HONE_ROW(ExecFormat){.name = "gemini-json", .doc = "gemini -o json", .read = Read};

}  // namespace hone::format_gemini_json
