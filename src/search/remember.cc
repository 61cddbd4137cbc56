#include "search/remember.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "base/json_text.h"
#include "search/record.h"

namespace hone {
namespace {

using Json = nlohmann::json;

// How many times as fast the attempt is as the start that it came from, in the search's own times.
double GainOf(const Tree& tree, int number) {
  const double us = tree.Value(number);
  while (tree.node(number).attempt.parent != 0) number = tree.node(number).attempt.parent;
  return us > 0 ? std::max(1.0, tree.Value(number) / us) : 1;
}

}  // namespace

Result<Recalled> Recall(Store& store, const RunRecord& run, const std::vector<std::string>& keys) {
  Recalled recalled;
  for (const std::string& key : keys) {
    const auto found = HONE_TRY(store.Proven(key, run.target, run.machine));
    if (found.empty()) continue;
    const ProvenRecord& record = found.front();
    ProvenPiece piece{.text = record.text,
                      .share = record.share,
                      .gain = record.gain,
                      .run = record.run,
                      .problem = record.problem_name};
    const Json settings = Json::parse(record.settings, nullptr, false);
    if (!settings.is_object() || !std::ranges::all_of(settings, [](const Json& one) { return one.is_string(); }))
      return Fail(ErrorKind::kCorrupt, fmt::format("the settings of a piece of run {} in {} are not ours: {}",
                                                   record.run, store.path(), record.settings));
    for (const auto& [knob, value] : settings.items()) piece.settings[knob] = value.get<std::string>();
    recalled.proven.emplace(key, std::move(piece));
  }
  return recalled;
}

Result<void> Remember(Store& store, const SearchOutcome& outcome, const std::map<std::string, ProvenPiece>& pieces,
                      const std::string& version) {
  if (!outcome.winner_confirmed) return {};
  const RunRecord& run = outcome.run;
  double speedup = 0;
  for (const Confirmed& one : outcome.confirmed) {
    if (one.attempt == run.best_attempt) speedup = PrimarySpeedup(one.evaluation);
  }
  std::vector<ProvenRecord> records;
  for (const auto& [key, piece] : pieces) {
    records.push_back({.piece = key,
                       .target = run.target,
                       .machine = run.machine,
                       .run = run.id,
                       .text = piece.text,
                       .settings = JsonText(Json(piece.settings)),
                       .share = piece.share,
                       .gain = GainOf(outcome.tree, run.best_attempt),
                       .speedup = speedup,
                       .problem_name = run.problem_name,
                       .problem_identity = run.problem_identity,
                       .version = version,
                       .at_ms = UnixMilliseconds()});
  }
  return store.PutProven(records);
}

}  // namespace hone
