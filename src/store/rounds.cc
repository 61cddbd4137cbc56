// Rounds of a run, and what they proposed.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "store/store.h"

namespace hone {

// The proposals of a round are variants of one text, and often hundreds: what is alike is kept once.
Result<void> Store::AddProposal(std::int64_t run, int round, std::size_t place, const ProposalRecord& proposal,
                                std::string_view base, std::string_view base_blob) {
  const std::string_view source = proposal.source;
  const auto head = static_cast<std::size_t>(
      std::mismatch(base.begin(), base.end(), source.begin(), source.end()).first - base.begin());
  const std::string_view base_rest = base.substr(head), source_rest = source.substr(head);
  const auto tail = static_cast<std::size_t>(
      std::mismatch(base_rest.rbegin(), base_rest.rend(), source_rest.rbegin(), source_rest.rend()).first -
      base_rest.rbegin());
  Statement insert = HONE_TRY(connection_.Prepare(
      "INSERT INTO proposal (run, round, place, kind, identity, origin, key, predicted_us, base_blob, head, middle, "
      "tail, rule, promised, doubt, dropped) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
      "?16)"));
  insert.Bind(1, run).Bind(2, round).Bind(3, static_cast<std::int64_t>(place)).Bind(4, proposal.kind);
  insert.Bind(5, proposal.identity).Bind(6, proposal.origin).Bind(7, proposal.key).Bind(8, proposal.predicted_us);
  insert.Bind(9, base_blob).Bind(10, static_cast<std::int64_t>(head));
  insert.BindBytes(11, source_rest.substr(0, source_rest.size() - tail)).Bind(12, static_cast<std::int64_t>(tail));
  insert.Bind(13, proposal.rule).Bind(14, proposal.promised).Bind(15, proposal.doubt).Bind(16, proposal.dropped);
  return insert.Run();
}

Result<void> Store::AddRound(const RoundRecord& round, const std::vector<ProposalRecord>& proposals) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  const std::int64_t run = HONE_TRY(Sequence(round.run));
  Statement insert = HONE_TRY(connection_.Prepare(
      "INSERT INTO round (run, number, parent, turn, moment, asked_ms, answered_ms, input_tokens, output_tokens, "
      "dollars, mate) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"));
  insert.Bind(1, run).Bind(2, round.number).Bind(3, round.parent).Bind(4, round.turn).Bind(5, round.moment);
  insert.Bind(6, round.asked_ms).Bind(7, round.answered_ms).Bind(8, round.input_tokens).Bind(9, round.output_tokens);
  insert.Bind(10, round.dollars).Bind(11, round.mate);
  HONE_TRY(insert.Run());
  if (proposals.empty()) return transaction.Commit();
  std::string base = proposals.front().source, base_blob;
  Statement parent = HONE_TRY(connection_.Prepare("SELECT source_blob FROM attempt WHERE run = ?1 AND number = ?2"));
  if (HONE_TRY(parent.Bind(1, run).Bind(2, round.parent).Step())) {
    base_blob = parent.Text(0);
    base = HONE_TRY(Blob(base_blob));
  } else {
    base_blob = HONE_TRY(PutBlob(base));
  }
  for (std::size_t place = 0; place < proposals.size(); ++place) {
    HONE_TRY(AddProposal(run, round.number, place, proposals[place], base, base_blob));
  }
  return transaction.Commit();
}

Result<void> Store::SetDoubt(std::string_view run, int round, std::string_view key, std::string_view doubt,
                             bool dropped) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  Statement update = HONE_TRY(
      connection_.Prepare("UPDATE proposal SET doubt = ?4, dropped = ?5 WHERE run = ?1 AND round = ?2 AND key = ?3"));
  update.Bind(1, HONE_TRY(Sequence(run))).Bind(2, round).Bind(3, key).Bind(4, doubt).Bind(5, dropped ? 1 : 0);
  HONE_TRY(update.Run());
  return transaction.Commit();
}

Result<std::vector<ProposalRecord>> Store::Proposals(std::string_view run, int round, std::string_view likely) {
  Statement select = HONE_TRY(connection_.Prepare(
      "SELECT kind, identity, origin, key, predicted_us, head, middle, tail, base_blob, rule, promised, doubt, dropped "
      "FROM proposal WHERE run = ?1 AND round = ?2 ORDER BY place"));
  std::string base(likely), base_blob = likely.empty() ? "" : Sha256(likely);
  select.Bind(1, HONE_TRY(Sequence(run))).Bind(2, round);
  std::vector<ProposalRecord> proposals;
  while (HONE_TRY(select.Step())) {
    ProposalRecord& proposal = proposals.emplace_back();
    proposal.kind = select.Text(0);
    proposal.identity = select.Text(1);
    proposal.origin = select.Text(2);
    proposal.key = select.Text(3);
    proposal.predicted_us = select.Real(4);
    proposal.rule = select.Text(9);
    proposal.promised = select.Real(10);
    proposal.doubt = select.Text(11);
    proposal.dropped = select.Integer(12) != 0;
    const auto head = static_cast<std::size_t>(select.Integer(5)), tail = static_cast<std::size_t>(select.Integer(7));
    if (std::string key = select.Text(8); key != base_blob) {
      base = HONE_TRY(Blob(key));
      base_blob = std::move(key);
    }
    if (head + tail > base.size()) {
      return Fail(ErrorKind::kCorrupt, fmt::format("the run store {} is damaged: a proposal of round {} is longer than "
                                                   "what it was made from; restore the file from a copy",
                                                   path(), round));
    }
    proposal.source = base.substr(0, head) + select.Text(6) + base.substr(base.size() - tail);
  }
  return proposals;
}

Result<std::vector<RoundRecord>> Store::Rounds(std::string_view run, int after) {
  Statement select = HONE_TRY(
      connection_.Prepare("SELECT number, parent, turn, moment, asked_ms, answered_ms, input_tokens, output_tokens, "
                          "dollars, mate FROM round WHERE run = ?1 AND number > ?2 ORDER BY number"));
  select.Bind(1, HONE_TRY(Sequence(run))).Bind(2, after);
  std::vector<RoundRecord> rounds;
  while (HONE_TRY(select.Step())) {
    RoundRecord& round = rounds.emplace_back();
    round.run = run;
    round.number = static_cast<int>(select.Integer(0));
    round.parent = static_cast<int>(select.Integer(1));
    round.turn = static_cast<int>(select.Integer(2));
    round.moment = select.Integer(3);
    round.asked_ms = select.Integer(4);
    round.answered_ms = select.Integer(5);
    round.input_tokens = select.Integer(6);
    round.output_tokens = select.Integer(7);
    round.dollars = select.Real(8);
    round.mate = static_cast<int>(select.Integer(9));
  }
  return rounds;
}

}  // namespace hone
