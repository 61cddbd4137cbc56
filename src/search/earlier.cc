#include "search/earlier.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/check.h"
#include "search/record.h"

namespace hone {
namespace {

constexpr int kBatch = 512;  // of rows: large beside the start of a thread, small beside memory

std::vector<Result<EarlierAttempts::One>> ParseRows(std::vector<AttemptRecord> records) {
  const auto parse = [](AttemptRecord& record) -> Result<EarlierAttempts::One> {
    EarlierAttempts::One one;
    one.evaluation = HONE_TRY(ReadEvaluation(record.evaluation, ""));
    one.insight = HONE_TRY(ReadInsight(record));
    one.record = std::move(record);
    return one;
  };
  std::vector<Result<EarlierAttempts::One>> parsed;
  parsed.reserve(records.size());
  for (AttemptRecord& record : records) parsed.push_back(parse(record));
  return parsed;
}

}  // namespace

Result<void> EarlierAttempts::Load(const std::string& run, const AttemptCount& known) {
  run_ = run;
  read_ = known.ended;
  count_ = HONE_TRY(store_.CountAttempts(run, known.ended));
  count_.ended += known.ended;
  count_.last = std::max(count_.last, known.last);
  count_.seconds += known.seconds;
  if (count_.last == count_.ended) return {};
  int missing = 1;
  for (const AttemptRecord& record : HONE_TRY(store_.Attempts(run))) {
    if (record.number != missing || !record.ended()) break;
    ++missing;
  }
  return Fail(ErrorKind::kCorrupt, fmt::format("attempt {} of run {} is missing in {}; start another run with --seed",
                                               missing, run, store_.path()));
}

Result<void> EarlierAttempts::ReadAhead() {
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 4);
  while (read_ < count_.ended && ahead_.size() < threads) {
    const int rows = std::min(kBatch, count_.ended - read_);
    std::vector<AttemptRecord> records = HONE_TRY(store_.Attempts(run_, read_, rows));
    read_ += rows;
    // A short run is not worth a thread.
    const auto where = count_.ended < kBatch ? std::launch::deferred : std::launch::async;
    ahead_.push_back(std::async(where, ParseRows, std::move(records)));
  }
  return {};
}

Result<void> EarlierAttempts::Turn() {
  if (at_ < now_.size()) return {};
  HONE_TRY(ReadAhead());
  if (ahead_.empty()) return {};
  now_ = ahead_.front().get();
  ahead_.pop_front();
  at_ = 0;
  return ReadAhead();
}

Result<bool> EarlierAttempts::NextIs(int parent, const CandidateKey& candidate) {
  HONE_TRY(Turn());
  if (at_ == now_.size()) return false;
  if (!now_[at_]) return tl::unexpected<Error>(now_[at_].error());
  const AttemptRecord& record = now_[at_]->record;
  return record.parent == parent && CandidateKey::OfIdentity(record.identity) == candidate;
}

Result<EarlierAttempts::One> EarlierAttempts::Next() {
  HONE_TRY(Turn());
  HONE_CHECK(at_ < now_.size(), "one attempt more than a run has");
  One one = HONE_TRY(std::move(now_[at_++]));
  if (!one.record.log_blob.empty()) one.evaluation.verdict.evidence->log = HONE_TRY(store_.Blob(one.record.log_blob));
  return one;
}

}  // namespace hone
