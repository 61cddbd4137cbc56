#include "command/agent/surface.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kInstructions =
    "hone makes kernels faster and proves it. A problem (problem.json) says what has to be computed; a candidate is "
    "the "
    "text of a program (.hk), a module (.cc, .cu) or a plan (.json) that claims to compute it. hone compiles it, "
    "judges "
    "it in a sandbox against an oracle, times it beside baselines and says what limits it. Files go in and out by "
    "put_file and get_file; paths are relative to one folder. Begin with the page 'agents' (read_page), write programs "
    "by the page 'language'. evaluate judges a kernel of yours; start_run with the verb optimize lets hone search. A "
    "candidate that was not accepted is wrong, however fast. Let one timed call end before the next begins: they "
    "disturb each other's times.";

mcp::Effect EffectOf(const Verb& verb) {
  // Those that delete and those that write files are not told apart by their rows: the hint is for the worse.
  return verb.only_reads ? mcp::Effect::kReads : mcp::Effect::kDestroys;
}

std::string DescriptionOf(const Verb& verb) {
  std::string text = fmt::format("{}.", verb.doc);
  if (!verb.help.empty()) text += fmt::format("\n\n{}", verb.help);
  if (!verb.json.empty()) text += fmt::format("\n\nAnswers: {}", verb.json);
  if (!verb.no.empty()) text += fmt::format("\nExit code 1: {}.", verb.no);
  return text;
}

}  // namespace

std::string ToolName(const Verb& verb) {
  std::string name(verb.name);
  std::ranges::replace(name, '-', '_');
  return name;
}

mcp::ToolAnswer AnswerOf(const Error& error) { return {.document = "", .text = error.message, .is_error = true}; }

mcp::ToolAnswer AnswerOf(const Verb& verb, const VerbEnd& end) {
  const Json json = Json::parse(end.document, nullptr, false);
  std::string document = end.document;
  if (!json.is_discarded() && !json.is_object()) document = JsonText({{"answer", json}});
  std::string text = end.message;
  if (end.code == static_cast<int>(ExitCode::kNo)) text = fmt::format("exit code 1: {}", verb.no);
  return {.document = std::move(document), .text = std::move(text), .is_error = !end.answered()};
}

std::vector<mcp::Tool> VerbTools(AgentDesk& desk) {
  std::vector<mcp::Tool> tools;
  for (const Verb* verb : ListedVerbs()) {
    if (verb->owns_output) continue;
    tools.push_back({.name = ToolName(*verb),
                     .title = std::string(verb->doc),
                     .description = DescriptionOf(*verb),
                     .input_schema = JsonText(Describe(*verb)["arguments"]),
                     .effect = EffectOf(*verb),
                     .run = [&desk, verb](const Json& arguments, mcp::Call& call) {
                       const auto line = ArgumentsOf(*verb, arguments);
                       if (!line) return AnswerOf(line.error());
                       const auto end = RunVerb(desk.setting, *verb, *line,
                                                {.line = [&call](std::string_view said) { call.Progress(said); },
                                                 .cancelled = [&call] { return call.cancelled(); }});
                       return end ? AnswerOf(*verb, *end) : AnswerOf(end.error());
                     }});
  }
  return tools;
}

mcp::Catalogue MakeCatalogue(AgentDesk& desk) {
  mcp::Catalogue catalogue{
      .name = "hone",
      .version = HONE_VERSION,
      .instructions = std::string(kInstructions),
      .tools = VerbTools(desk),
      .prompts = AgentPrompts(),
      .templates = ResourceTemplates(),
      .resources = [&desk](mcp::Call&) { return ListResources(desk); },
      .read = [&desk](const std::string& uri, mcp::Call& call) { return ReadResource(desk, uri, call); }};
  for (auto* more : {RunTools, FolderTools}) {
    for (mcp::Tool& tool : more(desk)) catalogue.tools.push_back(std::move(tool));
  }
  return catalogue;
}

}  // namespace hone
