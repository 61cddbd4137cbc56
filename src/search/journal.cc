#include "search/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/json_text.h"
#include "base/packed.h"
#include "base/sha256.h"
#include "search/record.h"
#include "verdict/verdict_fields.h"

namespace hone {

// Whole words, so that JSON has them exactly.
struct JournalHead {
  std::string shape, row;
  std::uint64_t hash = 0;
  std::int64_t events = 0;
  int rounds = 0, answered = 0;
  double seconds = 0, joules = 0;
  bool diverged = false;
  std::vector<std::uint64_t> random;
};
template <SameAs<JournalHead> Of>
void Fields(Of& head, auto&& field) {
  field("shape", head.shape);
  field("row", head.row);
  field("hash", head.hash);
  field("events", head.events);
  field("rounds", head.rounds);
  field("answered", head.answered);
  field("seconds", head.seconds);
  field("joules", head.joules);
  field("diverged", head.diverged);
  field("random", head.random);
}

namespace {

enum class Kind : std::uint8_t { kAsked, kAnswered, kDropped, kBegun, kBegunWhole, kEnded };

constexpr int kFormat = 1;  // of what is written here beside the fields of an evaluation

// What the bytes mean: they are read by whoever has the same.
const std::string& JournalShape() {
  static const std::string shape =
      Sha256(fmt::format("{} {} evidence {} timing {} verdict {} stages {}", kFormat, PackedShape<Evaluation>(),
                         PackedShape<Evidence>(), PackedShape<Timing>(), PackedShape<Verdict>(),
                         PackedShape<StageTimes>()))
          .substr(0, 16);
  return shape;
}

// Against damage, not against an enemy: whoever may write here may write rows.
std::uint64_t HashOf(std::string_view bytes) {
  std::uint64_t hash = bytes.size();
  for (; bytes.size() >= sizeof hash; bytes.remove_prefix(sizeof hash)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    hash = Random::Mix(hash ^ word) + hash;
  }
  for (const char byte : bytes) hash = Random::Mix(hash ^ static_cast<unsigned char>(byte)) + hash;
  return hash;
}

void PackKey(const CandidateKey& key, Packer& to) {
  to.Word(key.high);
  to.Word(key.low);
}
CandidateKey UnpackKey(Unpacker& from) {
  CandidateKey key;
  key.high = from.Word();
  key.low = from.Word();
  return key;
}

int UnpackInt(Unpacker& from) { return static_cast<int>(from.Number()); }

void PackProposal(const Proposal& proposal, Packer& to) {
  to.Number(static_cast<std::uint64_t>(proposal.candidate.kind));
  for (const std::string* text : {&proposal.candidate.text, &proposal.origin, &proposal.key, &proposal.rule})
    to.Text(*text);
  to.Real(proposal.predicted_us);
  to.Real(proposal.promised);
  to.Text(proposal.doubt);
  to.Number(proposal.dropped ? 1 : 0);
}
Proposal UnpackProposal(Unpacker& from) {
  Proposal proposal;
  proposal.candidate.kind = static_cast<CandidateKind>(from.Number());
  for (std::string* text : {&proposal.candidate.text, &proposal.origin, &proposal.key, &proposal.rule})
    *text = from.Text();
  proposal.predicted_us = from.Real();
  proposal.promised = from.Real();
  proposal.doubt = from.Text();
  proposal.dropped = from.Number() != 0;
  return proposal;
}

JournalAnswered UnpackAnswer(Unpacker& from) {
  JournalAnswered answer{.parent = UnpackInt(from), .mate = UnpackInt(from), .round = UnpackInt(from)};
  answer.none = from.Number() != 0;
  const std::uint64_t count = from.Number();
  for (std::uint64_t i = 0; i < count && from.ok(); ++i) {
    const CandidateKey key = UnpackKey(from);
    const double predicted_us = from.Real();
    WaitingProposal& one = answer.fresh.emplace_back(key, predicted_us, from.Text());
    one.round = answer.round;
    one.mate = answer.mate;
  }
  return answer;
}

// An insight is as its row has it: few runs of very many attempts have any.
void PackInsight(const Seldom<Insight>& insight, Packer& to) {
  to.Number(insight.Written() ? 1 : 0);
  if (!insight.Written()) return;
  AttemptRecord record;
  Complete(record, {}, *insight);
  to.Text(record.findings);
  to.Text(record.limits);
}

std::optional<JournalEnded> UnpackEnd(Unpacker& from) {
  JournalEnded ended;
  const bool how = from.Number() != 0;
  if (!UnpackFields(from, ended.evaluation)) return std::nullopt;
  if (!how) ended.evaluation.how.Clear();
  ended.log_blob = from.Text();
  if (from.Number() == 0) return ended;
  AttemptRecord record;
  record.findings = from.Text();
  record.limits = from.Text();
  Result<Insight> insight = ReadInsight(record);
  if (!insight) return std::nullopt;
  ended.insight = std::move(*insight);
  return ended;
}

// Nothing where the bytes are not those of events.
std::optional<std::vector<JournalEvent>> Unpack(std::string_view bytes) {
  Unpacker from(bytes);
  std::vector<JournalEvent> events;
  while (!from.AtEnd() && from.ok()) {
    switch (static_cast<Kind>(from.Number())) {
      case Kind::kAsked: events.emplace_back(JournalAsked{.parent = UnpackInt(from), .mate = UnpackInt(from)}); break;
      case Kind::kAnswered: events.emplace_back(UnpackAnswer(from)); break;
      case Kind::kDropped: events.emplace_back(JournalDropped{UnpackKey(from)}); break;
      case Kind::kBegun: {
        JournalBegun begun{.parent = UnpackInt(from), .waiting = from.Number()};
        begun.doubt = from.Text();
        events.emplace_back(std::move(begun));
        break;
      }
      case Kind::kBegunWhole: {
        Attempt attempt{.parent = UnpackInt(from), .mate = UnpackInt(from), .round = UnpackInt(from)};
        attempt.proposal = UnpackProposal(from);
        events.emplace_back(JournalBegun{.parent = attempt.parent, .attempt = std::move(attempt)});
        break;
      }
      case Kind::kEnded: {
        std::optional<JournalEnded> ended = UnpackEnd(from);
        if (!ended) return std::nullopt;
        events.emplace_back(std::move(*ended));
        break;
      }
      default: return std::nullopt;
    }
  }
  if (!from.ok()) return std::nullopt;
  return events;
}

}  // namespace

// --- Reading

// The row of an attempt that ended, in a few words.
Result<std::string> Journal::Row(int attempt) {
  const std::vector<AttemptRecord> rows = HONE_TRY(store_.Attempts(run_, attempt - 1, 1));
  if (rows.empty() || rows[0].number != attempt || !rows[0].ended()) return std::string();
  return fmt::format("{} {} {}", rows[0].identity, rows[0].outcome, rows[0].ended_ms);
}

Result<void> Journal::Load(const std::string& run) {
  run_ = run;
  for (const JournalRecord& record : HONE_TRY(store_.Journal(run))) {
    const auto json = nlohmann::json::parse(record.head, nullptr, false);
    Result<JournalHead> head = FromRecord<JournalHead>(json, "the head of a journal");
    const bool ours = head && head->shape == JournalShape() && head->random.size() == Random::State{}.size();
    if (!ours || head->row.empty() || head->row != HONE_TRY(Row(record.attempts))) {
      HONE_TRY(DropRest(heads_.size()));
      break;
    }
    Head& kept = heads_.emplace_back();
    kept.place = {.attempts = record.attempts,
                  .events = head->events,
                  .rounds = head->rounds,
                  .answered = head->answered,
                  .seconds = head->seconds,
                  .joules = head->joules,
                  .diverged = head->diverged};
    std::ranges::copy(head->random, kept.place.random.begin());
    kept.hash = head->hash;
  }
  return {};
}

Result<void> Journal::DropRest(std::size_t from) {
  ahead_.clear();
  heads_.resize(from);
  read_ = std::min(read_, from);
  return store_.DropJournal(run_, end().attempts);
}

Result<void> Journal::ReadAhead() {
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 4);
  for (; read_ < heads_.size() && ahead_.size() < threads; ++read_) {
    std::string bytes = HONE_TRY(store_.JournalBytes(run_, heads_[read_].place.attempts));
    const auto unpack = [bytes = std::move(bytes),
                         hash = heads_[read_].hash]() -> std::optional<std::vector<JournalEvent>> {
      if (HashOf(bytes) != hash) return std::nullopt;
      return Unpack(bytes);
    };
    // One piece is not worth a thread.
    ahead_.push_back(std::async(heads_.size() == 1 ? std::launch::deferred : std::launch::async, unpack));
  }
  return {};
}

