// What was found, by rule, and what followed from it: what moves promised that acted on it, and what they brought.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "report/page.h"

namespace hone::page_section_35_findings {
namespace {

using Json = nlohmann::json;

struct Row {
  std::string title;
  int fired = 0, moved = 0;          // attempts
  double promised = 0, brought = 0;  // sums of shares of the time before; what made it slower brought nothing
  double most = 0;                   // that one move of it brought
  int at = 0;                        // the attempt that it was
};

Json Data(const RunMaterial& material) {
  std::map<std::string, Row> rows;
  for (const AttemptRecord& attempt : material.attempts) {
    std::set<std::string> fired;
    const Json findings = Json::parse(attempt.findings, nullptr, false);
    for (const Json& finding : findings.is_array() ? findings : Json::array()) {
      if (!finding.is_object()) continue;
      const std::string rule = finding.value("rule", "");
      if (fired.insert(rule).second) ++rows[rule].fired;
      rows[rule].title = finding.value("title", "");
    }
    if (attempt.rule.empty() || !attempt.brought) continue;
    Row& row = rows[attempt.rule];
    ++row.moved;
    row.promised += attempt.promised;
    row.brought += std::max(0.0, *attempt.brought);
    if (*attempt.brought <= row.most) continue;
    row.most = *attempt.brought;
    row.at = attempt.number;
  }
  if (rows.empty()) return {};
  Json out = Json::array();
  for (const auto& [rule, row] : rows) {
    out.push_back({{"rule", rule},
                   {"title", row.title},
                   {"fired", row.fired},
                   {"moved", row.moved},
                   {"promised", row.promised},
                   {"brought", row.brought},
                   {"most", row.most},
                   {"at", row.at}});
  }
  std::stable_sort(out.begin(), out.end(), [](const Json& a, const Json& b) {
    return a["fired"].get<int>() + a["moved"].get<int>() > b["fired"].get<int>() + b["moved"].get<int>();
  });
  return {{"rules", std::move(out)}};
}

}  // namespace

HONE_ROW(PageSection){.name = "findings", .title = "Findings, and what followed", .data = Data};

}  // namespace hone::page_section_35_findings
