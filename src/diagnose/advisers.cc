#include "diagnose/advisers.h"

#include <fmt/format.h>

#include <filesystem>

#include "diagnose/raw.h"
#include "diagnose/tools.h"

namespace hone {

Result<Advisers> Advisers::Parse(std::string_view words) {
  if (words == "none") return Advisers{Kind::kNone};
  if (words == "raw") return Advisers{Kind::kRaw};
  if (words == "offered") return Advisers{Kind::kOffered};
  if (words == "on") return Advisers{Kind::kOn};
  std::error_code ignored;
  if (std::filesystem::is_directory(words, ignored)) return Advisers{Kind::kOn, std::string(words)};
  return Fail(
      ErrorKind::kUsage,
      fmt::format("--tools {}: it is none, raw, offered, on, or a folder with executables, and there is no such folder",
                  words));
}

std::string Advisers::Text() const {
  if (!folder.empty()) return folder;
  switch (kind) {
    case Kind::kUnnamed: return "";
    case Kind::kNone: return "none";
    case Kind::kRaw: return "raw";
    case Kind::kOffered: return "offered";
    case Kind::kOn: break;
  }
  return "on";
}

Result<Advised> AskAdvisers(const Advisers& advisers, std::vector<Profile> profiles) {
  Advised advised;
  advised.diagnosis =
      Diagnose(std::move(profiles), advisers.kind == Advisers::Kind::kOn ? AllRules() : std::span<const Rule* const>{});
  if (advisers.kind == Advisers::Kind::kRaw) {
    std::vector<Finding> findings;
    for (const Subject& subject : advised.diagnosis.subjects) {
      for (Finding& one : RawFindings(subject.profile)) findings.push_back(std::move(one));
    }
    AddFindings(advised.diagnosis, std::move(findings));
  }
  if (advisers.folder.empty()) return advised;
  for (ToolAnswer& answer : HONE_TRY(AskTools(advisers.folder, advised.diagnosis.subjects))) {
    advised.tools.push_back({answer.tool, answer.findings.size(), answer.wrong});
    AddFindings(advised.diagnosis, std::move(answer.findings));
  }
  return advised;
}

}  // namespace hone
