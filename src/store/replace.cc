// Runs written whole, as a merge does: the run store's rows of them, made anew.
#include <fmt/format.h>

#include "base/sha256.h"
#include "store/contents.h"

namespace hone {

Result<void> Store::ReplaceRuns(const std::vector<RunContents>& fresh, const std::vector<RunContents>& others) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  for (const RunContents& contents : fresh) HONE_TRY(ReplaceRun(contents, true));
  for (const RunContents& contents : others) HONE_TRY(ReplaceRun(contents, false));
  return transaction.Commit();
}

Result<void> Store::ReplaceRun(const RunContents& contents, bool fresh) {
  RunRecord run = contents.run;
  if (fresh) {
    run.id = HONE_TRY(FreeId(contents.run));
    const std::string made = HONE_TRY(CreateRun(run, contents.problem)).id;
    Statement name = HONE_TRY(connection_.Prepare("UPDATE run SET id = ?2 WHERE id = ?1"));
    HONE_TRY(name.Bind(1, made).Bind(2, run.id).Run());
  } else {
    const std::int64_t sequence = HONE_TRY(Sequence(run.id));
    for (const std::string_view table : {"confirmation", "attempt", "proposal", "round", "call", "journal"}) {
      Statement remove = HONE_TRY(connection_.Prepare(fmt::format("DELETE FROM {} WHERE run = ?1", table)));
      HONE_TRY(remove.Bind(1, sequence).Run());
    }
  }
  for (const RunContents::Tried& one : contents.attempts) {
    AttemptRecord attempt = one.record;
    attempt.run = run.id;
    HONE_TRY(BeginAttempt(attempt, one.source));
    attempt.log_blob.clear();
    HONE_TRY(EndAttempt(std::move(attempt), one.log, run));
  }
  for (const RunContents::Answered& one : contents.rounds) {
    RoundRecord round = one.record;
    round.run = run.id;
    HONE_TRY(AddRound(round, one.proposals));
  }
  for (const RunContents::Called& one : contents.calls) {
    CallRecord call = one.record;
    call.run = run.id;
    HONE_TRY(PutCall(call, one.reply));
  }
  for (const RunContents::Confirmed& one : contents.confirmations) {
    ConfirmationRecord confirmation = one.record;
    confirmation.run = run.id;
    confirmation.log_blob.clear();
    HONE_TRY(AddConfirmation(std::move(confirmation), one.log, run));
  }
  HONE_TRY(WriteRun(run));
  HONE_TRY(SetNote(run.id, run.note));
  // Times are those of the copy: when it was made is part of what a run is, and who is later says how it stands.
  Statement times = HONE_TRY(connection_.Prepare("UPDATE run SET created_ms = ?2, updated_ms = ?3 WHERE id = ?1"));
  return times.Bind(1, run.id).Bind(2, contents.run.created_ms).Bind(3, contents.run.updated_ms).Run();
}

// A short id is of one store. The same run has the same one in another store unless somebody else has it there.
Result<std::string> Store::FreeId(const RunRecord& run) {
  const std::string digest = Sha256(
      fmt::format("{} {} {} {} {}", run.problem_identity, run.target, run.machine, run.settings, run.created_ms));
  for (std::size_t length = 0; length <= digest.size(); ++length) {
    const std::string id = length == 0 ? run.id : digest.substr(0, length);
    if (id.size() < 6) continue;
    Statement clash = HONE_TRY(connection_.Prepare("SELECT 1 FROM run WHERE id = ?1"));
    clash.Bind(1, id);
    if (!HONE_TRY(clash.Step())) return id;
  }
  return Fail(ErrorKind::kCorrupt, fmt::format("the run store {} has no id left for a run", path()));
}

}  // namespace hone
