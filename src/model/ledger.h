// What calls of models cost, call by call, and what all of them together may. Each call has a line before it is made
// and its figures after it:
//
//   Begin: an estimate; too much for the caps? then no call --> on disk --> the call --> End: facts --> on disk
//
// so that a kill loses no line. One that was killed in mid-call stays begun and counts by its estimate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "model/conversation.h"
#include "model/model.h"
#include "model/models_file.h"

namespace hone {

// About so many bytes of prose and code are a token. No tokenizer is asked: before a call it is an estimate, after it
// the server's count.
inline constexpr std::size_t kBytesOfToken = 4;

// What a call is for: the step of a question about an attempt. The same whenever that question is asked.
struct Purpose {
  int parent = 0;  // the attempt that is asked about; 0 = the start
  int turn = 0;    // of that attempt's questions
  int step = 0;    // of the calls that the question takes, 0, 1, ...
  std::string role;
  friend auto operator<=>(const Purpose&, const Purpose&) = default;
};

struct LedgerLine {
  int number = 0;  // 1, 2, ... of the run
  Purpose purpose;
  std::string model;   // as the models file calls it
  std::string served;  // as the server calls what answered; empty: it did not say, or did not answer
  std::int64_t begun_ms = 0;
  std::int64_t ended_ms = 0;  // 0: it is being made, or the program was killed in it
  std::int64_t estimated_tokens = 0;
  std::optional<double> estimated_dollars = {};  // nothing: there is no price
  TokenUse usage = {};
  std::optional<double> dollars = {};  // nothing: nobody knows
  int tries = 0;
  int untold = 0;       // of those, which may have cost something that nobody said
  std::string failure;  // one line; empty: it was answered, or has not ended
  std::string reply;    // of an answered one: ToJson(ModelReply)
  bool answered() const { return ended_ms != 0 && failure.empty(); }
  double seconds() const { return ended_ms == 0 ? 0 : static_cast<double>(ended_ms - begun_ms) / 1000; }
};

// Sums over lines.
struct Spending {
  int calls = 0;
  std::int64_t input_tokens = 0, cached_tokens = 0, output_tokens = 0;  // as far as servers said
  std::int64_t estimated_tokens = 0;                                    // beside those, of calls of which nobody said
  double dollars = 0;                                                   // known and, of those calls, estimated
  int unpriced = 0;                                                     // calls whose dollars nobody knows
  double seconds = 0;

  void Add(const LedgerLine& line);
  std::int64_t tokens() const { return input_tokens + output_tokens + estimated_tokens; }
};
// "12,345 tokens, 0.31 dollars", "900 tokens, dollars unknown": short enough for a line of progress.
std::string Text(const Spending& spending);

// What may be spent over all sessions of a run; 0 = any amount.
struct Caps {
  std::int64_t tokens = 0;
  double dollars = 0;
};

// Keeps lines where a kill does not reach them. Called by the thread that asks.
class LedgerKeeper {
 public:
  virtual ~LedgerKeeper() = default;
  virtual Result<void> Keep(const LedgerLine& line) = 0;  // a new one, or instead of that of the same number
};

// Of one run. One thread makes calls; any may ask for the total.
class Ledger {
 public:
  // With the lines of earlier sessions. Without a keeper nothing is kept.
  explicit Ledger(Caps caps, std::vector<LedgerLine> earlier = {}, std::unique_ptr<LedgerKeeper> keeper = nullptr);

  const Caps& caps() const { return caps_; }
  Spending Total() const;
  // The sum of the lines of one question.
  Spending Of(int parent, int turn) const;

  // What a call for the same purpose was answered, this session or earlier: it need not be made again.
  std::optional<ModelReply> Answered(const Purpose& purpose) const;

  // Makes the call, or takes the answer that there was. Fails as Model::Ask does, with kSpent when the caps do not
  // allow it, or as the keeper does. `notes` gets what a person should know.
  Result<ModelReply> Ask(Model& model, const ModelEntry& entry, const Purpose& purpose,
                         const Conversation& conversation, std::vector<std::string>& notes);

 private:
  Result<void> Keep(const LedgerLine& line);
  // Whether what is spent, calls in work by their estimates, is within the caps.
  bool WithinCaps() const;
  Result<LedgerLine> Begin(const ModelEntry& entry, const Purpose& purpose, const Conversation& conversation);

  const Caps caps_;
  const std::unique_ptr<LedgerKeeper> keeper_;
  mutable Mutex mutex_;
  std::vector<LedgerLine> lines_ HONE_GUARDED_BY(mutex_);
};

// What so many tokens cost at a price; nothing when one of the prices that it takes is not known. The part of the input
// that the cache had, or that was put there, has its own price, else that of input.
std::optional<double> Dollars(const TokenUse& usage, const Price& price);

// A reply as it is kept.
std::string ToJson(const ModelReply& reply);
Result<ModelReply> ParseReply(const std::string& json);

}  // namespace hone
