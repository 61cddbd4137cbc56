// Every dialect over the wire: whatever a server does, there is the whole answer, another try, or one line that says
// why not.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "model/dialect.h"
#include "model/testing/served_model.h"
#include "model/testing/speech.h"

namespace hone {
namespace {

using namespace testing;
using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr char kText[] = "Hello yourself.";

class WireTest : public ServedModelTest, public ::testing::WithParamInterface<Speech> {
 protected:
  void Speak(std::vector<Saying> sayings, const std::string& provider = "") {
    Serve(std::move(sayings), provider, fmt::format("[models.coder.parameters]\n{}\n", GetParam().parameters),
          GetParam().dialect, GetParam().base);
  }
  static Saying Stream(const std::vector<std::string>& events) { return {{HttpStream(events)}}; }
  static Saying Whole(const std::string& text) { return Stream(GetParam().text(text)); }
  static Saying Refused(int status, std::string_view type, std::string_view code = "",
                        const std::vector<std::string>& headers = {kAtOnce}) {
    return Refusal(status, GetParam().error(type, code, "the server's words"), headers);
  }
  // That a call is made so often, and ends with the server's words, these of ours, and the mend.
  void ExpectRefusal(const std::string& said, std::size_t tried, ErrorKind kind, const std::string& mend = "") {
    const std::string why = Why(kind);
    EXPECT_NE(why.find(mend), std::string::npos) << why;
    EXPECT_NE(why.find("the server's words"), std::string::npos) << why;
    EXPECT_NE(why.find(said), std::string::npos) << why;
    EXPECT_EQ(why.find('\n'), std::string::npos) << why;
    EXPECT_EQ(tries(), tried) << why;
  }
};
INSTANTIATE_TEST_SUITE_P(Dialects, WireTest, ::testing::ValuesIn(AllSpeeches().begin(), AllSpeeches().end()),
                         [](const auto& info) {
                           std::string name(info.param.dialect);
                           std::erase(name, '-');
                           return name;
                         });

TEST(WireTableTest, EveryDialectHasASpeech) {
  ASSERT_EQ(AllSpeeches().size(), AllDialects().size());
  for (const Dialect* dialect : AllDialects())
    EXPECT_TRUE(std::ranges::any_of(AllSpeeches(), [&](const Speech& speech) {
      return speech.dialect == dialect->name;
    })) << dialect->name;
}

TEST_P(WireTest, AnAnswerComesWithItsUsageAndTheKeyGoesWhereItBelongs) {
  Speak({Whole(kText)});
  const Asked asked = Ask();
  const ModelReply reply = Must(asked.reply);
  EXPECT_EQ(reply.text, kText);
  EXPECT_EQ(reply.ending, Ending::kWhole);
  EXPECT_EQ(reply.model, "served-m");
  EXPECT_EQ(asked.usage.input_tokens, 120);
  EXPECT_EQ(asked.usage.cached_tokens, 100);
  EXPECT_EQ(asked.usage.output_tokens, 30);
  EXPECT_EQ(asked.tries, 1);
  EXPECT_EQ(asked.untold, 0);
  const Heard heard = server_->heard().at(0);
  EXPECT_EQ(heard.line, GetParam().line);
  EXPECT_EQ(heard.headers.at(std::string(GetParam().key_header)), std::string(GetParam().key_before) + kKey);
  EXPECT_EQ(heard.body.find(kKey), std::string::npos);
}

TEST_P(WireTest, CallsLimitsAndRefusalsAreToldApart) {
  Speak({Stream(GetParam().call()), Stream(GetParam().cut("half a")), Stream(GetParam().refusal())});
  const ModelReply call = Must(Ask().reply);
  EXPECT_EQ(call.ending, Ending::kCalls);
  ASSERT_EQ(call.calls.size(), 1u);
  EXPECT_EQ(call.calls[0].name, "look");
  EXPECT_EQ(Json::parse(call.calls[0].arguments), Json({{"at", 1}}));
  const ModelReply cut = Must(Ask().reply);
  EXPECT_EQ(cut.ending, Ending::kLength);
  EXPECT_EQ(cut.text, "half a");
  EXPECT_EQ(Must(Ask().reply).ending, Ending::kRefusal);
  EXPECT_EQ(tries(), 3u) << "none of them is asked for again";
}

TEST_P(WireTest, RefusalsByTheirStatus) {
  struct Case {
    int status;
    const char* type;
    bool passes;
    const char* mend;
  };
  const Case cases[] = {{400, "invalid_request_error", false, ""},
                        {401, "authentication_error", false, "see the key of provider here"},
                        {403, "permission_error", false, "see the key of provider here"},
                        {404, "not_found_error", false, "see url and model of coder"},
                        {408, "timeout_error", true, ""},
                        {409, "conflict_error", true, ""},
                        {413, "request_too_large", false, "shorter questions"},
                        {422, "invalid_request_error", false, ""},
                        {429, "rate_limit_error", true, ""},
                        {500, "api_error", true, ""},
                        {502, "api_error", true, ""},
                        {503, "api_error", true, ""},
                        {504, "timeout_error", true, ""},
                        {529, "overloaded_error", true, ""}};
  for (const auto& [status, type, passes, mend] : cases) {
    SCOPED_TRACE(status);
    const Saying refused = Refused(status, type);
    Speak({refused, refused, refused, Whole("too late")});
    ExpectRefusal(fmt::format("it was refused with {}", status), passes ? 3 : 1,
                  passes ? ErrorKind::kIo : ErrorKind::kUsage, mend);
    if (!passes) continue;
    Speak({refused, Refusal(status, "<html>oops", {kAtOnce}), Whole("there")});
    const Asked asked = Ask();
    EXPECT_EQ(Must(asked.reply).text, "there");
    EXPECT_EQ(asked.tries, 3);
  }
}

TEST_P(WireTest, RefusalsByTheirWords) {
  for (const auto& [status, type, code, passes] : GetParam().worded) {
    SCOPED_TRACE(fmt::format("{} {} {}", status, type, code));
    const Saying refused = Refused(status, type, code);
    Speak({refused, refused, refused, Whole("too late")});
    ExpectRefusal(fmt::format("it was refused with {}", status), passes ? 3 : 1,
                  passes ? ErrorKind::kIo : ErrorKind::kUsage);
  }
}

TEST_P(WireTest, RefusalsInTheMidstOfAStream) {
  for (const auto& [status, type, code, passes] : GetParam().worded) {
    SCOPED_TRACE(fmt::format("{} {}", type, code));
    std::vector<std::string> events = GetParam().text("half");
    events.resize(2);
    events.push_back(GetParam().error_event(type, code, "the server's words"));
    Speak({Stream(events), Whole("there")});
    if (passes) {
      EXPECT_EQ(Must(Ask().reply).text, "there");
      EXPECT_EQ(tries(), 2u);
    } else {
      ExpectRefusal("it was refused with 200", 1, ErrorKind::kIo);
    }
  }
}

TEST_P(WireTest, TheServerSaysWhetherToTryAgain) {
  Speak({Refused(500, "api_error", "", {"x-should-retry: false"}), Whole("too late")});
  ExpectRefusal("500", 1, ErrorKind::kIo);
  Speak({Refused(400, "invalid_request_error", "", {"x-should-retry: true", kAtOnce}), Whole("there")});
  EXPECT_EQ(Must(Ask().reply).text, "there");
  Speak({Refused(529, "overloaded_error"), Whole("too late")});
  go_on_ = false;
  ExpectRefusal("the caps allow no other try", 1, ErrorKind::kSpent);
}

// Without another try, so that no time goes by between: one that is made is the next test's.
TEST_P(WireTest, NoCutMakesHalfAnAnswer) {
  const std::string whole = Whole(kText)[0].bytes;
  const std::size_t head = whole.find("\r\n\r\n") + 4;
  const std::size_t step = (whole.size() - head) / 40;
  std::vector<std::size_t> cuts = {0, 8, head - 2, head};
  for (std::size_t at = head + step; at < whole.size(); at += step) cuts.push_back(at);
  int broken = 0;
  for (const std::size_t at : cuts) {
    SCOPED_TRACE(whole.substr(at > 40 ? at - 40 : 0, std::min<std::size_t>(at, 40)));
    Speak({{{whole.substr(0, at)}}}, "silence_s = 5\nretries = 0");
    const Asked asked = Ask();
    if (asked.reply) {
      EXPECT_EQ(asked.reply->text, kText);
      continue;
    }
    ++broken;
    EXPECT_EQ(asked.reply.error().kind, ErrorKind::kIo) << asked.reply.error().message;
    EXPECT_TRUE(asked.untold == 1 || asked.usage.input_tokens || asked.usage.output_tokens)
        << "what it took is not forgotten";
  }
  EXPECT_GT(broken, 30);
}

TEST_P(WireTest, WhatBreaksOffIsAskedForAgainAndCounted) {
  const std::string whole = Whole(kText)[0].bytes;
  Speak({{{whole.substr(0, whole.size() - 100)}}, Whole("there")});
  const Asked asked = Ask();
  EXPECT_EQ(Must(asked.reply).text, "there");
  EXPECT_EQ(asked.tries, 2);
  EXPECT_TRUE(asked.untold == 1 || asked.usage.input_tokens > 120);
}

TEST_P(WireTest, AStreamThatEndsBeforeItsAnswerBreaksOff) {
  const std::vector<std::string> events = GetParam().text(kText);
  for (std::size_t kept = 0; kept < 3; ++kept) {
    const Saying some = Stream({events.begin(), events.begin() + static_cast<std::ptrdiff_t>(kept)});
    Speak({some}, "retries = 0");
    EXPECT_EQ(Why(ErrorKind::kIo), "model coder (m by here): its answer breaks off");
  }
}

TEST_P(WireTest, GarbageIsNoAnswer) {
  const Saying garbage[] = {Stream({EventText("{nonsense")}),
                            Stream({EventText("[1, 2]")}),
                            Stream({EventText("\"text\"")}),
                            {{"\x01\x02 no HTTP at all\r\n\r\n"}},
                            {{HttpText(200, "text/html", "<html>log in first</html>")}},
                            {{HttpText(200, "application/json", "{}")}},
                            {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n"}}};
  for (const Saying& one : garbage) {
    SCOPED_TRACE(one[0].bytes);
    Speak({one}, "silence_s = 5\nretries = 0");
    EXPECT_NE(Why(ErrorKind::kIo).find("model coder (m by here): "), std::string::npos);
  }
  Speak({garbage[0], Whole("there")});
  EXPECT_EQ(Must(Ask().reply).text, "there");
}

// Each value of each event in turn is something else: an answer, or one line; never an end of ours.
TEST_P(WireTest, FieldsOfOtherTypesAreSurvived) {
  const std::vector<std::string> events = GetParam().call();
  const Json others[] = {nullptr, 7, -1.5, true, "text", Json::array({1}), Json::object({{"a", 1}})};
  int survived = 0;
  for (std::size_t number = 0; number < events.size(); ++number) {
    const std::size_t data = events[number].find("data: ") + 6;
    const Json event = Json::parse(events[number].substr(data), nullptr, false);
    if (!event.is_object()) continue;
    const Json flat = event.flatten();
    for (const auto& [path, value] : flat.items()) {
      for (const Json& other : others) {
        Json changed = event;
        changed[Json::json_pointer(path)] = other;
        const auto reader = FindDialect(GetParam().dialect)->reader();
        bool went = true;
        for (std::size_t i = 0; i < events.size() && went; ++i) {
          const std::string text = i == number ? changed.dump() : events[i].substr(events[i].find("data: ") + 6);
          went = reader->Take({.data = text.substr(0, text.find('\n'))}).has_value() && !reader->refused();
        }
        if (went) static_cast<void>(reader->End());
        static_cast<void>(reader->usage());
        ++survived;
      }
    }
  }
  EXPECT_GT(survived, 100);
}

TEST_P(WireTest, SilenceAndTheWallEndACall) {
  const std::string begun = Whole(kText)[0].bytes.substr(0, Whole(kText)[0].bytes.find("\r\n\r\n") + 4);
  for (const Saying& silent : {Saying{{"", milliseconds(5000)}}, Saying{{begun}, {"x", milliseconds(5000)}}}) {
    Speak({silent}, "silence_s = 0.2\nretries = 0");
    EXPECT_EQ(Why(ErrorKind::kTimeout), "model coder (m by here): 127.0.0.1 said nothing for 0.2 s");
  }
  Saying drops = {{begun}};
  for (int i = 0; i < 100; ++i) drops.push_back({"3\r\n:\n\n\r\n", milliseconds(50)});
  Speak({drops}, "silence_s = 1\nwall_s = 0.4\nretries = 0");
  EXPECT_EQ(Why(ErrorKind::kTimeout), "model coder (m by here): 127.0.0.1 was not done within 0.4 s");
}

}  // namespace
}  // namespace hone
