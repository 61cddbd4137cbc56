#include "store/store.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/check.h"
#include "base/date.h"
#include "base/files.h"
#include "base/sha256.h"
#include "store/schema.h"

namespace hone {
namespace {

constexpr std::string_view kRunColumns =
    "id, problem_name, problem_identity, problem_blob, target, machine, settings, budget, state, stop_reason, "
    "created_ms, "
    "updated_ms, best_attempt, bound_us, baselines, flags, note, learned, recalled";

RunState ParseState(const std::string& name) {
  // The table's CHECK lets nothing else in.
  if (name == Name(RunState::kDone)) return RunState::kDone;
  if (name == Name(RunState::kInterrupted)) return RunState::kInterrupted;
  return RunState::kRunning;
}

RunRecord ReadRun(const Statement& row) {
  RunRecord run;
  run.id = row.Text(0);
  run.problem_name = row.Text(1);
  run.problem_identity = row.Text(2);
  run.problem_blob = row.Text(3);
  run.target = row.Text(4);
  run.machine = row.Text(5);
  run.settings = row.Text(6);
  run.budget = row.Text(7);
  run.state = ParseState(row.Text(8));
  run.stop_reason = row.Text(9);
  run.created_ms = row.Integer(10);
  run.updated_ms = row.Integer(11);
  run.best_attempt = static_cast<int>(row.Integer(12));
  run.bound_us = row.Real(13);
  run.baselines = row.Text(14);
  run.flags = row.Text(15);
  run.note = row.Text(16);
  run.learned = row.Text(17);
  run.recalled = row.Text(18);
  return run;
}

}  // namespace

std::string_view Name(RunState state) {
  switch (state) {
    case RunState::kRunning: return "running";
    case RunState::kDone: return "done";
    case RunState::kInterrupted: return "interrupted";
  }
  return "running";
}

Result<Store> Store::Prepare(const std::string& path, IfAbsent if_absent) {
  Connection connection = HONE_TRY(Connection::Open(path, if_absent));
  HONE_TRY(PrepareSchema(connection));
  // FULL: a commit is on the disk when it returns. A run store is small and an attempt takes far longer than an fsync.
  HONE_TRY(connection.Execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL"));
  return Store(std::move(connection));
}

Result<Store> Store::Open(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) HONE_TRY(MakeDirectories(folder));
  return Prepare(path, IfAbsent::kCreate);
}

Result<Store> Store::OpenExisting(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no run store {}; `hone optimize` makes one, --store names another", path));
  }
  return Prepare(path, IfAbsent::kFail);
}

Result<std::string> Store::PutBlob(std::string_view bytes) {
  std::string key = Sha256(bytes);
  Statement insert =
      HONE_TRY(connection_.Prepare("INSERT INTO blob (key, bytes) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING"));
  HONE_TRY(insert.Bind(1, key).BindBytes(2, bytes).Run());
  return key;
}

Result<std::string> Store::Blob(std::string_view key) {
  Statement select = HONE_TRY(connection_.Prepare("SELECT bytes FROM blob WHERE key = ?1"));
  select.Bind(1, key);
  if (!HONE_TRY(select.Step())) {
    return Fail(ErrorKind::kNotFound, fmt::format("the run store {} has no text {}", path(), key));
  }
  std::string bytes = select.Text(0);
  if (Sha256(bytes) != key) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("the run store {} is damaged: text {} is not what was written; restore "
                            "the file from a copy",
                            path(), key));
  }
  return bytes;
}

Result<std::int64_t> Store::Sequence(std::string_view run) {
  Statement select = HONE_TRY(connection_.Prepare("SELECT sequence FROM run WHERE id = ?1"));
  select.Bind(1, run);
  if (!HONE_TRY(select.Step())) {
    return Fail(ErrorKind::kNotFound, fmt::format("the run store {} has no run {}", path(), run));
  }
  return select.Integer(0);
}