Result<std::optional<Journal::Piece>> Journal::Next() {
  HONE_TRY(ReadAhead());
  if (ahead_.empty()) return std::nullopt;
  auto events = ahead_.front().get();
  ahead_.pop_front();
  if (!events) {
    HONE_TRY(DropRest(taken_));
    return std::nullopt;
  }
  HONE_TRY(ReadAhead());
  last_ = heads_[taken_++].place;
  rounds_ = last_.rounds;
  answered_ = last_.answered;
  return Piece{last_, std::move(*events)};
}

// --- Writing

void Journal::Asked(int parent, int mate) {
  Packer to(bytes_);
  to.Number(static_cast<std::uint64_t>(Kind::kAsked));
  to.Number(static_cast<std::uint64_t>(parent));
  to.Number(static_cast<std::uint64_t>(mate));
}

void Journal::Answered(const TreeNode& node, int round, int mate, bool none) {
  Packer to(bytes_);
  to.Number(static_cast<std::uint64_t>(Kind::kAnswered));
  to.Number(static_cast<std::uint64_t>(node.attempt.number));
  to.Number(static_cast<std::uint64_t>(mate));
  to.Number(static_cast<std::uint64_t>(round));
  to.Number(none ? 1 : 0);
  const auto is_of_it = [round](const WaitingProposal& one) { return one.round == round; };
  to.Number(static_cast<std::uint64_t>(std::ranges::count_if(node.waiting, is_of_it)));
  for (const WaitingProposal& one : node.waiting) {
    if (!is_of_it(one)) continue;
    PackKey(one.candidate(), to);
    to.Real(one.predicted_us());
    to.Text(one.packed());
  }
  rounds_ = std::max(rounds_, round);
  ++answered_;
}

