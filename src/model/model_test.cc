// A model behind a server of this machine: what passes is tried again, what does not is said, and no key gets out.
#include "model/model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/testing/must.h"
#include "model/testing/loopback.h"

namespace hone {
namespace {

using namespace testing;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr char kKey[] = "sk-very-secret-0123456789";

std::string Delta(const Json& delta, const Json& finish = nullptr) {
  const Json choice = Json::object({{"delta", delta}, {"finish_reason", finish}});
  return EventText(Json::object({{"model", "served-m"}, {"choices", Json::array({choice})}}).dump());
}
Saying Answer(const std::string& text) { return {{ChatAnswer(text)}}; }
Saying Refusal(int status, const std::string& body, const std::vector<std::string>& headers = {}) {
  return {{HttpText(status, "application/json", body, headers)}};
}
std::string ErrorBody(const std::string& message, const Json& more = Json::object()) {
  Json error = {{"message", message}, {"type", "some_error"}};
  error.update(more);
  return Json::object({{"error", error}}).dump();
}
const std::string kAtOnce = "retry-after-ms: 1";

class ModelTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("HONE_TEST_KEY", kKey, 1); }

  // A model that is served by what is said, in the order of the connections.
  void Serve(std::vector<Saying> sayings, const std::string& provider = "", const std::string& model = "",
             const std::string& dialect = "openai-chat", const std::string& path = "/v1") {
    server_ = std::make_unique<Loopback>(std::move(sayings));
    const auto file = Must(ModelsFile::Parse(
        fmt::format("[providers.here]\ndialect = \"{}\"\nurl = \"{}{}\"\nkey_env = \"HONE_TEST_KEY\"\n{}\n"
                    "[models.coder]\nprovider = \"here\"\nmodel = \"m\"\n{}\n",
                    dialect, server_->url(), path, provider, model),
        "models.toml"));
    model_ = Must(OpenModel(file, "coder"));
  }
  Asked Ask() {
    return model_->Ask({.system = "Be brief.", .turns = {{.who = TalkTurn::Who::kUser, .text = "Hello?"}}},
                       [this](const Asked&) { return go_on_; });
  }
  // Why asking failed.
  std::string Why(ErrorKind kind) {
    const Asked asked = Ask();
    if (asked.reply) return "an answer: " + asked.reply->text;
    EXPECT_EQ(asked.reply.error().kind, kind) << asked.reply.error().message;
    EXPECT_EQ(asked.reply.error().message.find(kKey), std::string::npos);
    return asked.reply.error().message;
  }
  std::size_t tries() const { return server_->heard().size(); }
  Json Sent(std::size_t number) const { return Json::parse(server_->heard().at(number).body); }

  // The head of a stream, and nothing yet of what follows.
  const std::string begin_ = HttpStream({}).substr(0, HttpStream({}).find("0\r\n\r\n"));
  std::unique_ptr<Loopback> server_;
  std::unique_ptr<Model> model_;
  bool go_on_ = true;
};

TEST_F(ModelTest, AStreamBecomesAReplyWithItsUsage) {
  Serve({Answer("Hello yourself.")});
  const Asked asked = Ask();
  const ModelReply reply = Must(asked.reply);
  EXPECT_EQ(reply.text, "Hello yourself.");
  EXPECT_EQ(reply.ending, Ending::kWhole);
  EXPECT_EQ(reply.model, "served-m");
  EXPECT_EQ(asked.usage.input_tokens, 120);
  EXPECT_EQ(asked.usage.cached_tokens, 100);
  EXPECT_EQ(asked.usage.output_tokens, 30);
  EXPECT_EQ(asked.tries, 1);
  EXPECT_EQ(asked.untold, 0);
  const Heard heard = server_->heard().at(0);
  EXPECT_EQ(heard.line, "POST /v1/chat/completions HTTP/1.1");
  EXPECT_EQ(heard.headers.at("authorization"), std::string("Bearer ") + kKey);
}

// What each kind of server sends for "Hello yourself.", and what it has to be asked with.
struct Wire {
  std::string dialect, path, line, key, value;
  Saying answer;
  std::string parameters;
};

