// What happened in a run, one event after another, as bytes in the run store: so that a run of very many attempts is
// taken up again without deciding all of it once more, or reading its rows.
//
//   question --> answer: what waits since then --> begin of an attempt --> its end --> ...
//   '--- a piece, every kJournalEvery attempts: events, and behind them where the generator is ----'
//
// What a strategy keeps follows from the tree and its own BackUp, so none of it is here. The rows are the record and
// the journal follows from them: what it does not reach is decided again, and a piece that is damaged, of other rows or
// of a hone whose evaluations have other fields is dropped, with all that follow it. A piece is on disk after the rows
// that it is about, so a kill -9 loses nothing but the events of a piece that was not written yet, and those are
// decided again.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "propose/random.h"
#include "search/tree.h"
#include "search/waiting.h"
#include "store/store.h"

namespace hone {

// So many attempts are decided again at most, which takes a fraction of a second; most runs have fewer.
inline constexpr int kJournalEvery = 2048;

// --- Events
struct JournalAsked {
  int parent = 0, mate = 0;
};
struct JournalAnswered {
  int parent = 0, mate = 0, round = 0;
  bool none = false;                        // the answer was empty
  std::vector<WaitingProposal> fresh = {};  // what waits at the parent since
};
struct JournalDropped {
  CandidateKey candidate;
};
struct JournalBegun {
  int parent = 0;
  std::size_t waiting = 0;              // which of what waits there
  std::string doubt = {};               // Proposal::doubt, as it is now
  std::optional<Attempt> attempt = {};  // one that did not wait anywhere, instead
};
struct JournalEnded {  // of what was in flight for longest
  Evaluation evaluation;
  Seldom<Insight> insight;
  std::string log_blob;  // of the evidence; empty: it has none
};
using JournalEvent = std::variant<JournalAsked, JournalAnswered, JournalDropped, JournalBegun, JournalEnded>;

// Where a run is.
struct JournalPlace {
  int attempts = 0;              // that ended
  std::int64_t events = 0;       // questions, answers, begins and ends (loop.h)
  int rounds = 0, answered = 0;  // the latest that was an answer, and how many were
  double seconds = 0;            // that the attempts took
  double joules = 0;             // that judging and timing them used
  bool diverged = false;         // some decision differed from the record
  Random::State random = {};
};

// Used by the search's thread; the store outlives it.
class Journal {
 public:
  explicit Journal(Store& store) : store_(store) {}

  // --- Reading
  // Which pieces there are, those that fit the rows; what does not is dropped.
  Result<void> Load(const std::string& run);
  JournalPlace end() const { return heads_.empty() ? JournalPlace{} : heads_.back().place; }  // of them
  struct Piece {
    JournalPlace place;  // behind it
    std::vector<JournalEvent> events;
  };
  // The next one; nothing: there is none, or its bytes are not what was written, so that it is dropped with the rest.
  Result<std::optional<Piece>> Next();

  // --- Writing: all that happens, in its order. An event is told when the tree has it, but a begin before.
  void Asked(int parent, int mate);
  void Answered(const TreeNode& node, int round, int mate, bool none);
  void Dropped(const CandidateKey& candidate);
  void Begun(const TreeNode& parent, const Attempt& attempt, const CandidateKey& candidate);
  void Ended(const Attempt& attempt, std::string_view log_blob);
  // A piece of what was told since the last one; `now` without rounds and seconds.
  Result<void> Write(JournalPlace now);
  int written() const { return last_.attempts; }  // up to this attempt

 private:
  struct Head {
    JournalPlace place;
    std::uint64_t hash = 0;  // of the bytes
  };
  Result<std::string> Row(int attempt);
  Result<void> ReadAhead();
  Result<void> DropRest(std::size_t from);

  Store& store_;
  std::string run_;
  std::vector<Head> heads_;
  std::size_t read_ = 0, taken_ = 0;  // of heads_
  std::deque<std::future<std::optional<std::vector<JournalEvent>>>> ahead_;
  JournalPlace last_;  // of the last piece that is written, or was taken
  int rounds_ = 0, answered_ = 0;
  std::string bytes_;
};

}  // namespace hone