Result<RunRecord> Store::CreateRun(RunRecord run, std::string_view problem_json) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  run.problem_blob = HONE_TRY(PutBlob(problem_json));
  run.created_ms = run.updated_ms = UnixMilliseconds();
  if (run.baselines.empty()) run.baselines = "{}";
  if (run.flags.empty()) run.flags = "[]";
  const std::int64_t next =
      HONE_TRY(connection_.Integer("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'run'), 0) + 1"));
  // Short enough to type, and of the problem and a counter, so that two stores seldom use the same for different runs.
  const std::string digest = Sha256(fmt::format("{} {} {}", next, run.created_ms, run.problem_identity));
  for (std::size_t length = 6; length <= digest.size(); ++length) {
    run.id = digest.substr(0, length);
    Statement clash = HONE_TRY(connection_.Prepare("SELECT 1 FROM run WHERE id = ?1"));
    clash.Bind(1, run.id);
    if (!HONE_TRY(clash.Step())) break;
  }
  Statement insert =
      HONE_TRY(connection_.Prepare(fmt::format("INSERT INTO run ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
                                               "?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
                                               kRunColumns)));
  insert.Bind(1, run.id).Bind(2, run.problem_name).Bind(3, run.problem_identity).Bind(4, run.problem_blob);
  insert.Bind(5, run.target).Bind(6, run.machine).Bind(7, run.settings).Bind(8, run.budget).Bind(9, Name(run.state));
  insert.Bind(10, run.stop_reason).Bind(11, run.created_ms).Bind(12, run.updated_ms).Bind(13, run.best_attempt);
  insert.Bind(14, run.bound_us).Bind(15, run.baselines).Bind(16, run.flags);
  insert.Bind(17, run.note).Bind(18, run.learned).Bind(19, run.recalled);
  HONE_TRY(insert.Run());
  HONE_TRY(transaction.Commit());
  return run;
}

Result<std::vector<RunRecord>> Store::SelectRuns(std::string_view where, const std::vector<std::string_view>& values) {
  Statement select = HONE_TRY(
      connection_.Prepare(fmt::format("SELECT {} FROM run WHERE {} ORDER BY sequence DESC", kRunColumns, where)));
  for (std::size_t i = 0; i < values.size(); ++i) select.Bind(static_cast<int>(i + 1), values[i]);
  std::vector<RunRecord> runs;
  while (HONE_TRY(select.Step())) runs.push_back(ReadRun(select));
  return runs;
}

Result<std::vector<RunRecord>> Store::Runs() { return SelectRuns("TRUE", {}); }

Result<RunRecord> Store::FindRun(std::string_view prefix) {
  const std::vector<RunRecord> runs = HONE_TRY(SelectRuns("substr(id, 1, length(?1)) = lower(?1)", {prefix}));
  for (const RunRecord& run : runs) {
    if (run.id == prefix) return run;
  }
  if (runs.empty() || prefix.empty()) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("the run store {} has no run '{}'; `hone runs` lists them", path(), prefix));
  }
  if (runs.size() > 1) {
    return Fail(ErrorKind::kUsage, fmt::format("'{}' begins {} runs, {} and {} among them; give more of it", prefix,
                                               runs.size(), runs[0].id, runs[1].id));
  }
  return runs.front();
}

Result<std::optional<RunRecord>> Store::FindAlike(const RunRecord& run) {
  std::vector<RunRecord> runs =
      HONE_TRY(SelectRuns("problem_identity = ?1 AND target = ?2 AND machine = ?3 AND settings = ?4",
                          {run.problem_identity, run.target, run.machine, run.settings}));
  if (runs.empty()) return std::nullopt;
  return std::move(runs.front());
}

Result<void> Store::WriteRun(const RunRecord& run) {
  Statement update = HONE_TRY(connection_.Prepare(
      "UPDATE run SET state = ?2, stop_reason = ?3, budget = ?4, best_attempt = ?5, bound_us = ?6, baselines = ?7, "
      "updated_ms = ?8, flags = ?9 WHERE id = ?1"));
  update.Bind(1, run.id)
      .Bind(2, Name(run.state))
      .Bind(3, run.stop_reason)
      .Bind(4, run.budget)
      .Bind(5, run.best_attempt);
  update.Bind(6, run.bound_us)
      .Bind(7, run.baselines)
      .Bind(8, UnixMilliseconds())
      .Bind(9, run.flags.empty() ? "[]" : run.flags);
  return update.Run();
}

