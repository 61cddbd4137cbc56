#include "search/table.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/date.h"
#include "base/json_text.h"
#include "base/record.h"
#include "propose/experience_fields.h"
#include "search/record.h"

namespace hone {

template <SameAs<TableHead> Of>
void Fields(Of& head, auto&& field) {
  field("problem", head.problem, kAlways);
  field("target", head.target, kAlways);
  field("machine", head.machine, kAlways);
  field("processor", head.processor);
  field("proposer", head.proposer, kAlways);
  field("search", head.search, kAlways);
  field("recorded", head.recorded, kAlways);
  field("stop", head.stop);
  field("bound_us", head.bound_us);
}

template <SameAs<TableCandidate> Of>
void Fields(Of& candidate, auto&& field) {
  field("candidate", candidate.name, kAlways);
  field("outcome", candidate.outcome, ByName<Outcome>{Name, ParseOutcome});
  field("reason", candidate.reason);
  field("warm_us", candidate.warm_us, WrittenUnless{0.0});
  field("low_us", "high_us", candidate.interval);
  field("seconds", candidate.seconds);
}

template <SameAs<TableOffer> Of>
void Fields(Of& offer, auto&& field) {
  field("candidate", offer.candidate, kAlways);
  field("key", offer.key);
  field("predicted_us", offer.predicted_us, WrittenUnless{0.0});
  field("lesson", offer.lesson);
}

template <SameAs<TableRound> Of>
void Fields(Of& round, auto&& field) {
  field("from", round.from);
  field("turn", round.turn);
  field("seconds", round.seconds);
  field("unmeasured", round.unmeasured, WrittenUnless{0});
  field("offers", round.offers);
}

namespace {

using Json = nlohmann::json;

constexpr std::size_t kNameDigits = 16;

// Six digits say more than any clock does, and keep the file small.
double Rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

std::string Line(const Json& json) { return JsonText(json) + '\n'; }

// Whether all that it speaks of is there.
Result<void> Check(SpaceTable& table, Rounds rounds) {
  std::set<std::string_view> measured;
  for (const TableCandidate& one : table.candidates) {
    if (!measured.insert(one.name).second)
      return Fail(ErrorKind::kCorrupt, fmt::format("it has candidate {} twice", one.name));
    if (one.warm_us > 0 && (table.best_us == 0 || one.warm_us < table.best_us)) table.best_us = one.warm_us;
  }
  bool begins = false;
  for (const TableRound& round : table.rounds) {
    if (!round.from.empty() && !measured.contains(round.from))
      return Fail(ErrorKind::kCorrupt, fmt::format("it has a round from {}, which it does not have", round.from));
    for (const TableOffer& offer : round.offers) {
      if (!measured.contains(offer.candidate))
        return Fail(ErrorKind::kCorrupt, fmt::format("it offers {}, which was not measured", offer.candidate));
    }
    begins = begins || round.from.empty();
  }
  if (!begins && rounds == Rounds::kNeeded) return Fail(ErrorKind::kCorrupt, "no round of it says what to begin with");
  return {};
}

Result<void> ReadLine(const std::string& line, bool first, SpaceTable& table) try {
  const Json json = Json::parse(line);
  if (first) {
    if (json.value("hone_table", 0) != 1)
      return Fail(ErrorKind::kCorrupt, "the first line of a table has \"hone_table\": 1");
    table.head = HONE_TRY(FromRecord<TableHead>(json, "a table's head"));
  } else if (json.contains("offers")) {
    table.rounds.push_back(HONE_TRY(FromRecord<TableRound>(json, "a round of a table")));
  } else {
    TableCandidate& one =
        table.candidates.emplace_back(HONE_TRY(FromRecord<TableCandidate>(json, "a candidate of a table")));
    // Until 2026-11-29 disturbed timings were recorded with an interval that is not theirs.
    if (one.interval && (one.warm_us < one.interval->low || one.interval->high < one.warm_us)) one.interval.reset();
  }
  return {};
} catch (const Json::exception& error) {
  return Fail(ErrorKind::kCorrupt, error.what());
}

}  // namespace

std::string TableName(const Candidate& candidate) { return candidate.Identity().substr(0, kNameDigits); }

TableCandidate MeasuredAs(std::string name, const Evaluation& evaluation, double seconds) {
  TableCandidate one{.name = std::move(name),
                     .outcome = evaluation.verdict.outcome,
                     .reason = evaluation.verdict.reason,
                     .seconds = seconds};
  if (!evaluation.verdict.accepted() || !evaluation.timing) return one;
  one.warm_us = Rounded(evaluation.timing->LikelyUs());
  // A disturbed timing's interval is of its median, which is not what to go by.
  if (const auto& interval = evaluation.timing->warm.interval;
      interval && one.warm_us > 0 && evaluation.timing->disturbed.empty())
    one.interval = Interval{Rounded(interval->low), Rounded(interval->high)};
  return one;
}

std::string ToLines(const SpaceTable& table) {
  Json head = ToRecord(table.head);
  head["hone_table"] = 1;
  std::string lines = Line(head);
  for (const TableCandidate& one : table.candidates) lines += Line(ToRecord(one));
  for (const TableRound& one : table.rounds) lines += Line(ToRecord(one));
  return lines;
}

Result<SpaceTable> ReadTable(std::string_view lines, const std::string& name, Rounds rounds) {
  SpaceTable table;
  int number = 0;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    ++number;
    if (line.empty()) continue;
    if (Result<void> read = ReadLine(std::string(line), number == 1, table); !read)
      return Rethrow(std::move(read).error(), fmt::format("{}:{}: ", name, number));
  }
  if (number == 0) return Fail(ErrorKind::kCorrupt, fmt::format("{} is empty, and no table of a space", name));
  if (Result<void> sound = Check(table, rounds); !sound) return Rethrow(std::move(sound).error(), name + ": ");
  return table;
}

