// Which keys a score's conditions leave, and where they do not say.
#include "dsl/shape/seen_keys.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone::dsl {
namespace {

// Of 2 sequences, 3 heads each, 4 queries and 100 keys; a sequence has `l`, a head `h`, a query `r`, a key `p`.
class SeenKeysTest : public hone::testing::CudaProgramTest {
 protected:
  static std::variant<KernelProgram, Complaint> Attention(const std::string& score, const std::string& by) {
    return Lowered(
        "input q: bf16[2, 3, 4, 64]\ninput k: bf16[2, 3, 100, 64]\ninput v: bf16[2, 3, 100, 64]\n"
        "input l: i64[2, 1, 1, 1]\ninput h: i32[3, 1, 1]\ninput r: i32[4, 1]\ninput p: i32[100]\ninput m: f32[100]\n"
        "output y: bf16[2, 3, 4, 64]\ny = attention(q, k, v) " +
        by + " let score = " + score);
  }
  // The score of keys that are between all limits.
  std::string Between(const std::string& score, const std::string& by = "") {
    const auto lowered = Attention(score, by);
    const Kernel& kernel = std::get<KernelProgram>(lowered).kernels.at(0);
    const Expr& body = kernel.lets.at(0).body;
    const Expr between = ScoreWithin(SeenKeysOf(kernel, 2), body, Expr::Bool(true));
    return between.get() == body.get() ? "as it was" : ToString(between, [](int) { return std::string("operand"); });
  }
  // "from ..; end ..", "+q" where the query's place is added, "or all"; `alike`: the dimensions that count.
  std::string Seen(const std::string& score, std::size_t alike = 2, const std::string& by = "") {
    const auto lowered = Attention(score, by);
    if (const auto* said = std::get_if<Complaint>(&lowered)) return said->message;
    const Kernel& kernel = std::get<KernelProgram>(lowered).kernels[0];
    const SeenKeys seen = SeenKeysOf(kernel, alike);
    std::string text;
    const auto add = [&](const char* what, const std::vector<KeyLimit>& limits) {
      for (const KeyLimit& limit : limits) {
        const auto name = [&](int operand) {
          const auto buffer = kernel.operands[static_cast<std::size_t>(operand)].buffer;
          return std::get<KernelProgram>(lowered).buffers[static_cast<std::size_t>(buffer)].name;
        };
        std::string of = ToString(limit.of, name);
        for (std::size_t at; (at = of.find('[')) != std::string::npos;) of.erase(at, of.find(']') - at + 1);
        text += fmt::format("{} {}{}; ", what, of, limit.query == 0 ? "" : limit.query > 0 ? " +q" : " -q");
      }
    };
    add("from", seen.from);
    add("end", seen.end);
    return text + (seen.or_all ? "or all" : "");
  }
};

TEST_F(SeenKeysTest, ConditionsOnPlacesLeaveWhatLiesBetween) {
  EXPECT_EQ(Seen("select(key() < l, it, -inf)"), "end l; ");
  EXPECT_EQ(Seen("select(key() <= l, it * 2, -inf)"), "end (1 + l); ");
  EXPECT_EQ(Seen("select(key() > l, -inf, it) / 8"), "end (1 + l); ");
  EXPECT_EQ(Seen("select(not(l <= key()), it, -inf)"), "end l; ");
  EXPECT_EQ(Seen("select(key() >= 3 * l, it, -inf)"), "from (l * 3); ");
  EXPECT_EQ(Seen("select(query() - key() < 7, it, -inf)"), "from -6 +q; ");
  EXPECT_EQ(Seen("select(and(key() - query() < 7, l < key()), it, -inf)"), "from (1 + l); end 7 +q; ");
  EXPECT_EQ(Seen("select(or(key() + query() > 7, l > key()), -inf, it)"), "from l; end 8 -q; ");
  EXPECT_EQ(Seen("it + m + select(key() < l, 0, -inf)"), "end l; ");
}

TEST_F(SeenKeysTest, ADistanceLimitsBothSides) {
  EXPECT_EQ(Seen("select(abs(query() - key()) <= 64, it, -inf)"), "from -64 +q; end 65 +q; ");
  EXPECT_EQ(Seen("select(abs(key() - query()) > 2 * l, -inf, it)"), "from (0 - (l * 2)) +q; end (1 + (l * 2)) +q; ");
  EXPECT_EQ(Seen("select(and(query() - key() <= 7, key() - query() < 3), it, -inf)"), "from -7 +q; end 3 +q; ");
  EXPECT_EQ(Seen("it + select(max(query() - key(), 2 * (key() - query())) < 9, 0, -inf)"), "from -8 +q; ");
  EXPECT_EQ(Seen("select(min(key(), query() + 3) >= l, it, -inf)"), "from l; ");
  EXPECT_EQ(Seen("select(abs(query() - key()) >= 64, it, -inf)"), "");
  EXPECT_EQ(Seen("select(abs(real(query() - key())) < 64, it, -inf)"), "");
}

TEST_F(SeenKeysTest, ConditionsThatSayNoMoreThanLimitsNeedNoTestBetweenThem) {
  EXPECT_EQ(Between("select(abs(query() - key()) <= 64, it * 2, -inf)"), "(it * 2)");
  EXPECT_EQ(Between("it + select(key() > l, -inf, 0)"), "it");
  EXPECT_EQ(Between("select(and(key() < l, p > 3), it, -inf)"), "as it was");
  EXPECT_EQ(Between("select(key() < l, it, -1e38)"), "it");
  EXPECT_EQ(Between("relu(it) * real(key() < l)", "by {softmax: 0}"), "(max(it, 0) * 1)");
}

TEST_F(SeenKeysTest, WhatOtherIndicesAndDataSayIsNoLimit) {
  EXPECT_EQ(Seen("it * 2"), "");
  EXPECT_EQ(Seen("select(p > 3, it, -inf)"), "");
  EXPECT_EQ(Seen("select(key() < p, it, -inf)"), "");
  EXPECT_EQ(Seen("select(key() < r, it, -inf)"), "");
  EXPECT_EQ(Seen("select(2 * key() < l, it, -inf)"), "");
  EXPECT_EQ(Seen("select(key() < 2 * query(), it, -inf)"), "");
  EXPECT_EQ(Seen("select(or(key() < l, p > 3), it, -inf)"), "");
  EXPECT_EQ(Seen("select(key() < l, it, 0.0)"), "");
  EXPECT_EQ(Seen("select(key() < l, it, -1e30) / 1e30"), "");
  EXPECT_EQ(Seen("select(key() < h, it, -inf)"), "end h; ");
  EXPECT_EQ(Seen("select(key() < h, it, -inf)", 1), "");  // heads that share keys
}

TEST_F(SeenKeysTest, WhatHasToBeAlikeIsOfAQueryAndOfAKey) {
  // How many conditions ask for that; and the score where they hold.
  const auto alike = [&](const std::string& score, const std::string& by = "") {
    const auto lowered = Attention(score, by);
    const Kernel& kernel = std::get<KernelProgram>(lowered).kernels.at(0);
    const SeenKeys seen = SeenKeysOf(kernel, 2);
    return fmt::format("{}: {}", seen.alike.size(),
                       ToString(ScoreAlike(seen, kernel.lets.at(0).body, Expr::Bool(true)),
                                [](int) { return std::string("operand"); }));
  };
  EXPECT_EQ(alike("select(r == p, it * 2, -inf)"), "1: (it * 2)");
  EXPECT_EQ(alike("select(and(key() < l, p + 1 == floordiv(r, 2)), it, -inf)").substr(0, 2), "1:");
  EXPECT_EQ(alike("it + select(r == p, 0, -inf)"), "1: it");
  EXPECT_EQ(alike("select(not(r == p), -inf, it)").substr(0, 2), "1:");
  EXPECT_EQ(alike("select(r == p, -inf, it)").substr(0, 2), "0:") << "those that differ";
  EXPECT_EQ(alike("select(or(r == p, key() < 3), it, -inf)").substr(0, 2), "0:");
  EXPECT_EQ(alike("select(r == p, it, -1e38)").substr(0, 2), "0:") << "where nothing is alike all count";
  EXPECT_EQ(alike("select(r == p, it, 0)", "by {softmax: 0}").substr(0, 2), "0:");
  EXPECT_EQ(alike("select(l == p, it, -inf)").substr(0, 2), "1:") << "of a batch, not of a query";
  EXPECT_EQ(alike("select(r == key(), it, -inf)").substr(0, 2), "0:");
}

TEST_F(SeenKeysTest, WithoutASoftmaxZeroHides) {
  const auto seen = [&](const std::string& score) { return Seen(score, 2, "by {softmax: 0}"); };
  EXPECT_EQ(seen("select(key() < l, relu(it), 0)"), "end l; ");
  EXPECT_EQ(seen("relu(select(key() > l, -inf, it * 2))"), "end (1 + l); ");
  EXPECT_EQ(seen("sigmoid(it * 2 + m + select(query() - key() < 7, 0, -inf))"), "from -6 +q; ");
  EXPECT_EQ(seen("square(relu(it * select(key() < l, 0.5, 0)))"), "end l; ");
  EXPECT_EQ(seen("it * real(key() >= l) * m"), "from l; ");
  EXPECT_EQ(seen("select(p > 3, select(key() < l, it, 0), 0)"), "end l; ");
  EXPECT_EQ(seen("select(key() < l, it, -inf)"), "");
  EXPECT_EQ(seen("sigmoid(select(key() < l, it, 0))"), "");
  EXPECT_EQ(seen("select(key() < l, it, 0) + m"), "");
  EXPECT_EQ(seen("m / select(key() < l, it, 0)"), "");
}

TEST_F(SeenKeysTest, WhereANumberHidesAllKeysAllCount) {
  EXPECT_EQ(Seen("select(key() < l, it, -1e38)"), "end l; or all");
  EXPECT_EQ(Seen("select(key() < l, it, -5)"), "");
  EXPECT_EQ(Seen("select(and(key() < l, p > 3), it, -1e38)"), "");
  EXPECT_EQ(Seen("select(key() <= query(), it, -1e38)"), "");
  EXPECT_EQ(Seen("select(key() < l, it + m, -1e38)"), "");
  EXPECT_EQ(Seen("select(key() < l, select(key() > 3, it, -inf), -1e38)"), "");
  EXPECT_EQ(Seen("select(p > 3, select(key() < l, it, -1e38), -1e38)"), "");
  EXPECT_EQ(Seen("select(key() < l, it, -1e38) + select(p > 3, 0, -1e38)"), "");
  EXPECT_EQ(Seen("select(key() < l, it, -1e38)", 2, "by {causal: 1}"), "");
}

}  // namespace
}  // namespace hone::dsl