Result<void> Store::UpdateRun(const RunRecord& run) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  HONE_TRY(WriteRun(run));
  return transaction.Commit();
}

Result<std::optional<RunLock>> Store::Lock(std::string_view id) { return RunLock::Try(path(), HONE_TRY(Sequence(id))); }

Result<bool> Store::Active(std::string_view id) { return RunLock::Held(path(), HONE_TRY(Sequence(id))); }

Result<RunSummary> Store::Summarize(const RunRecord& run) {
  const std::int64_t sequence = HONE_TRY(Sequence(run.id));
  RunSummary summary;
  Statement count = HONE_TRY(connection_.Prepare(
      "SELECT count(*), coalesce(sum(outcome = 'accepted'), 0) FROM attempt WHERE run = ?1 AND ended_ms IS NOT NULL"));
  HONE_CHECK(HONE_TRY(count.Bind(1, sequence).Step()), "a count gave no row");
  summary.attempts = static_cast<int>(count.Integer(0));
  summary.accepted = static_cast<int>(count.Integer(1));
  Statement best = HONE_TRY(
      connection_.Prepare("SELECT median_us, speedup, 1 AS confirmed, sequence, speedup > 0 AS known FROM confirmation "
                          "WHERE run = ?1 AND attempt = ?2 UNION ALL "
                          "SELECT median_us, speedup, 0, 0, 0 FROM attempt WHERE run = ?1 AND number = ?2 "
                          "ORDER BY confirmed DESC, known DESC, sequence DESC LIMIT 1"));
  if (HONE_TRY(best.Bind(1, sequence).Bind(2, run.best_attempt).Step())) {
    summary.best_us = best.Real(0);
    summary.best_speedup = best.Real(1);
    summary.confirmed = best.Integer(2) != 0;
  }
  Statement rounds = HONE_TRY(connection_.Prepare(
      "SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(dollars), 0) "
      "FROM round WHERE run = ?1"));
  HONE_CHECK(HONE_TRY(rounds.Bind(1, sequence).Step()), "a count gave no row");
  summary.rounds = static_cast<int>(rounds.Integer(0));
  summary.input_tokens = rounds.Integer(1);
  summary.output_tokens = rounds.Integer(2);
  summary.dollars = rounds.Real(3);
  return summary;
}

Result<void> Store::SetNote(std::string_view id, std::string_view note) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  Statement update = HONE_TRY(connection_.Prepare("UPDATE run SET note = ?2 WHERE id = ?1"));
  HONE_TRY(update.Bind(1, id).Bind(2, note).Run());
  return transaction.Commit();
}

Result<void> Store::DeleteRun(std::string_view id) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  const std::int64_t run = HONE_TRY(Sequence(id));
  for (const std::string_view sql :
       {"DELETE FROM confirmation WHERE run = ?1", "DELETE FROM attempt WHERE run = ?1",
        "DELETE FROM proposal WHERE run = ?1", "DELETE FROM round WHERE run = ?1", "DELETE FROM call WHERE run = ?1",
        "DELETE FROM journal WHERE run = ?1", "DELETE FROM run WHERE sequence = ?1"}) {
    Statement remove = HONE_TRY(connection_.Prepare(sql));
    HONE_TRY(remove.Bind(1, run).Run());
  }
  Statement unused = HONE_TRY(connection_.Prepare(
      "DELETE FROM blob WHERE key NOT IN (SELECT problem_blob FROM run UNION SELECT source_blob FROM attempt UNION "
      "SELECT log_blob FROM attempt WHERE log_blob IS NOT NULL UNION SELECT base_blob FROM proposal UNION "
      "SELECT log_blob FROM confirmation WHERE log_blob IS NOT NULL UNION "
      "SELECT reply_blob FROM call WHERE reply_blob IS NOT NULL)"));
  HONE_TRY(unused.Run());
  return transaction.Commit();
}

