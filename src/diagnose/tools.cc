#include "diagnose/tools.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/bubblewrap.h"
#include "base/json_schema.h"
#include "base/json_text.h"
#include "base/process.h"
#include "base/text.h"

namespace hone {

extern const std::string_view kFindingsSchema;  // docs/findings.schema.json

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kLongest = 600;  // letters of a line
constexpr std::uint64_t kMemory = std::uint64_t{4} << 30;
constexpr int kProcesses = 64;

Result<std::vector<fs::path>> ToolsIn(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> tools;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error) && access(it->path().c_str(), X_OK) == 0) tools.push_back(it->path());
  }
  if (error) return Fail(ErrorKind::kUsage, fmt::format("{}: {}", folder, error.message()));
  if (tools.empty())
    return Fail(ErrorKind::kUsage, fmt::format("{} holds no executable file: chmod +x makes a script one", folder));
  std::sort(tools.begin(), tools.end());
  return tools;
}

std::string Question(std::span<const Subject> subjects) {
  Json profiles = Json::array();
  for (const Subject& subject : subjects) {
    Json one = ToJson(subject.profile);
    const Class* decided = subject.classification.decided();
    one["class"] = decided == nullptr ? Json() : Json(Name(decided->bottleneck));
    profiles.push_back(std::move(one));
  }
  return JsonText(Json{{"hone_profiles", 1}, {"profiles", std::move(profiles)}}) + "\n";
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > kLongest) text.resize(kLongest);
  return Printable(std::move(text));
}

Command ConfinedCommand(const fs::path& tool, std::string question, std::chrono::milliseconds wall) {
  Command command{.argv = {},
                  .environment = {"PATH=/usr/bin:/bin"},
                  .input = std::move(question),
                  .wall = wall,
                  .address_space_bytes = kMemory,
                  .most_processes = kProcesses,
                  .max_output_bytes = 1u << 20};
  // The folder that it lies in is seen, so that a script finds what it brings along.
  command.argv = BubblewrapArgv({.read_only = {{fs::absolute(tool).parent_path().string(), ""}},
                                 .environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp"},
                                 .processes = BubblewrapMountsProc()});
  command.argv.push_back(fs::absolute(tool).string());
  return command;
}

}  // namespace

Result<std::vector<Finding>> ParseToolAnswer(const std::string& tool, const std::string& text,
                                             std::span<const Subject> subjects) {
  const auto wrong = [&](const std::string& what) { return Fail(ErrorKind::kCorrupt, what); };
  static const JsonSchema schema(kFindingsSchema);
  const Json answer = Json::parse(text, nullptr, false);
  if (answer.is_discarded()) return wrong("its output is no JSON");
  if (const auto issue = schema.Validate(answer))
    return wrong(fmt::format("its output does not fit docs/findings.schema.json: {}: {}",
                             issue->pointer.empty() ? "the document" : issue->pointer, issue->message));
  std::vector<Finding> findings;
  for (const Json& one : answer["findings"]) {
    Json with_rule = one;
    with_rule["rule"] = "tool:" + tool;
    Finding finding = HONE_TRY(ParseFinding(with_rule, "a finding"));
    const auto named = std::find_if(subjects.begin(), subjects.end(),
                                    [&](const Subject& subject) { return subject.profile.subject == finding.subject; });
    if (named == subjects.end()) return wrong(fmt::format("no profile has the subject '{}'", OneLine(finding.subject)));
    finding.title = OneLine(finding.title);
    finding.evidence = OneLine(finding.evidence);
    finding.advice = OneLine(finding.advice);
    finding.lost = std::min(finding.lost, 0.99);
    finding.loss_us = 0;
    findings.push_back(std::move(finding));
  }
  return findings;
}

Result<std::vector<ToolAnswer>> AskTools(const std::string& folder, std::span<const Subject> subjects,
                                         const ToolSettings& settings) {
  const std::string question = Question(subjects);
  const bool confined = BubblewrapWorks();
  std::vector<ToolAnswer> answers;
  for (const fs::path& tool : HONE_TRY(ToolsIn(folder))) {
    ToolAnswer answer{.tool = tool.filename().string()};
    if (!confined) {
      answer.wrong = "it was not started: bubblewrap does not work here, and nothing else would confine it";
      answers.push_back(std::move(answer));
      continue;
    }
    const auto exit = Run(ConfinedCommand(tool, question, settings.wall));
    if (!exit && exit.error().kind == ErrorKind::kInterrupted) return tl::unexpected(exit.error());
    if (!exit) {
      answer.wrong = OneLine(exit.error().message);
    } else if (!exit->ok()) {
      const std::string last = OneLine(LastLine(exit->error).empty() ? "" : ": " + std::string(LastLine(exit->error)));
      answer.wrong = exit->Describe() + last;
    } else if (auto findings = ParseToolAnswer(answer.tool, exit->output, subjects)) {
      answer.findings = *std::move(findings);
    } else {
      answer.wrong = OneLine(findings.error().message);
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace hone