Result<SpaceTable> TableOf(Store& store, const RunRecord& run, const DescribeOffer& describe) {
  const RunSettings settings = HONE_TRY(ParseRunSettings(run.settings));
  SpaceTable table;
  table.head = {.problem = run.problem_name,
                .target = run.target,
                .machine = run.machine,
                .processor = "",
                .proposer = settings.proposer,
                .search = settings.search,
                .recorded = Today(),
                .stop = run.stop_reason,
                .bound_us = Rounded(run.bound_us)};
  std::map<int, std::string> names;  // by number
  std::map<int, Attempt> attempts;   // likewise
  std::set<std::string> measured;
  for (const AttemptRecord& record : HONE_TRY(store.Attempts(run.id))) {
    if (!record.ended()) continue;
    const Attempt attempt = HONE_TRY(ReadAttempt(store, record));
    const TableCandidate& one =
        table.candidates.emplace_back(MeasuredAs(record.identity.substr(0, kNameDigits), attempt.evaluation,
                                                 static_cast<double>(record.ended_ms - record.started_ms) / 1000));
    names[record.number] = one.name;
    if (describe) attempts.emplace(record.number, attempt);
    measured.insert(one.name);
  }
  for (const RoundRecord& record : HONE_TRY(store.Rounds(run.id))) {
    if (record.parent != 0 && !names.contains(record.parent)) continue;
    TableRound& round = table.rounds.emplace_back();
    round.from = names[record.parent];
    round.turn = record.turn;
    round.seconds = static_cast<double>(record.answered_ms - record.asked_ms) / 1000;
    for (const Proposal& one : HONE_TRY(ReadProposals(store, record))) {
      std::string name = TableName(one.candidate);
      if (!measured.contains(name)) {
        ++round.unmeasured;
        continue;
      }
      TableOffer& offer = round.offers.emplace_back();
      offer.candidate = std::move(name);
      offer.key = one.key;
      offer.predicted_us = Rounded(one.predicted_us);
      if (!describe) continue;
      const auto from = attempts.find(record.parent);
      offer.lesson = describe(one, from == attempts.end() ? nullptr : &from->second);
      if (offer.lesson) offer.lesson->share = Rounded(offer.lesson->share);
    }
  }
  if (Result<void> sound = Check(table, Rounds::kNeeded); !sound)
    return Rethrow(std::move(sound).error(), fmt::format("run {} makes no table: ", run.id));
  return table;
}

std::vector<Lesson> LessonsOf(const SpaceTable& table) {
  std::map<std::string_view, double> times_us;
  for (const TableCandidate& one : table.candidates) times_us[one.name] = one.warm_us;
  std::set<std::string_view> seen;
  std::vector<Lesson> lessons;
  for (const TableRound& round : table.rounds) {
    for (const TableOffer& offer : round.offers) {
      if (!offer.lesson || !seen.insert(offer.candidate).second) continue;
      Lesson& lesson = lessons.emplace_back(*offer.lesson);
      lesson.End(round.from.empty() ? offer.predicted_us : times_us[round.from], times_us[offer.candidate]);
    }
  }
  return lessons;
}

}  // namespace hone
