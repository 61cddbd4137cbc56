// When the run did what: stages on lanes.
#include <nlohmann/json.hpp>

#include "report/page.h"
#include "report/stages.h"

namespace hone::page_section_60_timeline {
namespace {

using Json = nlohmann::json;

// Milliseconds since the run began.
Json Data(const RunMaterial& material) {
  const std::vector<StageSpans> spans = SpansOf(material.attempts, material.evaluations);
  if (spans.empty()) return {};
  const auto since = [&](double ms) {
    return static_cast<std::int64_t>(ms - static_cast<double>(material.run.created_ms));
  };
  Json rows = Json::array(), rounds = Json::array(), confirmations = Json::array();
  bool stages = false, laid = false;
  for (const StageSpans& one : spans) {
    rows.push_back({one.attempt, one.lane, since(one.begin_ms), since(one.end_ms), since(one.compile.begin_ms),
                    since(one.compile.end_ms), since(one.check.begin_ms), since(one.check.end_ms),
                    since(one.time.begin_ms), since(one.time.end_ms)});
    stages = stages || one.time.end_ms > one.begin_ms;
    laid = laid || one.laid;
  }
  for (const RoundRecord& round : material.rounds) {
    rounds.push_back(
        {round.number, since(static_cast<double>(round.asked_ms)), since(static_cast<double>(round.answered_ms))});
  }
  for (std::size_t i = 0; i < material.confirmations.size(); ++i) {
    const auto end = static_cast<double>(material.confirmations[i].ended_ms);
    confirmations.push_back({material.confirmations[i].attempt, since(end - material.confirming_ms[i]), since(end)});
  }
  return {{"attempts", std::move(rows)},
          {"rounds", std::move(rounds)},
          {"confirmations", std::move(confirmations)},
          {"has_stages", stages},
          {"laid", laid}};
}

}  // namespace

HONE_ROW(PageSection){.name = "timeline", .title = "Where the time went", .data = Data};

}  // namespace hone::page_section_60_timeline
