#include "diagnose/finding.h"

#include <nlohmann/json.hpp>

#include "base/record.h"

namespace hone {

template <SameAs<Move> Of>
void Fields(Of& move, auto&& field) {
  field("knob", move.knob, kAlways);
  field("value", move.value);
  field("part", move.part, WrittenUnless<double>{1});
}

template <SameAs<Finding> Of>
void Fields(Of& finding, auto&& field) {
  field("rule", finding.rule, kAlways);
  field("title", finding.title);
  field("subject", finding.subject);
  field("evidence", finding.evidence, kAlways);
  field("advice", finding.advice, kAlways);
  field("lost", finding.lost);
  field("loss_us", finding.loss_us);
  field("confidence", finding.confidence);
  field("moves", finding.moves, kIfAny);
}

nlohmann::json ToJson(const Finding& finding) { return ToRecord(finding); }

Result<Finding> ParseFinding(const nlohmann::json& json, const std::string& what) {
  return FromRecord<Finding>(json, what);
}

}  // namespace hone