TEST_F(ModelTest, EveryDialectIsSpokenOverTheWire) {
  const std::string anthropic =
      EventText(
          R"({"type": "message_start", "message": {"model": "served-m", "usage": {"input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 1}}})",
          "message_start") +
      EventText(R"({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})",
                "content_block_start") +
      EventText(R"({"type": "ping"})", "ping") +
      EventText(
          R"({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello yourself."}})",
          "content_block_delta") +
      EventText(R"({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 30}})",
                "message_delta") +
      EventText(R"({"type": "message_stop"})", "message_stop");
  const std::string responses =
      EventText(R"({"type": "response.created", "response": {"model": "served-m"}})", "response.created") +
      EventText(R"({"type": "response.output_text.delta", "output_index": 0, "delta": "Hello"})",
                "response.output_text.delta") +
      EventText(
          R"({"type": "response.completed", "response": {"model": "served-m", "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello yourself."}]}], "usage": {"input_tokens": 120, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 30}}})",
          "response.completed");
  const std::vector<Wire> wires = {{"openai-chat", "/v1", "POST /v1/chat/completions HTTP/1.1", "authorization",
                                    std::string("Bearer ") + kKey, Answer("Hello yourself."), ""},
                                   {"openai-responses",
                                    "/v1",
                                    "POST /v1/responses HTTP/1.1",
                                    "authorization",
                                    std::string("Bearer ") + kKey,
                                    {{HttpStream({responses})}},
                                    ""},
                                   {"anthropic-messages",
                                    "",
                                    "POST /v1/messages HTTP/1.1",
                                    "x-api-key",
                                    kKey,
                                    {{HttpStream({anthropic})}},
                                    "max_tokens = 100"}};
  ASSERT_EQ(wires.size(), AllDialects().size()) << "one that is not tried";
  for (const Wire& wire : wires) {
    SCOPED_TRACE(wire.dialect);
    const std::string cut = wire.answer[0].bytes.substr(0, wire.answer[0].bytes.size() - 200);
    Serve({Refusal(529, R"({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})",
                   {kAtOnce}),
           {{cut}},
           wire.answer},
          "silence_s = 0.3", "[models.coder.parameters]\n" + wire.parameters, wire.dialect, wire.path);
    const Asked asked = Ask();
    EXPECT_EQ(Must(asked.reply).text, "Hello yourself.");
    EXPECT_EQ(asked.reply->model, "served-m");
    EXPECT_EQ(asked.tries, 3);
    EXPECT_GE(asked.usage.input_tokens.value_or(0), 120) << "what a broken try is known to have taken is counted, too";
    EXPECT_GE(asked.usage.output_tokens.value_or(0), 30);
    EXPECT_EQ(server_->heard().at(2).line, wire.line);
    EXPECT_EQ(server_->heard().at(2).headers.at(wire.key), wire.value);
  }
}

TEST_F(ModelTest, OnlyWhatTheUserSetIsSent) {
  Serve({Answer("a"), Answer("b")}, "", "[models.coder.parameters]\ntemperature = 0.5\nlogit_bias = {x = 1}\n");
  static_cast<void>(Ask());
  EXPECT_EQ(Sent(0), Json::parse(R"({"model": "m", "stream": true, "stream_options": {"include_usage": true},
      "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}],
      "temperature": 0.5, "logit_bias": {"x": 1}})"));
}

TEST_F(ModelTest, WhatPassesIsTriedAgain) {
  for (const int status : {408, 409, 429, 500, 503, 529}) {
    SCOPED_TRACE(status);
    Serve({Refusal(status, ErrorBody("later"), {kAtOnce}), Refusal(status, "<html>oops", {kAtOnce}), Answer("there")});
    const Asked asked = Ask();
    EXPECT_EQ(Must(asked.reply).text, "there");
    EXPECT_EQ(asked.tries, 3);
  }
  Serve({Refusal(429, ErrorBody("later"), {kAtOnce}), Refusal(429, ErrorBody("later"), {kAtOnce}),
         Refusal(429, ErrorBody("much later"), {kAtOnce}), Answer("too late")});
  EXPECT_EQ(Why(ErrorKind::kIo), "model coder (m by here): it was refused with 429: much later");
  EXPECT_EQ(tries(), 3u) << "twice, and no more";
  Serve({Refusal(500, ErrorBody("no"), {kAtOnce}), Answer("too late")}, "retries = 0");
  Why(ErrorKind::kIo);
  EXPECT_EQ(tries(), 1u);
}

TEST_F(ModelTest, WithoutLeaveThereIsNoOtherTry) {
  Serve({Refusal(529, ErrorBody("later"), {kAtOnce}), Answer("too late")});
  go_on_ = false;
  EXPECT_EQ(Why(ErrorKind::kSpent),
            "the caps allow no other try: model coder (m by here): it was refused with 529: later");
  EXPECT_EQ(tries(), 1u);
}

TEST_F(ModelTest, WhatDoesNotPassIsSaidAtOnce) {
  const std::vector<std::pair<int, std::string>> refusals = {
      {400, "model coder (m by here): it was refused with 400: it is bad"},
      {401,
       "model coder (m by here): it was refused with 401: it is bad; see the key of provider here in the models file"},
      {404,
       "model coder (m by here): it was refused with 404: it is bad; see url and model of coder in the models file"},
      {413,
       "model coder (m by here): it was refused with 413: it is bad; shorter questions: tokens=N behind the "
       "proposer's name"}};
  for (const auto& [status, message] : refusals) {
    Serve({Refusal(status, ErrorBody("it is bad"))});
    EXPECT_EQ(Why(ErrorKind::kUsage), message);
    EXPECT_EQ(tries(), 1u);
  }
}

