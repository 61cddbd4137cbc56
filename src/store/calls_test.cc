#include <gtest/gtest.h>

#include "store/testing/some_records.h"

namespace hone {
namespace {

using namespace testing;

class CallsTest : public StoreTest {};

TEST_F(CallsTest, ALineIsWrittenBeforeTheCallAndAgainAfterIt) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  CallRecord call{.run = run.id,
                  .number = 1,
                  .parent = 3,
                  .turn = 1,
                  .step = 2,
                  .role = "coder",
                  .model = "m",
                  .begun_ms = 50,
                  .estimated_tokens = 700};
  Must(store.PutCall(call, ""));
  {
    // Another process, after a kill.
    const CallRecord killed = Must(Must(Store::Open(Path())).Calls(run.id)).at(0);
    EXPECT_EQ(killed.ended_ms, 0);
    EXPECT_EQ(killed.estimated_tokens, 700);
    EXPECT_FALSE(killed.estimated_dollars);
    EXPECT_FALSE(killed.input_tokens) << "not known is not nothing";
    EXPECT_EQ(killed.reply_blob, "");
  }
  call.ended_ms = 60;
  call.served = "served-m";
  call.estimated_dollars = 0.5;
  call.input_tokens = 600;
  call.cached_tokens = 0;
  call.output_tokens = 50;
  call.dollars = 0.25;
  call.tries = 2;
  call.untold = 1;
  Must(store.PutCall(call, "the reply"));
  CallRecord second = call;
  second.number = 2;
  second.failure = "it was refused";
  Must(store.PutCall(second, ""));

  const auto calls = Must(store.Calls(run.id));
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].parent, 3);
  EXPECT_EQ(calls[0].turn, 1);
  EXPECT_EQ(calls[0].step, 2);
  EXPECT_EQ(calls[0].role, "coder");
  EXPECT_EQ(calls[0].served, "served-m");
  EXPECT_EQ(calls[0].ended_ms, 60);
  EXPECT_EQ(calls[0].estimated_dollars, 0.5);
  EXPECT_EQ(calls[0].input_tokens, 600);
  EXPECT_EQ(calls[0].cached_tokens, 0);
  EXPECT_FALSE(calls[0].written_tokens);
  EXPECT_EQ(calls[0].output_tokens, 50);
  EXPECT_EQ(calls[0].dollars, 0.25);
  EXPECT_EQ(calls[0].tries, 2);
  EXPECT_EQ(calls[0].untold, 1);
  EXPECT_EQ(Must(store.Blob(calls[0].reply_blob)), "the reply");
  EXPECT_EQ(calls[1].failure, "it was refused");
  const std::string reply = calls[0].reply_blob;
  Must(store.DeleteRun(run.id));
  EXPECT_FALSE(store.Blob(reply)) << "gone with its run";
}

}  // namespace
}  // namespace hone