Result<void> Store::BeginAttempt(AttemptRecord attempt, std::string_view source) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  const std::int64_t run = HONE_TRY(Sequence(attempt.run));
  attempt.source_blob = HONE_TRY(PutBlob(source));
  Statement left =
      HONE_TRY(connection_.Prepare("DELETE FROM attempt WHERE run = ?1 AND number = ?2 AND ended_ms IS NULL"));
  HONE_TRY(left.Bind(1, run).Bind(2, attempt.number).Run());
  Statement insert = HONE_TRY(connection_.Prepare(
      "INSERT INTO attempt (run, number, parent, kind, source_blob, identity, origin, key, predicted_us, started_ms, "
      "round, rule, promised, mate) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"));
  insert.Bind(1, run)
      .Bind(2, attempt.number)
      .Bind(3, attempt.parent)
      .Bind(4, attempt.kind)
      .Bind(5, attempt.source_blob);
  insert.Bind(6, attempt.identity).Bind(7, attempt.origin).Bind(8, attempt.key).Bind(9, attempt.predicted_us);
  insert.Bind(10, attempt.started_ms).Bind(11, attempt.round).Bind(12, attempt.rule).Bind(13, attempt.promised);
  insert.Bind(14, attempt.mate);
  HONE_TRY(insert.Run());
  return transaction.Commit();
}

Result<void> Store::EndAttempt(AttemptRecord attempt, std::string_view log, const RunRecord& run) {
  HONE_CHECK(attempt.ended(), "an attempt without an end time was given to EndAttempt");
  HONE_CHECK(attempt.run == run.id, "an attempt was recorded with another run");
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  const std::int64_t sequence = HONE_TRY(Sequence(attempt.run));
  if (!log.empty()) attempt.log_blob = HONE_TRY(PutBlob(log));
  Statement update = HONE_TRY(connection_.Prepare(
      "UPDATE attempt SET ended_ms = ?3, outcome = ?4, evaluation = ?5, log_blob = ?6, median_us = ?7, cold_us = ?8, "
      "speedup = ?9, joules = ?10, findings = ?11, limits = ?12, brought = ?13 WHERE run = ?1 AND number = ?2 AND "
      "ended_ms IS NULL "
      "RETURNING "
      "number"));
  update.Bind(1, sequence).Bind(2, attempt.number).Bind(3, attempt.ended_ms).Bind(4, attempt.outcome);
  update.Bind(5, attempt.evaluation)
      .BindOrNull(6, attempt.log_blob)
      .Bind(7, attempt.median_us)
      .Bind(8, attempt.cold_us);
  update.Bind(9, attempt.speedup).BindOrNull(10, attempt.joules).Bind(11, attempt.findings);
  update.Bind(12, attempt.limits).BindOrNull(13, attempt.brought);
  HONE_CHECK(HONE_TRY(update.Step()), "an attempt ended that had not begun");
  HONE_TRY(update.Run());
  HONE_TRY(WriteRun(run));
  return transaction.Commit();
}

Result<AttemptCount> Store::CountAttempts(std::string_view run, int after, int up_to) {
  Statement select = HONE_TRY(connection_.Prepare(
      "SELECT count(*), coalesce(max(number), 0), coalesce(sum(ended_ms - started_ms), 0) FROM attempt WHERE run = ?1 "
      "AND number > ?2 AND number <= ?3 AND ended_ms IS NOT NULL"));
  select.Bind(1, HONE_TRY(Sequence(run))).Bind(2, after).Bind(3, up_to);
  HONE_CHECK(HONE_TRY(select.Step()), "a count gave no row");
  return AttemptCount{static_cast<int>(select.Integer(0)), static_cast<int>(select.Integer(1)),
                      static_cast<double>(select.Integer(2)) / 1000};
}

