// What calls of language models cost: the run store's table of them.
#include "store/store.h"

namespace hone {

Result<void> Store::PutCall(const CallRecord& call, std::string_view reply) {
  Transaction transaction = HONE_TRY(Transaction::Begin(connection_));
  const std::int64_t run = HONE_TRY(Sequence(call.run));
  const std::string reply_blob = reply.empty() ? std::string() : HONE_TRY(PutBlob(reply));
  Statement put = HONE_TRY(connection_.Prepare(
      "INSERT OR REPLACE INTO call (run, number, parent, turn, step, role, model, served, begun_ms, ended_ms, "
      "estimated_tokens, estimated_dollars, input_tokens, cached_tokens, written_tokens, output_tokens, dollars, "
      "tries, "
      "untold, failure, reply_blob) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, nullif(?10, 0), ?11, ?12, ?13, ?14, "
      "?15, "
      "?16, ?17, ?18, ?19, ?20, ?21)"));
  const auto count = [](const std::optional<std::int64_t>& value) {
    return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
  };
  put.Bind(1, run).Bind(2, call.number).Bind(3, call.parent).Bind(4, call.turn).Bind(5, call.step);
  put.Bind(6, call.role).Bind(7, call.model).Bind(8, call.served).Bind(9, call.begun_ms).Bind(10, call.ended_ms);
  put.Bind(11, call.estimated_tokens).BindOrNull(12, call.estimated_dollars);
  put.BindOrNull(13, count(call.input_tokens)).BindOrNull(14, count(call.cached_tokens));
  put.BindOrNull(15, count(call.written_tokens)).BindOrNull(16, count(call.output_tokens));
  put.BindOrNull(17, call.dollars).Bind(18, call.tries).Bind(19, call.untold).Bind(20, call.failure);
  put.BindOrNull(21, reply_blob);
  HONE_TRY(put.Run());
  return transaction.Commit();
}

Result<std::vector<CallRecord>> Store::Calls(std::string_view run) {
  Statement select =
      HONE_TRY(connection_.Prepare("SELECT number, parent, turn, step, role, model, served, begun_ms, ended_ms, "
                                   "estimated_tokens, estimated_dollars, "
                                   "input_tokens, cached_tokens, written_tokens, output_tokens, dollars, tries, "
                                   "untold, failure, reply_blob FROM call "
                                   "WHERE run = ?1 ORDER BY number"));
  select.Bind(1, HONE_TRY(Sequence(run)));
  const auto count = [&](int column) {
    const std::optional<double> value = select.RealOrNull(column);
    return value ? std::optional<std::int64_t>(static_cast<std::int64_t>(*value)) : std::nullopt;
  };
  std::vector<CallRecord> calls;
  while (HONE_TRY(select.Step())) {
    CallRecord& call = calls.emplace_back();
    call.run = run;
    call.number = static_cast<int>(select.Integer(0));
    call.parent = static_cast<int>(select.Integer(1));
    call.turn = static_cast<int>(select.Integer(2));
    call.step = static_cast<int>(select.Integer(3));
    call.role = select.Text(4);
    call.model = select.Text(5);
    call.served = select.Text(6);
    call.begun_ms = select.Integer(7);
    call.ended_ms = select.Integer(8);
    call.estimated_tokens = select.Integer(9);
    call.estimated_dollars = select.RealOrNull(10);
    call.input_tokens = count(11);
    call.cached_tokens = count(12);
    call.written_tokens = count(13);
    call.output_tokens = count(14);
    call.dollars = select.RealOrNull(15);
    call.tries = static_cast<int>(select.Integer(16));
    call.untold = static_cast<int>(select.Integer(17));
    call.failure = select.Text(18);
    call.reply_blob = select.Text(19);
  }
  return calls;
}

}  // namespace hone
