#include "search/remember.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

double WeightOf(const LessonRecord& lesson, const std::string& machine, const std::string& version) {
  constexpr double kDayMs = 24 * 3600 * 1000;
  const double days = static_cast<double>(std::max<std::int64_t>(0, UnixMilliseconds() - lesson.at_ms)) / kDayMs;
  return std::exp2(-days / kHalfLifeDays) * (lesson.version == version ? 1 : kOtherVersion) *
         (lesson.machine == machine ? 1 : kOtherMachine);
}

Lesson LessonFrom(const LessonRecord& record) {
  return {.family = record.family,
          .knob = record.knob,
          .before = record.before,
          .after = record.after,
          .dtype = record.dtype,
          .size = record.size,
          .limit = record.limited_by,
          .share = record.share,
          .gain = record.gain,
          .refused = record.outcome != Name(Outcome::kAccepted)};
}

Result<Recalled> Recall(Store& store, const RunRecord& run, const Beginnings& beginnings, const std::string& version) {
  Recalled recalled;
  for (const std::string& key : beginnings.keys) {
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
  std::vector<std::string> families = beginnings.families;
  families.emplace_back(kStart);
  for (const std::string& family : families) {
    for (const LessonRecord& one : HONE_TRY(store.Lessons(run.target, family)))
      recalled.experience.Add(LessonFrom(one), WeightOf(one, run.machine, version));
  }
  return recalled;
}

Experience ExperienceFrom(const std::vector<LessonRecord>& lessons, const std::string& target,
                          const std::string& machine, const std::string& version) {
  Experience experience;
  for (const LessonRecord& one : lessons) {
    if (one.target == target) experience.Add(LessonFrom(one), WeightOf(one, machine, version));
  }
  return experience;
}

std::optional<Lesson> LessonOf(const Proposal& proposal, const Attempt* from, const Problem& problem,
                               const DeviceModel& machine) {
  const std::string& text = proposal.candidate.text;
  if (from != nullptr) return ChangeBetween(from->proposal.candidate.text, text, problem, machine);
  constexpr std::string_view kExpert = "expert: ";
  if (!proposal.key.starts_with("cut ") || !proposal.origin.starts_with(kExpert)) return std::nullopt;
  return StartOf(text, proposal.origin.substr(kExpert.size()));
}

Result<void> RememberLessons(Store& store, const SearchOutcome& outcome, const Problem& problem,
                             const DeviceModel& machine, const std::string& version) {
  const RunRecord& run = outcome.run;
  std::vector<LessonRecord> records;
  for (int number = outcome.replayed + 1; number <= outcome.tree.attempts(); ++number) {
    const Attempt& attempt = outcome.tree.node(number).attempt;
    const Attempt* from = attempt.parent == 0 ? nullptr : &outcome.tree.node(attempt.parent).attempt;
    auto lesson = LessonOf(attempt.proposal, from, problem, machine);
    if (!lesson) continue;
    const double before_us =
        from == nullptr ? PredictedUs(attempt.proposal.candidate.text, problem, machine) : from->time_us();
    // What was not timed says nothing, and nobody improves on what was refused.
    if (before_us <= 0 || (attempt.accepted() && attempt.time_us() <= 0)) continue;
    lesson->End(before_us, attempt.time_us());
    const Class* limit = from == nullptr ? nullptr : from->insight->limits.decided();
    records.push_back({.run = run.id,
                       .attempt = number,
                       .target = run.target,
                       .machine = run.machine,
                       .problem_name = run.problem_name,
                       .problem_identity = run.problem_identity,
                       .family = lesson->family,
                       .knob = lesson->knob,
                       .before = lesson->before,
                       .after = lesson->after,
                       .dtype = lesson->dtype,
                       .size = lesson->size,
                       .limited_by = limit == nullptr ? "" : std::string(Name(limit->bottleneck)),
                       .rule = attempt.proposal.rule,
                       .share = lesson->share,
                       .gain = lesson->gain,
                       .outcome = std::string(Name(attempt.evaluation.verdict.outcome)),
                       .version = version,
                       .at_ms = UnixMilliseconds()});
  }
  return store.PutLessons(records);
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
