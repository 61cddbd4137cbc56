// The journal of a run, in pieces.
#include <fmt/format.h>

#include "store/store.h"

namespace hone {

Result<void> Store::AddJournal(std::string_view run, const JournalRecord& piece, std::string_view bytes) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  Statement insert =
      HONE_TRY(connection_.Prepare("INSERT INTO journal (run, attempts, head, bytes) VALUES (?1, ?2, ?3, ?4)"));
  insert.Bind(1, HONE_TRY(Sequence(run))).Bind(2, piece.attempts).Bind(3, piece.head).BindBytes(4, bytes);
  HONE_TRY(insert.Run());
  return transaction.Commit();
}

Result<std::vector<JournalRecord>> Store::Journal(std::string_view run) {
  Statement select =
      HONE_TRY(connection_.Prepare("SELECT attempts, head FROM journal WHERE run = ?1 ORDER BY attempts"));
  select.Bind(1, HONE_TRY(Sequence(run)));
  std::vector<JournalRecord> pieces;
  while (HONE_TRY(select.Step()))
    pieces.push_back({.attempts = static_cast<int>(select.Integer(0)), .head = select.Text(1)});
  return pieces;
}

Result<std::string> Store::JournalBytes(std::string_view run, int attempts) {
  Statement select = HONE_TRY(connection_.Prepare("SELECT bytes FROM journal WHERE run = ?1 AND attempts = ?2"));
  if (!HONE_TRY(select.Bind(1, HONE_TRY(Sequence(run))).Bind(2, attempts).Step()))
    return Fail(ErrorKind::kNotFound, fmt::format("the journal of run {} has no piece of {}", run, attempts));
  return select.Text(0);
}

Result<void> Store::DropJournal(std::string_view run, int after) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  Statement remove = HONE_TRY(connection_.Prepare("DELETE FROM journal WHERE run = ?1 AND attempts > ?2"));
  HONE_TRY(remove.Bind(1, HONE_TRY(Sequence(run))).Bind(2, after).Run());
  return transaction.Commit();
}

}  // namespace hone