void Journal::Dropped(const CandidateKey& candidate) {
  Packer to(bytes_);
  to.Number(static_cast<std::uint64_t>(Kind::kDropped));
  PackKey(candidate, to);
}

void Journal::Begun(const TreeNode& parent, const Attempt& attempt, const CandidateKey& candidate) {
  Packer to(bytes_);
  // What waits there under another name, or is of another answer, is not what was tried.
  const auto waits = std::ranges::find_if(parent.waiting, [&](const WaitingProposal& one) {
    return one.candidate() == candidate && one.round == attempt.round && one.mate == attempt.mate &&
           one.key() == attempt.proposal.key;
  });
  if (waits != parent.waiting.end()) {
    to.Number(static_cast<std::uint64_t>(Kind::kBegun));
    to.Number(static_cast<std::uint64_t>(parent.attempt.number));
    to.Number(static_cast<std::uint64_t>(waits - parent.waiting.begin()));
    to.Text(attempt.proposal.doubt);
    return;
  }
  to.Number(static_cast<std::uint64_t>(Kind::kBegunWhole));
  for (const int number : {attempt.parent, attempt.mate, attempt.round}) to.Number(static_cast<std::uint64_t>(number));
  PackProposal(attempt.proposal, to);
}

void Journal::Ended(const Attempt& attempt, std::string_view log_blob) {
  Packer to(bytes_);
  to.Number(static_cast<std::uint64_t>(Kind::kEnded));
  const Evaluation& evaluation = attempt.evaluation;
  to.Number(evaluation.how.Written() ? 1 : 0);
  if (log_blob.empty()) {
    PackFields(evaluation, to);
  } else {
    Evaluation without_log = evaluation;
    without_log.verdict.evidence->log.clear();
    PackFields(std::as_const(without_log), to);
  }
  to.Text(log_blob);
  PackInsight(attempt.insight, to);
}

Result<void> Journal::Write(JournalPlace now) {
  now.rounds = rounds_;
  now.answered = answered_;
  now.seconds = last_.seconds + HONE_TRY(store_.CountAttempts(run_, last_.attempts, now.attempts)).seconds;
  const JournalHead head{.shape = JournalShape(),
                         .row = HONE_TRY(Row(now.attempts)),
                         .hash = HashOf(bytes_),
                         .events = now.events,
                         .rounds = now.rounds,
                         .answered = now.answered,
                         .seconds = now.seconds,
                         .joules = now.joules,
                         .diverged = now.diverged,
                         .random = {now.random.begin(), now.random.end()}};
  HONE_TRY(store_.AddJournal(run_, {.attempts = now.attempts, .head = JsonText(ToRecord(head))}, bytes_));
  bytes_.clear();
  last_ = now;
  return {};
}

}  // namespace hone
