// The tools that are no verbs: long runs, files, pages.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_schema.h"
#include "base/json_text.h"
#include "base/text.h"
#include "command/agent/surface.h"

namespace hone {
namespace {

using Json = nlohmann::json;

// Less than the minute after which clients give a call up that says nothing.
constexpr double kLongestWaitS = 50;

mcp::ToolAnswer AnswerOf(const Result<Json>& result) {
  if (!result) return AnswerOf(result.error());
  return {.document = JsonText(*result), .text = ""};
}

Json Schema(const Json& properties, const Json& required) {
  return {{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}};
}

const Json& Id() {
  static const Json id = {{"type", "string"}, {"description", "of start_run: optimize-1"}};
  return id;
}

// A schema without what the validator has no word for, which is for readers.
Json Bare(Json schema) {
  schema.erase("description");
  schema.erase("default");
  if (schema.contains("properties")) {
    for (auto& [name, property] : schema["properties"].items()) property = Bare(property);
  }
  return schema;
}

using Work = std::function<mcp::ToolAnswer(const Json& arguments, mcp::Call& call)>;

// The tool refuses what its schema does, before it works.
mcp::Tool MakeTool(std::string name, std::string title, std::string description, const Json& schema, mcp::Effect effect,
                   Work work) {
  auto validator = std::make_shared<const JsonSchema>(Bare(schema).dump());
  return {.name = name,
          .title = std::move(title),
          .description = std::move(description),
          .input_schema = JsonText(schema),
          .effect = effect,
          .run = [name, validator, work = std::move(work)](const Json& arguments, mcp::Call& call) {
            if (const auto issue = validator->Validate(arguments)) {
              const std::string where = issue->pointer.empty() ? "" : fmt::format(" at {}", issue->pointer);
              return AnswerOf(
                  Error{ErrorKind::kUsage, fmt::format("{}: its arguments{}: {}", name, where, issue->message), {}});
            }
            return work(arguments, call);
          }};
}

}  // namespace

std::vector<mcp::Tool> RunTools(AgentDesk& desk) {
  Json verbs = Json::array();
  for (const Verb* verb : ListedVerbs()) {
    if (!verb->owns_output) verbs.push_back(verb->name);
  }
  Background& runs = desk.background;
  std::vector<mcp::Tool> tools;
  tools.push_back(MakeTool(
      "start_run", "Begin a call of a verb that takes long, and return at once",
      "Begins what the tool of this name would do with these arguments, and answers with an id at once. Ask run_status "
      "until it has ended, then run_report for what it came to. optimize keeps each attempt in the run store: when it "
      "is cancelled or this server ends, the same call goes on where it was.\n\nAnswers: id",
      Schema({{"verb", {{"type", "string"}, {"enum", verbs}, {"description", "optimize, for a search"}}},
              {"arguments", {{"type", "object"}, {"description", "as of the tool of that name"}}}},
             {"verb", "arguments"}),
      mcp::Effect::kDestroys, [&runs](const Json& arguments, mcp::Call&) {
        const auto verb = FindVerb(arguments["verb"].get<std::string>());
        if (!verb) return AnswerOf(verb.error());
        const auto id = runs.Start(**verb, arguments["arguments"]);
        return id ? AnswerOf(Result<Json>(Json{{"id", *id}})) : AnswerOf(id.error());
      }));
  tools.push_back(MakeTool(
      "run_status", "Say how far a run is, and wait for its end for a while",
      "Answers: id, verb, arguments, state (running, done, failed, cancelled), seconds, run (its id in the run store, "
      "as "
      "of show and export; null while there is none), progress (the last line that it said), lines[] (the last 20), "
      "exit_code and message once it has ended",
      Schema({{"id", Id()},
              {"wait_s",
               {{"type", "number"},
                {"minimum", 0},
                {"maximum", kLongestWaitS},
                {"description", "how long to wait for its end, in seconds; 0 if not given"}}}},
             {"id"}),
      mcp::Effect::kReads, [&runs](const Json& arguments, mcp::Call& call) {
        return AnswerOf(runs.Status(arguments["id"].get<std::string>(), arguments.value("wait_s", 0.0),
                                    [&call] { return call.cancelled(); }));
      }));
  tools.push_back(MakeTool(
      "run_cancel", "Ask a run to end", "It ends within seconds, with the best so far in the run store. Answers: id",
      Schema({{"id", Id()}}, {"id"}), mcp::Effect::kDestroys, [&runs](const Json& arguments, mcp::Call&) {
        const auto asked = runs.Cancel(arguments["id"].get<std::string>());
        return asked ? AnswerOf(Result<Json>(Json{{"id", arguments["id"]}})) : AnswerOf(asked.error());
      }));
  tools.push_back(MakeTool("run_report", "Give what a run that has ended came to",
                           "Answers what the verb's own tool would have answered. An error while the run goes on.",
                           Schema({{"id", Id()}}, {"id"}), mcp::Effect::kReads,
                           [&runs](const Json& arguments, mcp::Call&) {
                             const auto report = runs.ReportOf(arguments["id"].get<std::string>());
                             return report ? AnswerOf(*report->verb, report->end) : AnswerOf(report.error());
                           }));
  return tools;
}

std::vector<mcp::Tool> FolderTools(AgentDesk& desk) {
  const WorkFolder& folder = desk.folder;
  const Json path = {{"type", "string"}, {"description", "relative to the server's folder: kernels/mine.hk"}};
  std::vector<mcp::Tool> tools;
  tools.push_back(MakeTool(
      "put_file", "Write a text file into the server's folder",
      fmt::format("Replaces a file of this name; makes missing folders. At most {} bytes. Answers: path, bytes",
                  kLargestText),
      Schema({{"path", path}, {"text", {{"type", "string"}, {"description", "all of it"}}}}, {"path", "text"}),
      mcp::Effect::kDestroys, [&folder](const Json& arguments, mcp::Call&) {
        return AnswerOf(folder.Put(arguments["path"], arguments["text"]));
      }));
  tools.push_back(MakeTool(
      "get_file", "Read a text file of the server's folder",
      "Answers: path, text, bytes (of the whole file), next (the offset to go on at; null at its end)",
      Schema({{"path", path},
              {"offset", {{"type", "integer"}, {"minimum", 0}, {"description", "bytes to skip; 0 if not given"}}},
              {"bytes",
               {{"type", "integer"},
                {"minimum", 4},
                {"maximum", kMostRead},
                {"description", fmt::format("at most; {} if not given", kMostRead)}}}},
             {"path"}),
      mcp::Effect::kReads, [&folder](const Json& arguments, mcp::Call&) {
        return AnswerOf(folder.Get(arguments["path"], arguments.value("offset", std::int64_t{0}),
                                   arguments.value("bytes", kMostRead)));
      }));
  tools.push_back(MakeTool(
      "list_files", "List a folder of the server's folder",
      "Answers: folder, entries[] (path, kind: file, folder or other, bytes), more (true: not all are listed)",
      Schema({{"folder", {{"type", "string"}, {"description", "relative; the whole if not given"}}}}, Json::array()),
      mcp::Effect::kReads, [&folder](const Json& arguments, mcp::Call&) {
        return AnswerOf(folder.List(arguments.value("folder", std::string("."))));
      }));
  Json pages = Json::array();
  std::string titles;
  for (const Page& page : AllPages()) {
    pages.push_back(page.name);
    titles += fmt::format("\n  {}: {}", page.name, TitleOf(page));
  }
  tools.push_back(MakeTool(
      "read_page", "Read a page of hone's documentation",
      fmt::format("Begin with 'agents'. The pages:{}\n\nAnswers: page, text", titles),
      Schema({{"page", {{"type", "string"}, {"enum", pages}, {"description", "its name"}}}}, {"page"}),
      mcp::Effect::kReads, [](const Json& arguments, mcp::Call&) {
        const std::string name = arguments["page"];
        const auto page =
            std::find_if(AllPages().begin(), AllPages().end(), [&](const Page& one) { return one.name == name; });
        return AnswerOf(Result<Json>(Json{{"page", name}, {"text", page->text}}));
      }));
  return tools;
}

}  // namespace hone