TEST_F(ModelTest, MoneyThatIsSpentIsNoPassingThing) {
  for (const Json& more :
       {Json::object({{"details", Json::object({{"error_code", "enforced_spend_limit_reached"}})}}),
        Json::object({{"details", Json::object({{"error_code", "contract_spend_limit_reached"}})}}),
        Json::object({{"type", "insufficient_quota"}}), Json::object({{"code", "credit_balance_exhausted"}}),
        Json::object({{"code", "organization_spend_limit_exceeded"}}),
        Json::object({{"code", "project_spend_limit_exceeded"}})}) {
    Serve({Refusal(429, ErrorBody("no money", more), {kAtOnce}), Answer("too late")});
    EXPECT_NE(Why(ErrorKind::kUsage).find("429: no money"), std::string::npos) << more;
    EXPECT_EQ(tries(), 1u) << more;
  }
  for (const char* code : {"rate_limit_exceeded", "slow_down"}) {
    Serve({Refusal(429, ErrorBody("pace", Json::object({{"code", code}})), {kAtOnce}), Answer("there")});
    EXPECT_EQ(Must(Ask().reply).text, "there") << code;
  }
}

TEST_F(ModelTest, TheServerSaysWhetherAndWhenToTryAgain) {
  Serve({Refusal(500, ErrorBody("no"), {"x-should-retry: false"}), Answer("too late")});
  Why(ErrorKind::kIo);
  EXPECT_EQ(tries(), 1u);
  Serve({Refusal(400, ErrorBody("odd"), {"x-should-retry: true", kAtOnce}), Answer("there")});
  EXPECT_EQ(Must(Ask().reply).text, "there");

  const auto took = [&](const std::string& header) {
    Serve({Refusal(429, ErrorBody("later"), {header}), Answer("there")});
    const auto began = Clock::now();
    EXPECT_EQ(Must(Ask().reply).text, "there");
    return Clock::now() - began;
  };
  EXPECT_GE(took("retry-after: 1"), milliseconds(1000));
  EXPECT_LT(took("Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"), milliseconds(300)) << "a time that is past";
  EXPECT_GE(took("retry-after: 86400"), milliseconds(370)) << "longer than a minute: our own pace";
}

TEST_F(ModelTest, AParameterThatIsRefusedIsDroppedRememberedAndSaid) {
  const std::string refused = ErrorBody("Unsupported parameter: 'temperature' is not supported with this model.",
                                        {{"code", "unsupported_parameter"}, {"param", "temperature"}});
  Serve({Refusal(400, refused), Answer("a"), Answer("b")}, "",
        "[models.coder.parameters]\ntemperature = 0.5\ntop_p = 0.9\n");
  const Asked first = Ask(), second = Ask();
  EXPECT_EQ(Must(first.reply).text, "a");
  ASSERT_EQ(first.notes.size(), 1u);
  EXPECT_EQ(
      first.notes[0],
      "model coder refuses temperature, which is left out from now on: Unsupported parameter: 'temperature' is not "
      "supported with this model.");
  EXPECT_TRUE(second.notes.empty());
  EXPECT_TRUE(Sent(0).contains("temperature"));
  for (const std::size_t later : {1u, 2u}) {
    EXPECT_FALSE(Sent(later).contains("temperature"));
    EXPECT_TRUE(Sent(later).contains("top_p"));
  }
  // What hone itself adds, refused by an old server in words alone.
  Serve({Refusal(422, R"({"detail": "extra fields not permitted: stream_options"})"), Answer("there")});
  EXPECT_EQ(Must(Ask().reply).text, "there");
  // Another complaint is none about a parameter.
  Serve({Refusal(400, ErrorBody("your temperatures are wrong")), Answer("no")}, "",
        "[models.coder.parameters]\ntemperature = 0.5\n");
  Why(ErrorKind::kUsage);
}

