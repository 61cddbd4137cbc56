// What was tried and what came of it: the run store's table of it.
#include <fmt/format.h>

#include "base/check.h"
#include "store/store.h"

namespace hone {
namespace {

constexpr std::string_view kLessonColumns =
    "run, attempt, target, machine, problem_name, problem_identity, family, knob, before, after, dtype, size, "
    "limited_by, rule, share, gain, outcome, version, at_ms";

}  // namespace

Result<void> Store::PutLessons(const std::vector<LessonRecord>& lessons) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  for (const LessonRecord& one : lessons) {
    Statement put = HONE_TRY(connection_.Prepare(
        fmt::format("INSERT OR REPLACE INTO lesson ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
                    "?13, ?14, ?15, ?16, ?17, ?18, ?19)",
                    kLessonColumns)));
    put.Bind(1, one.run).Bind(2, one.attempt).Bind(3, one.target).Bind(4, one.machine).Bind(5, one.problem_name);
    put.Bind(6, one.problem_identity).Bind(7, one.family).Bind(8, one.knob).Bind(9, one.before).Bind(10, one.after);
    put.Bind(11, one.dtype).Bind(12, one.size).Bind(13, one.limited_by).Bind(14, one.rule).Bind(15, one.share);
    put.Bind(16, one.gain).Bind(17, one.outcome).Bind(18, one.version).Bind(19, one.at_ms);
    HONE_TRY(put.Run());
  }
  return transaction.Commit();
}

Result<void> Store::PutMemory(const std::vector<ProvenRecord>& pieces, const std::vector<LessonRecord>& lessons) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  HONE_TRY(PutProven(pieces));
  HONE_TRY(PutLessons(lessons));
  return transaction.Commit();
}

Result<void> Store::DeleteLessons(const std::vector<LessonRecord>& lessons) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  for (const LessonRecord& one : lessons) {
    Statement remove = HONE_TRY(connection_.Prepare("DELETE FROM lesson WHERE run = ?1 AND attempt = ?2"));
    HONE_TRY(remove.Bind(1, one.run).Bind(2, one.attempt).Run());
  }
  return transaction.Commit();
}

Result<std::vector<LessonRecord>> Store::SelectLessons(std::string_view where,
                                                       const std::vector<std::string_view>& values) {
  Statement select = HONE_TRY(
      connection_.Prepare(fmt::format("SELECT {} FROM lesson {} ORDER BY at_ms, run, attempt", kLessonColumns, where)));
  for (std::size_t i = 0; i < values.size(); ++i) select.Bind(static_cast<int>(i + 1), values[i]);
  std::vector<LessonRecord> lessons;
  while (HONE_TRY(select.Step())) {
    lessons.push_back({.run = select.Text(0),
                       .attempt = static_cast<int>(select.Integer(1)),
                       .target = select.Text(2),
                       .machine = select.Text(3),
                       .problem_name = select.Text(4),
                       .problem_identity = select.Text(5),
                       .family = select.Text(6),
                       .knob = select.Text(7),
                       .before = select.Text(8),
                       .after = select.Text(9),
                       .dtype = select.Text(10),
                       .size = static_cast<int>(select.Integer(11)),
                       .limited_by = select.Text(12),
                       .rule = select.Text(13),
                       .share = select.Real(14),
                       .gain = select.Real(15),
                       .outcome = select.Text(16),
                       .version = select.Text(17),
                       .at_ms = select.Integer(18)});
  }
  return lessons;
}

Result<std::vector<LessonRecord>> Store::Lessons(std::string_view target, std::string_view family) {
  return SelectLessons("WHERE target = ?1 AND family = ?2", {target, family});
}

Result<Doubts> Store::CountDoubts(std::string_view problem, std::string_view machine) {
  // Whether it is among the faster half is asked of the few that were tried, and so may take a look at all of a run's.
  Statement select = HONE_TRY(connection_.Prepare(
      "SELECT substr(doubt, 1, 7) = 'build: ' AS build, sum(proposal.dropped), count(attempt.number), "
      "coalesce(sum(attempt.outcome = 'accepted'), 0), "
      "coalesce(sum(attempt.outcome = 'accepted' AND attempt.median_us > 0 AND 2 * (SELECT count(*) FROM attempt AS "
      "one "
      "WHERE one.run = attempt.run AND one.outcome = 'accepted' AND one.median_us > 0 AND one.median_us < "
      "attempt.median_us) < (SELECT count(*) FROM attempt AS one WHERE one.run = attempt.run AND one.outcome = "
      "'accepted' AND one.median_us > 0)), 0) "
      "FROM proposal JOIN run ON run.sequence = proposal.run LEFT JOIN attempt ON proposal.dropped = 0 AND attempt.run "
      "= proposal.run AND attempt.round = proposal.round AND attempt.key = proposal.key AND attempt.ended_ms IS NOT "
      "NULL "
      "WHERE proposal.doubt <> '' AND instr(run.problem_name, ?1) > 0 AND substr(run.machine, 1, length(?2)) = ?2 "
      "GROUP BY build"));
  select.Bind(1, problem).Bind(2, machine);
  Doubts doubts;
  while (HONE_TRY(select.Step())) {
    (select.Integer(0) != 0 ? doubts.builds : doubts.experience) = {select.Integer(1), select.Integer(2),
                                                                    select.Integer(3), select.Integer(4)};
  }
  return doubts;
}

Result<std::vector<LessonRecord>> Store::AllLessons() { return SelectLessons("", {}); }

}  // namespace hone
