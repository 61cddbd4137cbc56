#include "search/run_ledger.h"

#include <optional>
#include <utility>

namespace hone {
namespace {

CallRecord RecordOf(const std::string& run, const LedgerLine& line) {
  return {.run = run,
          .number = line.number,
          .parent = line.purpose.parent,
          .turn = line.purpose.turn,
          .step = line.purpose.step,
          .role = line.purpose.role,
          .model = line.model,
          .served = line.served,
          .begun_ms = line.begun_ms,
          .ended_ms = line.ended_ms,
          .estimated_tokens = line.estimated_tokens,
          .estimated_dollars = line.estimated_dollars,
          .input_tokens = line.usage.input_tokens,
          .cached_tokens = line.usage.cached_tokens,
          .written_tokens = line.usage.written_tokens,
          .output_tokens = line.usage.output_tokens,
          .dollars = line.dollars,
          .tries = line.tries,
          .untold = line.untold,
          .failure = line.failure};
}

LedgerLine LineOf(const CallRecord& call) {
  return {.number = call.number,
          .purpose = {.parent = call.parent, .turn = call.turn, .step = call.step, .role = call.role},
          .model = call.model,
          .served = call.served,
          .begun_ms = call.begun_ms,
          .ended_ms = call.ended_ms,
          .estimated_tokens = call.estimated_tokens,
          .estimated_dollars = call.estimated_dollars,
          .usage = {.input_tokens = call.input_tokens,
                    .cached_tokens = call.cached_tokens,
                    .written_tokens = call.written_tokens,
                    .output_tokens = call.output_tokens},
          .dollars = call.dollars,
          .tries = call.tries,
          .untold = call.untold,
          .failure = call.failure};
}

class StoreKeeper final : public LedgerKeeper {
 public:
  StoreKeeper(std::string path, std::string run) : path_(std::move(path)), run_(std::move(run)) {}

  Result<void> Keep(const LedgerLine& line) override {
    if (!store_) store_.emplace(HONE_TRY(Store::OpenExisting(path_)));
    return store_->PutCall(RecordOf(run_, line), line.reply);
  }

 private:
  const std::string path_, run_;
  std::optional<Store> store_;  // opened by the first call: a store is its thread's
};

}  // namespace

Result<std::vector<LedgerLine>> LedgerLines(Store& store, const std::string& run) {
  std::vector<LedgerLine> lines;
  for (const CallRecord& call : HONE_TRY(store.Calls(run))) lines.push_back(LineOf(call));
  return lines;
}

Result<std::unique_ptr<Ledger>> OpenLedger(Store& store, const std::string& run, Caps caps) {
  std::vector<LedgerLine> lines;
  for (const CallRecord& call : HONE_TRY(store.Calls(run))) {
    lines.push_back(LineOf(call));
    if (!call.reply_blob.empty()) lines.back().reply = HONE_TRY(store.Blob(call.reply_blob));
  }
  return std::make_unique<Ledger>(caps, std::move(lines), std::make_unique<StoreKeeper>(store.path(), run));
}

}  // namespace hone
