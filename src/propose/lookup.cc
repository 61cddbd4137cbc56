#include "propose/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_schema.h"
#include "base/text.h"
#include "model/ledger.h"
#include "propose/prompt.h"

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestName = 60;  // bytes of what a model calls that there is none of
constexpr std::size_t kLongestArguments = 4096;

bool Offered(const Lookup& lookup, const Library& library) { return !lookup.has || lookup.has(library); }

}  // namespace

Result<Library> Library::Open(const ProposerSetting& setting) {
  Library library{.winners = setting.winners,
                  .findings = setting.advisers.kind == Advisers::Kind::kOffered,
                  .bytes = static_cast<std::size_t>(setting.parameters.Integer(kLookupTokens.name)) * kBytesOfToken};
  if (!setting.index.empty()) library.index = HONE_TRY(CodeIndex::Open(setting.index));
  return library;
}

std::vector<ModelTool> LookupDesk::Tools(const Library& library) {
  std::vector<ModelTool> tools;
  if (library.bytes == 0) return tools;
  for (const Lookup* lookup : AllLookups()) {
    if (Offered(*lookup, library))
      tools.push_back({std::string(lookup->name), std::string(lookup->doc), std::string(lookup->schema)});
  }
  return tools;
}

Result<std::string> LookupDesk::Found(const ToolCall& call) {
  const auto refuse = [](std::string why) { return Fail(ErrorKind::kUsage, std::move(why)); };
  if (++calls_ > kMostLookups || bytes_ == 0)
    return refuse("nothing more can be looked up for this question: answer it with what you know");
  const Lookup* found = nullptr;
  std::string known;
  for (const Lookup* lookup : AllLookups()) {
    if (!Offered(*lookup, *library_)) continue;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", lookup->name);
    if (lookup->name == call.name) found = lookup;
  }
  if (!found)
    return refuse(fmt::format("there is no tool '{}'; there are {}", call.name.substr(0, kLongestName), known));
  if (call.arguments.size() > kLongestArguments)
    return refuse(fmt::format("the arguments have {} bytes; {} at most", call.arguments.size(), kLongestArguments));
  // Some servers say nothing where there are no arguments.
  const Json arguments = Json::parse(call.arguments.empty() ? "{}" : call.arguments, nullptr, false);
  if (!arguments.is_object()) return refuse("the arguments are no JSON object");
  if (const auto issue = JsonSchema(found->schema).Validate(arguments))
    return refuse(
        fmt::format("the arguments{}{}: {}", issue->pointer.empty() ? "" : " at ", issue->pointer, issue->message));
  return found->answer(arguments, *question_, *library_);
}

TalkTurn LookupDesk::Answer(const ToolCall& call) {
  auto found = Found(call);
  TalkTurn turn{.who = TalkTurn::Who::kTool, .text = {}, .call_id = call.id, .failed = !found};
  if (!found) {
    turn.text = Printable(std::move(found).error().message);
    return turn;
  }
  const std::size_t most = std::min(kLongestLookup, bytes_);
  bytes_ -= std::min(most, found->size());
  std::string text = Printable(std::move(*found));
  if (text.size() > most) {
    const std::size_t line = text.rfind('\n', most);
    const std::size_t cut = line == text.npos ? most : line + 1;
    text = fmt::format("{}(cut here: {} bytes more)\n", text.substr(0, cut), text.size() - cut);
  }
  turn.text = FencedText("data", text);
  return turn;
}

}  // namespace hone
