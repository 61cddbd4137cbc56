#include "report/comparison_page.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/record.h"
#include "report/page.h"

namespace hone {

// What the page draws of the document of command/commands/compare.cc; what else there is in it stays out.
struct PairedFigures {
  double ratio = 0, p = 0;
  std::optional<double> low, high;  // null of one problem
  int wins = 0, losses = 0, equal = 0;
};
struct AgainstFirst {
  PairedFigures quality, anytime;
};
struct ArmRow {
  std::string arm;
  double quality = 0, anytime = 0, reached = 0, to_95_attempts = 0, to_95_seconds = 0, attempts = 0, seconds = 0;
  std::vector<double> curve, by_problem;
  std::optional<AgainstFirst> against;
};
struct ComparisonProgress {
  int searches = 0, of = 0;                 // that are done, and that there will be
  std::int64_t begun_ms = 0, ended_ms = 0;  // 0: it has not ended
};
struct ComparisonDocument {
  std::vector<std::string> problems;
  std::vector<ArmRow> arms;
  std::map<std::string, std::string> made;     // how; empty in documents from before that was kept
  std::optional<ComparisonProgress> progress;  // of one that was kept while it grew
};

template <SameAs<PairedFigures> Of>
void Fields(Of& paired, auto&& field) {
  field("ratio", paired.ratio);
  field("low", paired.low);
  field("high", paired.high);
  field("p", paired.p);
  field("wins", paired.wins);
  field("losses", paired.losses);
  field("equal", paired.equal);
}

template <SameAs<AgainstFirst> Of>
void Fields(Of& against, auto&& field) {
  field("quality", against.quality);
  field("anytime", against.anytime);
}

template <SameAs<ArmRow> Of>
void Fields(Of& row, auto&& field) {
  field("arm", row.arm, kAlways);
  field("quality", row.quality);
  field("anytime", row.anytime);
  field("reached", row.reached);
  field("to_95_attempts", row.to_95_attempts);
  field("to_95_seconds", row.to_95_seconds);
  field("attempts", row.attempts);
  field("seconds", row.seconds);
  field("curve", row.curve);
  field("by_problem", row.by_problem);
  field("against", row.against);
}

template <SameAs<ComparisonProgress> Of>
void Fields(Of& progress, auto&& field) {
  field("searches", progress.searches);
  field("of", progress.of);
  field("begun_ms", progress.begun_ms);
  field("ended_ms", progress.ended_ms);
}

template <SameAs<ComparisonDocument> Of>
void Fields(Of& document, auto&& field) {
  field("problems", document.problems);
  field("arms", document.arms);
  field("made", document.made);
  field("progress", document.progress);
}

Result<nlohmann::json> ComparisonPage(std::string_view json, std::string_view where, std::string_view made_by) {
  const auto refuse = [&](const std::string& why) {
    return Fail(ErrorKind::kUsage, fmt::format("{}: {}; `hone compare --json` writes what is wanted", where, why));
  };
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return refuse("it is no JSON document");
  const auto read = FromRecord<ComparisonDocument>(parsed, "a comparison");
  if (!read) return refuse(read.error().message);
  const bool none = read->problems.empty() || read->arms.empty();
  if (none && !read->progress) return refuse("it has no problems or no arms");
  for (const ArmRow& row : read->arms) {
    if (row.by_problem.size() != read->problems.size() || row.curve.empty())
      return refuse(fmt::format("arm '{}' has not a quality of each problem, or no curve", row.arm));
  }
  nlohmann::json sections = nlohmann::json::array();
  for (const auto& [id, title] : {std::pair{"far", "How far it is"},
                                  {"arms", "Side by side"},
                                  {"curves", "Quality over attempts"},
                                  {"against", "Against the first"},
                                  {"problems", "By problem"},
                                  {"how", "How it was made"}}) {
    const std::string_view section = id;
    if (section == "how" && read->made.empty()) continue;
    if (section == "far" && (!read->progress || read->progress->ended_ms > 0)) continue;
    if (section == "against" && read->arms.size() == 1) continue;
    if (none && section != "far" && section != "how") continue;
    sections.push_back({{"id", id}, {"title", title}, {"data", nlohmann::json::object()}});
  }
  nlohmann::json document = ToRecord(*read);
  const std::string heading =
      none ? "Searches side by side"
           : fmt::format("{} searches over {} problems", read->arms.size(), read->problems.size());
  document.update({{"title", fmt::format("{}: comparison", heading)},
                   {"kind", "hone: comparison of searches"},
                   {"heading", heading},
                   {"made_by", made_by},
                   {"sections", std::move(sections)}});
  return document;
}

Result<std::string> WriteComparisonPage(std::string_view json, std::string_view where, std::string_view made_by) {
  return WritePage(HONE_TRY(ComparisonPage(json, where, made_by)));
}

}  // namespace hone
