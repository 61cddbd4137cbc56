#include "model/ledger.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "base/testing/must.h"

namespace hone {
namespace {

using testing::Must;

const Purpose kFirst{.role = "coder"};
Purpose Step(int step) { return {.parent = 3, .turn = 1, .step = step, .role = "coder"}; }
const Conversation kTalk{.system = std::string(4000, 's'), .turns = {{.who = TalkTurn::Who::kUser, .text = "?"}}};

// Says what it is told to, in order.
class ScriptedModel final : public Model {
 public:
  Asked Ask(const Conversation&, const GoOn& go_on) override {
    while (answers.front().untold > 0 && !answers.front().reply && answers.size() > 1) {
      const Asked broken = answers.front();
      if (!go_on(broken)) return {.reply = Fail(ErrorKind::kSpent, "no more"), .tries = 1, .untold = broken.untold};
      answers.pop_front();
    }
    Asked asked = std::move(answers.front());
    answers.pop_front();
    return asked;
  }
  void Interrupt() override {}
  void Say(std::int64_t input, std::int64_t output, const std::string& text = "yes") {
    answers.push_back({.reply = ModelReply{.text = text, .model = "served"},
                       .usage = {.input_tokens = input, .output_tokens = output},
                       .tries = 1});
  }
  std::deque<Asked> answers;
};

// What was kept, as a store would have it.
class Notebook final : public LedgerKeeper {
 public:
  explicit Notebook(std::vector<LedgerLine>& lines, int fail_at = 0) : lines_(lines), fail_at_(fail_at) {}
  Result<void> Keep(const LedgerLine& line) override {
    if (++kept_ == fail_at_) return Fail(ErrorKind::kIo, "the disk is full");
    lines_.resize(std::max(lines_.size(), static_cast<std::size_t>(line.number)));
    lines_[static_cast<std::size_t>(line.number) - 1] = line;
    return {};
  }

 private:
  std::vector<LedgerLine>& lines_;
  const int fail_at_;
  int kept_ = 0;
};

class LedgerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Ledger> Open(Caps caps = {}, int fail_at = 0) {
    return std::make_unique<Ledger>(caps, kept_, std::make_unique<Notebook>(kept_, fail_at));
  }
  Result<ModelReply> Ask(Ledger& ledger, const Purpose& purpose) {
    return ledger.Ask(model_, entry_, purpose, kTalk, notes_);
  }
  std::string Why(const Result<ModelReply>& reply, ErrorKind kind) {
    if (reply) return "answered";
    EXPECT_EQ(reply.error().kind, kind);
    return reply.error().message;
  }