TEST_F(ModelTest, AnAnswerThatIsCutOrSilentOrGarbageIsAskedForAgain) {
  const std::string whole = Answer("half an answer")[0].bytes;
  const std::string begun = whole.substr(0, whole.find("half an") + 4);
  for (const std::string& cut : {std::string(), std::string("HTTP/1.1 200"), begun}) {
    Serve({{{cut}}, Answer("there")}, "silence_s = 0.3");
    const Asked asked = Ask();
    EXPECT_EQ(Must(asked.reply).text, "there") << cut;
    EXPECT_EQ(asked.untold, 1) << "nobody said what the first one cost";
  }
  const std::string quiet = HttpStream({Delta(Json::object({{"content", "no end"}}))});
  Serve({{{quiet}}, {{quiet}}, {{quiet}}});
  EXPECT_EQ(Why(ErrorKind::kIo), "model coder (m by here): its answer breaks off");
  Serve({{{HttpStream({EventText("{nonsense")})}}, Answer("there")});
  EXPECT_EQ(Must(Ask().reply).text, "there");
  Serve({{{"\x01\x02 no HTTP at all\r\n\r\n"}}, Answer("there")});
  EXPECT_EQ(Must(Ask().reply).text, "there");
  Serve({{{HttpText(200, "text/html", "<html>log in first</html>")}}}, "retries = 0");
  EXPECT_EQ(Why(ErrorKind::kIo), "model coder (m by here): its answer breaks off");
}

TEST_F(ModelTest, SilenceAndTheWallEndACall) {
  Serve({{{begin_ + "5\r\n", milliseconds(0)}, {"x", milliseconds(5000)}}}, "silence_s = 0.2\nretries = 0");
  EXPECT_EQ(Why(ErrorKind::kTimeout), "model coder (m by here): 127.0.0.1 said nothing for 0.2 s");
  Saying drops = {{begin_}};
  for (int i = 0; i < 100; ++i) drops.push_back({"3\r\n:\n\n\r\n", milliseconds(50)});
  Serve({drops}, "silence_s = 1\nwall_s = 0.4\nretries = 0");
  const auto began = Clock::now();
  EXPECT_EQ(Why(ErrorKind::kTimeout), "model coder (m by here): 127.0.0.1 was not done within 0.4 s");
  EXPECT_LT(Clock::now() - began, milliseconds(2000));
}

TEST_F(ModelTest, AnErrorInTheMidstOfAStreamCountsAsOneBeforeIt) {
  const auto stream = [](const std::string& error) {
    return Saying{{HttpStream({Delta(Json::object({{"content", "half"}})), EventText(error)})}};
  };
  Serve({stream(R"({"error": {"type": "server_error", "message": "overloaded"}})"), Answer("there")});
  EXPECT_EQ(Must(Ask().reply).text, "there");
  Serve({stream(R"({"error": {"type": "invalid_request_error", "message": "no"}})"), Answer("too late")});
  EXPECT_EQ(Why(ErrorKind::kIo), "model coder (m by here): it was refused with 200: no");
  EXPECT_EQ(tries(), 1u);
}

TEST_F(ModelTest, NobodyThereIsSaid) {
  Serve({}, "retries = 0");
  const std::string url = server_->url();
  server_.reset();
  const Asked asked = Ask();
  ASSERT_FALSE(asked.reply);
  EXPECT_NE(asked.reply.error().message.find("nobody answers there"), std::string::npos) << asked.reply.error().message;
}

TEST_F(ModelTest, AnInterruptEndsItWhateverItWaitsFor) {
  for (const Saying& saying : {Saying{{"", milliseconds(20000)}}, Saying{{begin_}, {"x", milliseconds(20000)}},
                               Refusal(429, ErrorBody("later"), {"retry-after: 30"})}) {
    Serve({saying});
    const auto began = Clock::now();
    std::jthread interrupter([&](const std::stop_token& over) {
      while (server_->heard().empty()) std::this_thread::sleep_for(milliseconds(5));
      while (!over.stop_requested()) {
        model_->Interrupt();
        std::this_thread::sleep_for(milliseconds(20));
      }
    });
    Why(ErrorKind::kInterrupted);
    EXPECT_LT(Clock::now() - began, milliseconds(3000));
  }
}

TEST_F(ModelTest, TheKeyComesBackInNoText) {
  Serve({Refusal(401, ErrorBody(fmt::format("Incorrect API key provided: {}.", kKey)))});
  EXPECT_NE(Why(ErrorKind::kUsage).find("Incorrect API key provided: (key)."), std::string::npos);
  Serve({Answer(fmt::format("Your key is {}!", kKey))});
  EXPECT_EQ(Must(Ask().reply).text, "Your key is (key)!");
}

TEST_F(ModelTest, WithoutItsKeyItIsNotOpened) {
  unsetenv("HONE_TEST_KEY");
  const auto file =
      Must(ModelsFile::Parse("[providers.here]\ndialect = \"openai-chat\"\nurl = \"http://127.0.0.1\"\n"
                             "key_env = \"HONE_TEST_KEY\"\n[models.coder]\nprovider = \"here\"\nmodel = "
                             "\"m\"\n",
                             "models.toml"));
  const auto model = OpenModel(file, "coder");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().message, "model coder: provider here: the environment variable HONE_TEST_KEY is not set");
}

}  // namespace
}  // namespace hone