Result<std::vector<AttemptRecord>> Store::Attempts(std::string_view run, int after, int at_most) {
  Statement select = HONE_TRY(connection_.Prepare(
      "SELECT number, parent, kind, source_blob, identity, origin, key, predicted_us, started_ms, ended_ms, outcome, "
      "evaluation, log_blob, median_us, cold_us, speedup, round, joules, findings, limits, rule, promised, brought, "
      "mate "
      "FROM attempt WHERE run = ?1 AND number > ?2 ORDER BY number LIMIT ?3"));
  select.Bind(1, HONE_TRY(Sequence(run))).Bind(2, after).Bind(3, at_most);
  std::vector<AttemptRecord> attempts;
  while (HONE_TRY(select.Step())) {
    AttemptRecord& attempt = attempts.emplace_back();
    attempt.run = run;
    attempt.number = static_cast<int>(select.Integer(0));
    attempt.parent = static_cast<int>(select.Integer(1));
    attempt.kind = select.Text(2);
    attempt.source_blob = select.Text(3);
    attempt.identity = select.Text(4);
    attempt.origin = select.Text(5);
    attempt.key = select.Text(6);
    attempt.predicted_us = select.Real(7);
    attempt.started_ms = select.Integer(8);
    attempt.ended_ms = select.Integer(9);
    attempt.outcome = select.Text(10);
    attempt.evaluation = select.Text(11);
    attempt.log_blob = select.Text(12);
    attempt.median_us = select.Real(13);
    attempt.cold_us = select.Real(14);
    attempt.speedup = select.Real(15);
    attempt.round = static_cast<int>(select.Integer(16));
    attempt.joules = select.RealOrNull(17);
    attempt.findings = select.Text(18);
    attempt.limits = select.Text(19);
    attempt.rule = select.Text(20);
    attempt.promised = select.Real(21);
    attempt.brought = select.RealOrNull(22);
    attempt.mate = static_cast<int>(select.Integer(23));
  }
  return attempts;
}

Result<void> Store::AddConfirmation(ConfirmationRecord confirmation, std::string_view log, const RunRecord& run) {
  HONE_CHECK(confirmation.run == run.id, "a confirmation was recorded with another run");
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  const std::int64_t sequence = HONE_TRY(Sequence(confirmation.run));
  if (!log.empty()) confirmation.log_blob = HONE_TRY(PutBlob(log));
  Statement insert = HONE_TRY(connection_.Prepare(
      "INSERT INTO confirmation (run, attempt, ended_ms, outcome, evaluation, log_blob, median_us, cold_us, speedup, "
      "joules) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  insert.Bind(1, sequence).Bind(2, confirmation.attempt).Bind(3, confirmation.ended_ms).Bind(4, confirmation.outcome);
  insert.Bind(5, confirmation.evaluation).BindOrNull(6, confirmation.log_blob).Bind(7, confirmation.median_us);
  insert.Bind(8, confirmation.cold_us).Bind(9, confirmation.speedup).BindOrNull(10, confirmation.joules);
  HONE_TRY(insert.Run());
  HONE_TRY(WriteRun(run));
  return transaction.Commit();
}

Result<std::vector<RuleOutcome>> Store::Outcomes(std::string_view target, std::string_view machine) {
  Statement select = HONE_TRY(connection_.Prepare(
      "SELECT rule, count(*), sum(promised), sum(max(brought, 0)) FROM attempt JOIN run ON run.sequence = attempt.run "
      "WHERE target = ?1 AND machine = ?2 AND rule <> '' AND brought IS NOT NULL GROUP BY rule ORDER BY rule"));
  select.Bind(1, target).Bind(2, machine);
  std::vector<RuleOutcome> outcomes;
  while (HONE_TRY(select.Step())) {
    outcomes.push_back({select.Text(0), select.Integer(1), select.Real(2), select.Real(3)});
  }
  return outcomes;
}

Result<std::vector<ConfirmationRecord>> Store::Confirmations(std::string_view run) {
  Statement select =
      HONE_TRY(connection_.Prepare("SELECT attempt, ended_ms, outcome, evaluation, log_blob, median_us, cold_us, "
                                   "speedup, joules FROM confirmation WHERE run = ?1 "
                                   "ORDER BY sequence"));
  select.Bind(1, HONE_TRY(Sequence(run)));
  std::vector<ConfirmationRecord> confirmations;
  while (HONE_TRY(select.Step())) {
    ConfirmationRecord& confirmation = confirmations.emplace_back();
    confirmation.run = run;
    confirmation.attempt = static_cast<int>(select.Integer(0));
    confirmation.ended_ms = select.Integer(1);
    confirmation.outcome = select.Text(2);
    confirmation.evaluation = select.Text(3);
    confirmation.log_blob = select.Text(4);
    confirmation.median_us = select.Real(5);
    confirmation.cold_us = select.Real(6);
    confirmation.speedup = select.Real(7);
    confirmation.joules = select.RealOrNull(8);
  }
  return confirmations;
}

}  // namespace hone
