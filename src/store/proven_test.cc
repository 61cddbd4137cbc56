#include <gtest/gtest.h>

#include "store/testing/some_records.h"

namespace hone {
namespace {

using namespace testing;

class ProvenTest : public StoreTest {};

TEST_F(ProvenTest, APieceIsFoundOnItsDeviceTheLargestShareFirst) {
  Store store = Must(Store::Open(Path()));
  ProvenRecord small = SomeProven(), large = SomeProven(), elsewhere = SomeProven(), other = SomeProven();
  small.share = 0.25;
  small.run = "ffff01";
  small.at_ms = 900;
  elsewhere.machine = "m2";
  elsewhere.share = 1;
  other.piece = "k2";
  Must(store.PutProven({small, large, elsewhere, other}));
  const auto found = Must(store.Proven("k1", "cpu", "m1"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].run, large.run);
  EXPECT_EQ(found[0].text, large.text);
  EXPECT_EQ(found[0].settings, large.settings);
  EXPECT_EQ(found[0].gain, 1.5);
  EXPECT_EQ(found[0].speedup, 2);
  EXPECT_EQ(found[0].problem_identity, large.problem_identity);
  EXPECT_EQ(found[0].version, "0.1.0");
  EXPECT_EQ(found[1].share, 0.25);
  EXPECT_TRUE(Must(store.Proven("k1", "cuda", "m1")).empty());
  EXPECT_EQ(Must(store.AllProven()).size(), 4u);
  EXPECT_EQ(Must(store.AllProven()).front().at_ms, 900);
}

TEST_F(ProvenTest, WhatIsDeletedIsGoneAndNothingElse) {
  Store store = Must(Store::Open(Path()));
  ProvenRecord other = SomeProven();
  other.run = "ffff01";
  Must(store.PutProven({SomeProven(), other}));
  Must(store.DeleteProven({SomeProven()}));
  ASSERT_EQ(Must(store.AllProven()).size(), 1u);
  EXPECT_EQ(Must(store.AllProven())[0].run, "ffff01");
}

TEST_F(ProvenTest, WhatARunFoundOutLaterTakesThePlaceOfWhatItSaidBefore) {
  Store store = Must(Store::Open(Path()));
  ProvenRecord one = SomeProven();
  Must(store.PutProven({one}));
  one.settings = R"({"vector":"64"})";
  Must(store.PutProven({one}));
  const auto found = Must(store.AllProven());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].settings, one.settings);
}

}  // namespace
}  // namespace hone
