#include "store/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace hone {
namespace {

// Fields one after another, none of which can run into the next.
class Text {
 public:
  Text& operator<<(std::string_view field) {
    text_ += fmt::format("{}:{};", field.size(), field);
    return *this;
  }
  Text& operator<<(double field) { return *this << std::string_view(fmt::format("{:a}", field)); }
  Text& operator<<(std::int64_t field) { return *this << std::string_view(std::to_string(field)); }
  Text& operator<<(int field) { return *this << std::int64_t{field}; }
  template <class T>
  Text& operator<<(const std::optional<T>& field) {
    return field ? *this << *field : *this << std::string_view("-");
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// Numbers that a union gives anew (of rounds and calls) are in none of these.
std::string TextOf(const RunRecord& one) {
  Text text;
  text << one.budget << Name(one.state) << one.stop_reason << one.best_attempt << one.bound_us << one.baselines
       << one.flags << one.learned << one.recalled;
  return text.Take();
}

std::string TextOf(const RunContents::Tried& one) {
  const AttemptRecord& record = one.record;
  Text text;
  text << record.ended_ms << record.number << record.parent << record.mate << record.kind << record.identity
       << record.origin << record.key << record.predicted_us << record.rule << record.promised << record.started_ms
       << record.outcome << record.evaluation << record.median_us << record.cold_us << record.speedup << record.joules
       << record.findings << record.limits << record.brought << one.source << one.log;
  return text.Take();
}

std::string TextOf(const RunContents::Answered& one) {
  const RoundRecord& record = one.record;
  Text text;
  text << record.parent << record.mate << record.turn << record.moment << record.asked_ms << record.answered_ms
       << record.input_tokens << record.output_tokens << record.dollars;
  for (const ProposalRecord& proposal : one.proposals) {
    text << proposal.kind << proposal.source << proposal.identity << proposal.origin << proposal.key
         << proposal.predicted_us << proposal.rule << proposal.promised << proposal.doubt << (proposal.dropped ? 1 : 0);
  }
  return text.Take();
}

std::string TextOf(const RunContents::Called& one) {
  const CallRecord& record = one.record;
  Text text;
  text << record.parent << record.turn << record.step << record.role << record.model << record.served << record.begun_ms
       << record.ended_ms << record.estimated_tokens << record.estimated_dollars << record.input_tokens
       << record.cached_tokens << record.written_tokens << record.output_tokens << record.dollars << record.tries
       << record.untold << record.failure << one.reply;
  return text.Take();
}

std::string TextOf(const RunContents::Confirmed& one) {
  const ConfirmationRecord& record = one.record;
  Text text;
  text << record.attempt << record.ended_ms << record.outcome << record.evaluation << record.median_us << record.cold_us
       << record.speedup << record.joules << one.log;
  return text.Take();
}

// Of two lists of attempts the one that stays, and how many are at the head of both.
struct Chosen {
  bool ours = true;
  std::size_t common = 0;
};

Chosen Choose(const std::vector<RunContents::Tried>& ours, const std::vector<RunContents::Tried>& theirs) {
  std::size_t common = 0;
  while (common < ours.size() && common < theirs.size() && TextOf(ours[common]) == TextOf(theirs[common])) ++common;
  if (common == theirs.size()) return {true, common};
  if (common == ours.size()) return {false, common};
  const auto order = [](const RunContents::Tried& one) { return std::tuple(one.record.ended_ms, TextOf(one)); };
  return {order(ours[common]) < order(theirs[common]), common};
}

using Asked = std::pair<int, int>;  // parent and turn

Asked QuestionOf(const RunContents::Answered& one) { return {one.record.parent, one.record.turn}; }

// Which question the round with that number answers; nothing: none of it, so recorded before rounds were.
std::optional<Asked> QuestionOf(const std::vector<RunContents::Answered>& rounds, int number) {
  for (const RunContents::Answered& one : rounds) {
    if (one.record.number == number) return QuestionOf(one);
  }
  return std::nullopt;
}

// Answers of both, of one question the earlier; those about attempts that do not stay go with them.
std::vector<RunContents::Answered> UnionOfRounds(const RunContents& stays, const RunContents& other,
                                                 std::size_t common) {
  std::map<Asked, RunContents::Answered> by_question;
  const auto order = [](const RunContents::Answered& one) { return std::tuple(one.record.answered_ms, TextOf(one)); };
  const auto add = [&](const RunContents::Answered& one) {
    const auto [found, fresh] = by_question.emplace(QuestionOf(one), one);
    if (!fresh && order(one) < order(found->second)) found->second = one;
  };
  for (const RunContents::Answered& one : stays.rounds) add(one);
  for (const RunContents::Answered& one : other.rounds) {
    if (one.record.parent <= static_cast<int>(common)) add(one);
  }
  std::vector<RunContents::Answered> rounds;
  for (auto& [question, one] : by_question) rounds.push_back(std::move(one));
  std::ranges::stable_sort(rounds, {}, [](const RunContents::Answered& one) {
    return std::tuple(one.record.answered_ms, one.record.parent, one.record.turn);
  });
  for (std::size_t i = 0; i < rounds.size(); ++i) rounds[i].record.number = static_cast<int>(i) + 1;
  return rounds;
}

// Lines of both ledgers; of one call that was being made in one of them, how it ended.
std::vector<RunContents::Called> UnionOfCalls(const RunContents& one, const RunContents& other) {
  using Begun = std::tuple<std::int64_t, int, int, int, std::string, std::string>;
  std::map<Begun, RunContents::Called> by_begin;
  for (const std::vector<RunContents::Called>* calls : {&one.calls, &other.calls}) {
    for (const RunContents::Called& call : *calls) {
      const CallRecord& record = call.record;
      const Begun key{record.begun_ms, record.parent, record.turn, record.step, record.role, record.model};
      const auto [found, fresh] = by_begin.emplace(key, call);
      if (fresh) continue;
      const auto order = [](const RunContents::Called& of) { return std::tuple(of.record.ended_ms, TextOf(of)); };
      if (order(found->second) < order(call)) found->second = call;
    }
  }
  std::vector<RunContents::Called> calls;
  for (auto& [key, call] : by_begin) {
    call.record.number = static_cast<int>(calls.size()) + 1;
    calls.push_back(std::move(call));
  }
  return calls;
}

std::vector<RunContents::Confirmed> UnionOfConfirmations(const RunContents& stays, const RunContents& other,
                                                         std::size_t common) {
  std::map<std::pair<std::int64_t, std::string>, RunContents::Confirmed> by_end;
  for (const RunContents::Confirmed& one : stays.confirmations) by_end[{one.record.ended_ms, TextOf(one)}] = one;
  for (const RunContents::Confirmed& one : other.confirmations) {
    if (one.record.attempt <= static_cast<int>(common)) by_end[{one.record.ended_ms, TextOf(one)}] = one;
  }
  std::vector<RunContents::Confirmed> confirmations;
  for (auto& [key, one] : by_end) confirmations.push_back(std::move(one));
  return confirmations;
}

}  // namespace

bool SameRun(const RunRecord& a, const RunRecord& b) {
  const auto key = [](const RunRecord& run) {
    return std::tie(run.problem_identity, run.target, run.machine, run.settings, run.created_ms);
  };
  return key(a) == key(b);
}

RunContents Union(const RunContents& ours, const RunContents& theirs) {
  const Chosen chosen = Choose(ours.attempts, theirs.attempts);
  const bool level = chosen.common == ours.attempts.size() && chosen.common == theirs.attempts.size();
  const RunContents& stays = chosen.ours ? ours : theirs;
  const RunContents& other = chosen.ours ? theirs : ours;
  RunContents merged;
  // How the run stands is said by who tried most, of equal ones by the later.
  const auto order = [](const RunRecord& run) { return std::tuple(run.updated_ms, TextOf(run)); };
  merged.run = level && order(stays.run) < order(other.run) ? other.run : stays.run;
  merged.run.id = ours.run.id;
  merged.run.problem_name = std::min(ours.run.problem_name, theirs.run.problem_name);
  merged.run.note = std::max(ours.run.note, theirs.run.note);
  // The texts may differ in what is no part of the identity, such as where the file lay.
  merged.problem = std::min(ours.problem, theirs.problem);
  merged.rounds = UnionOfRounds(stays, other, chosen.common);
  merged.attempts = stays.attempts;
  for (RunContents::Tried& one : merged.attempts) {
    const std::optional<Asked> question = QuestionOf(stays.rounds, one.record.round);
    one.record.round = 0;
    for (const RunContents::Answered& round : merged.rounds) {
      if (question && QuestionOf(round) == *question) one.record.round = round.record.number;
    }
  }
  merged.calls = UnionOfCalls(stays, other);
  merged.confirmations = UnionOfConfirmations(stays, other, chosen.common);
  return merged;
}

std::string TextOf(const RunContents& contents) {
  const RunRecord& run = contents.run;
  Text text;
  text << run.problem_name << run.problem_identity << run.target << run.machine << run.settings << run.created_ms
       << run.updated_ms << run.note << TextOf(run) << contents.problem;
  for (const auto& one : contents.attempts) text << one.record.round << TextOf(one);
  for (const auto& one : contents.rounds) text << TextOf(one);
  for (const auto& one : contents.calls) text << TextOf(one);
  for (const auto& one : contents.confirmations) text << TextOf(one);
  return text.Take();
}

Result<RunContents> ReadContents(Store& store, const RunRecord& run) {
  const auto text = [&store](const std::string& key) -> Result<std::string> {
    return key.empty() ? Result<std::string>(std::string()) : store.Blob(key);
  };
  RunContents contents;
  contents.run = run;
  contents.problem = HONE_TRY(store.Blob(run.problem_blob));
  for (AttemptRecord& record : HONE_TRY(store.Attempts(run.id))) {
    if (!record.ended()) continue;
    RunContents::Tried one;
    one.source = HONE_TRY(text(record.source_blob));
    one.log = HONE_TRY(text(record.log_blob));
    one.record = std::move(record);
    contents.attempts.push_back(std::move(one));
  }
  for (RoundRecord& record : HONE_TRY(store.Rounds(run.id))) {
    auto proposals = HONE_TRY(store.Proposals(run.id, record.number));
    contents.rounds.push_back({std::move(record), std::move(proposals)});
  }
  for (CallRecord& record : HONE_TRY(store.Calls(run.id))) {
    std::string reply = HONE_TRY(text(record.reply_blob));
    contents.calls.push_back({std::move(record), std::move(reply)});
  }
  for (ConfirmationRecord& record : HONE_TRY(store.Confirmations(run.id))) {
    std::string log = HONE_TRY(text(record.log_blob));
    contents.confirmations.push_back({std::move(record), std::move(log)});
  }
  return contents;
}

Result<Written> WriteContents(Store& store, const std::vector<RunContents>& runs) {
  Written written;
  std::vector<RunLock> locks;  // held until all of it is on the disk
  std::vector<RunContents> fresh, others;
  const std::vector<RunRecord> here = HONE_TRY(store.Runs());
  for (const RunContents& theirs : runs) {
    const auto found = std::ranges::find_if(here, [&](const RunRecord& run) { return SameRun(run, theirs.run); });
    if (found == here.end()) {
      fresh.push_back(theirs);
      continue;
    }
    std::optional<RunLock> lock = HONE_TRY(store.Lock(found->id));
    if (!lock) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("a hone is at work on run {} of {}; merge when it has ended", found->id, store.path()));
    }
    locks.push_back(std::move(*lock));
    const RunContents ours = HONE_TRY(ReadContents(store, HONE_TRY(store.FindRun(found->id))));
    RunContents both = Union(ours, theirs);
    if (TextOf(both) == TextOf(ours)) {
      ++written.unchanged;
    } else {
      others.push_back(std::move(both));
    }
  }
  // A store tells its newest run by the order of making.
  std::ranges::stable_sort(fresh, {}, [](const RunContents& one) { return one.run.created_ms; });
  HONE_TRY(store.ReplaceRuns(fresh, others));
  written.created = static_cast<int>(fresh.size());
  written.changed = static_cast<int>(others.size());
  return written;
}

}  // namespace hone
