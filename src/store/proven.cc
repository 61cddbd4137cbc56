// What won: the run store's table of it.
#include <fmt/format.h>

#include "store/store.h"

namespace hone {
namespace {

constexpr std::string_view kProvenColumns =
    "piece, target, machine, run, text, settings, share, gain, speedup, problem_name, problem_identity, version, at_ms";

}  // namespace

Result<void> Store::PutProven(const std::vector<ProvenRecord>& pieces) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  for (const ProvenRecord& one : pieces) {
    Statement put = HONE_TRY(connection_.Prepare(fmt::format(
        "INSERT OR REPLACE INTO proven ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        kProvenColumns)));
    put.Bind(1, one.piece).Bind(2, one.target).Bind(3, one.machine).Bind(4, one.run).Bind(5, one.text);
    put.Bind(6, one.settings).Bind(7, one.share).Bind(8, one.gain).Bind(9, one.speedup).Bind(10, one.problem_name);
    put.Bind(11, one.problem_identity).Bind(12, one.version).Bind(13, one.at_ms);
    HONE_TRY(put.Run());
  }
  return transaction.Commit();
}

Result<void> Store::DeleteProven(const std::vector<ProvenRecord>& pieces) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  for (const ProvenRecord& one : pieces) {
    Statement remove = HONE_TRY(
        connection_.Prepare("DELETE FROM proven WHERE piece = ?1 AND target = ?2 AND machine = ?3 AND run = ?4"));
    HONE_TRY(remove.Bind(1, one.piece).Bind(2, one.target).Bind(3, one.machine).Bind(4, one.run).Run());
  }
  return transaction.Commit();
}

Result<std::vector<ProvenRecord>> Store::SelectProven(std::string_view where,
                                                      const std::vector<std::string_view>& values) {
  Statement select = HONE_TRY(connection_.Prepare(fmt::format("SELECT {} FROM proven {}", kProvenColumns, where)));
  for (std::size_t i = 0; i < values.size(); ++i) select.Bind(static_cast<int>(i + 1), values[i]);
  std::vector<ProvenRecord> pieces;
  while (HONE_TRY(select.Step())) {
    pieces.push_back({.piece = select.Text(0),
                      .target = select.Text(1),
                      .machine = select.Text(2),
                      .run = select.Text(3),
                      .text = select.Text(4),
                      .settings = select.Text(5),
                      .share = select.Real(6),
                      .gain = select.Real(7),
                      .speedup = select.Real(8),
                      .problem_name = select.Text(9),
                      .problem_identity = select.Text(10),
                      .version = select.Text(11),
                      .at_ms = select.Integer(12)});
  }
  return pieces;
}

Result<std::vector<ProvenRecord>> Store::Proven(std::string_view piece, std::string_view target,
                                                std::string_view machine) {
  return SelectProven(
      "WHERE piece = ?1 AND target = ?2 AND machine = ?3 ORDER BY share DESC, gain DESC, at_ms DESC, run",
      {piece, target, machine});
}

Result<std::vector<ProvenRecord>> Store::AllProven() { return SelectProven("ORDER BY at_ms DESC, run, piece", {}); }

}  // namespace hone