  ScriptedModel model_;
  ModelEntry entry_{.name = "m", .price = {.input = 2, .cached = 0.5, .output = 10}};
  std::vector<LedgerLine> kept_;
  std::vector<std::string> notes_;
};

TEST_F(LedgerTest, ALineIsKeptBeforeTheCallAndItsFiguresAfterIt) {
  const auto ledger = Open();
  model_.Say(1'000'000, 100'000);
  model_.answers.back().usage.cached_tokens = 400'000;
  model_.answers.back().notes = {"a note"};
  EXPECT_EQ(Must(Ask(*ledger, kFirst)).text, "yes");
  ASSERT_EQ(kept_.size(), 1u);
  const LedgerLine& line = kept_[0];
  EXPECT_EQ(line.estimated_tokens, 1001 + 4096);
  EXPECT_DOUBLE_EQ(*line.estimated_dollars, (1001 * 2 + 4096 * 10) / 1e6);
  EXPECT_DOUBLE_EQ(*line.dollars, 0.6 * 2 + 0.4 * 0.5 + 0.1 * 10);
  EXPECT_EQ(line.served, "served");
  EXPECT_EQ(notes_, std::vector<std::string>{"a note"});
  EXPECT_EQ(Text(ledger->Total()), "1,100,000 tokens, 2.40 dollars");
  EXPECT_EQ(ledger->Of(0, 0).calls, 1);
  EXPECT_EQ(ledger->Of(3, 1).calls, 0);
}

TEST_F(LedgerTest, WhatWasAnsweredIsNotAskedAgainInALaterSession) {
  model_.Say(100, 10, "the plan");
  model_.answers.back().reply->calls = {{"a", "look", "{}"}};
  model_.answers.back().reply->ending = Ending::kCalls;
  model_.answers.back().reply->opaque = R"([{"thinking": "..."}])";
  Must(Ask(*Open(), Step(0)));
  const auto again = Open();
  const ModelReply reply = Must(Ask(*again, Step(0)));
  EXPECT_EQ(reply.text, "the plan");
  EXPECT_EQ(reply.ending, Ending::kCalls);
  EXPECT_EQ(reply.calls.at(0).name, "look");
  EXPECT_EQ(reply.opaque, R"([{"thinking": "..."}])");
  EXPECT_EQ(again->Total().calls, 1);
  for (const Purpose& other : {Step(1), Purpose{.parent = 3, .turn = 1, .role = "planner"}, kFirst}) {
    model_.Say(1, 1, "another");
    EXPECT_EQ(Must(Ask(*again, other)).text, "another");
  }
}

TEST_F(LedgerTest, ACallThatWasKilledCountsByItsEstimateAndIsMadeAgain) {
  LedgerLine killed{
      .number = 1, .purpose = kFirst, .model = "m", .begun_ms = 5, .estimated_tokens = 700, .estimated_dollars = 0.25};
  kept_ = {killed};
  const auto ledger = Open();
  EXPECT_EQ(Text(ledger->Total()), "700 tokens, 0.25 dollars");
  model_.Say(1000, 100);
  Must(Ask(*ledger, kFirst));
  EXPECT_EQ(kept_.size(), 2u);
  EXPECT_EQ(ledger->Total().tokens(), 1800);
}

TEST_F(LedgerTest, ACapIsKeptByEstimateBeforeAndByFactAfter) {
  entry_.parameters = {{"max_tokens", "500"}};
  const auto ledger = Open({.tokens = 4000});
  for (int step = 0; step < 2; ++step) {
    model_.Say(1000, 400);
    Must(Ask(*ledger, Step(step)));
  }
  // 2800 are spent and 1001 + 500 may come.
  EXPECT_EQ(Why(Ask(*ledger, Step(2)), ErrorKind::kSpent),
            "4,000 tokens are the cap and the next call of m may take 1,501; 2,800 tokens, 0.0120 dollars are spent");
  EXPECT_EQ(kept_.size(), 2u) << "nothing was begun";
  model_.Say(1000, 400);
  Must(Ask(*Open({.tokens = 4301}), Step(2)));
  model_.Say(9000, 9000);  // the server does not keep to what was thought
  Must(Ask(*Open({.tokens = 6000}), Step(3)));
  EXPECT_NE(Why(Ask(*Open({.tokens = 20000}), Step(4)), ErrorKind::kSpent), "answered");
}

TEST_F(LedgerTest, ATryThatBrokeOffCountsBeforeTheNext) {
  entry_.parameters = {{"max_tokens", "500"}};
  const Asked broken{.reply = Fail(ErrorKind::kIo, "cut"), .tries = 1, .untold = 1};
  for (const std::int64_t cap : {3000, 3100}) {  // two tries may take 1501 tokens each
    kept_.clear();
    model_.answers = {broken};
    model_.Say(1000, 400);
    const auto reply = Ask(*Open({.tokens = cap}), kFirst);
    EXPECT_EQ(reply.has_value(), cap == 3100);
    ASSERT_EQ(kept_.size(), 1u);
    EXPECT_GT(kept_[0].ended_ms, 0);
    if (!reply) {
      EXPECT_EQ(reply.error().kind, ErrorKind::kSpent);
      EXPECT_EQ(kept_[0].untold, 1);
    }
  }
}

TEST_F(LedgerTest, DollarsAreCappedToo) {
  entry_.parameters = {{"max_output_tokens", "100000"}};
  EXPECT_EQ(Why(Ask(*Open({.dollars = 1}), kFirst), ErrorKind::kSpent),
            "1 dollars are the cap and the next call of m may take 1.0020; 0 tokens, 0.00 dollars are spent");
  entry_.price.output.reset();
  EXPECT_EQ(Why(Ask(*Open({.dollars = 1}), kFirst), ErrorKind::kUsage),
            "dollars are capped and the models file has no price for m");
}

TEST_F(LedgerTest, UnknownIsUnknown) {
  const auto ledger = Open();
  entry_.price = {};
  model_.Say(1000, 100);
  Must(Ask(*ledger, Step(0)));
  EXPECT_EQ(Text(ledger->Total()), "1,100 tokens, dollars unknown");
  entry_.price = {.input = 1000, .output = 1000};
  model_.Say(1000, 100);
  Must(Ask(*ledger, Step(1)));
  EXPECT_EQ(Text(ledger->Total()), "2,200 tokens, 1.10 dollars and what 1 calls cost, which is unknown");
  // A try that broke off may have cost something: its estimate.
  model_.answers.push_back({.reply = Fail(ErrorKind::kIo, "cut"), .tries = 3, .untold = 3});
  EXPECT_EQ(Why(Ask(*ledger, Step(2)), ErrorKind::kIo), "cut");
  EXPECT_EQ(kept_.back().failure, "cut");
  EXPECT_EQ(ledger->Total().estimated_tokens, 3 * (1001 + 100)) << "as long as the longest answer so far";
  EXPECT_FALSE(ledger->Answered(Step(2)));
}

TEST_F(LedgerTest, WithoutALineThereIsNoCall) {
  model_.Say(1, 1);
  EXPECT_EQ(Why(Ask(*Open({}, 1), kFirst), ErrorKind::kIo), "the disk is full");
  EXPECT_EQ(model_.answers.size(), 1u) << "it was not asked";
}

TEST_F(LedgerTest, PricesAreOfTheParts) {
  const TokenUse usage{
      .input_tokens = 1'000'000, .cached_tokens = 200'000, .written_tokens = 300'000, .output_tokens = 0};
  EXPECT_DOUBLE_EQ(*Dollars(usage, {.input = 2, .cached = 1, .written = 4, .output = 0}), 1.0 + 0.2 + 1.2);
  EXPECT_DOUBLE_EQ(*Dollars(usage, {.input = 2, .output = 0}), 2.0);
  EXPECT_FALSE(Dollars(usage, {.input = 2}));
  EXPECT_FALSE(Dollars({.output_tokens = 5}, {.input = 2, .output = 2}));
  EXPECT_DOUBLE_EQ(*Dollars({.dollars = 0.5}, {}), 0.5) << "as the server says";
}

}  // namespace
}  // namespace hone
