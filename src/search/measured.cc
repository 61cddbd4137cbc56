#include "search/measured.h"

#include <utility>

namespace hone {

MeasuredOnce::MeasuredOnce(Evaluator& device, SpaceTable& table, std::function<double()> seconds)
    : device_(device), table_(table), seconds_(std::move(seconds)) {
  for (std::size_t i = 0; i < table.candidates.size(); ++i) places_[table.candidates[i].name] = i;
}

Result<Evaluation> MeasuredOnce::Evaluate(const Candidate& candidate, const EvaluateRequest& request) {
  const std::string name = TableName(candidate);
  const double began_s = seconds_();
  auto place = places_.find(name);
  if (place == places_.end()) {
    const Evaluation evaluation = HONE_TRY(device_.Evaluate(candidate, request));
    table_.candidates.push_back(MeasuredAs(name, evaluation, seconds_() - began_s));
    place = places_.emplace(name, table_.candidates.size() - 1).first;
  }
  const TableCandidate& known = table_.candidates[place->second];
  owed_s_ += known.seconds - (seconds_() - began_s);
  return RecordedEvaluation(known, seed_);
}

void MeasuredOnce::Foresee(std::vector<Candidate> likely) {
  std::erase_if(likely, [this](const Candidate& one) { return places_.contains(TableName(one)); });
  device_.Foresee(std::move(likely));
}

}  // namespace hone
