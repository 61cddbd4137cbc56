// A model behind a server of this machine: what passes is tried again, what does not is said, and no key gets out.
#include "model/model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "model/testing/served_model.h"
#include "model/testing/speech.h"

namespace hone {
namespace {

using namespace testing;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Saying Answer(const std::string& text) { return {{ChatAnswer(text)}}; }
std::string ErrorBody(const std::string& message, const Json& more = Json::object()) {
  Json error = {{"message", message}, {"type", "some_error"}};
  error.update(more);
  return Json::object({{"error", error}}).dump();
}

class ModelTest : public ServedModelTest {
 protected:
  Json Sent(std::size_t number) const { return Json::parse(server_->heard().at(number).body); }
};

TEST_F(ModelTest, OnlyWhatTheUserSetIsSent) {
  Serve({Answer("a"), Answer("b")}, "", "[models.coder.parameters]\ntemperature = 0.5\nlogit_bias = {x = 1}\n");
  static_cast<void>(Ask());
  EXPECT_EQ(Sent(0), Json::parse(R"({"model": "m", "stream": true, "stream_options": {"include_usage": true},
      "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}],
      "temperature": 0.5, "logit_bias": {"x": 1}})"));
}

TEST_F(ModelTest, WhatPassesIsTriedTwiceMoreOrAsOftenAsTheFileSays) {
  Serve({Refusal(429, ErrorBody("later"), {kAtOnce}), Refusal(429, ErrorBody("later"), {kAtOnce}),
         Refusal(429, ErrorBody("much later"), {kAtOnce}), Answer("too late")});
  EXPECT_EQ(Why(ErrorKind::kIo), "model coder (m by here): it was refused with 429: much later");
  EXPECT_EQ(tries(), 3u) << "twice, and no more";
  Serve({Refusal(500, ErrorBody("no"), {kAtOnce}), Answer("too late")}, "retries = 0");
  Why(ErrorKind::kIo);
  EXPECT_EQ(tries(), 1u);
}

TEST_F(ModelTest, TheServerSaysWhenToTryAgain) {
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
  // Another session knows it and says so once; what hone itself adds goes without saying.
  Serve({Answer("c"), Answer("d")}, "", "[models.coder.parameters]\ntemperature = 0.5\ntop_p = 0.9\n");
  const Asked third = Ask(), fourth = Ask();
  ASSERT_EQ(third.notes.size(), 1u);
  EXPECT_EQ(third.notes[0].find("model coder refused temperature = 0.5 before, which is left out;"), 0u);
  EXPECT_TRUE(fourth.notes.empty());
  EXPECT_FALSE(Sent(0).contains("temperature"));
  EXPECT_TRUE(Sent(0).contains("top_p"));
  // Another value is another question, and so is the same one of another model.
  Serve({Answer("e")}, "", "[models.coder.parameters]\ntemperature = 1\n");
  EXPECT_TRUE(Ask().notes.empty());
  EXPECT_TRUE(Sent(0).contains("temperature"));
  // What cannot be kept is said.
  const std::string blocked = folder_.path() + "/file";
  Must(WriteFileAtomically(blocked, "no folder"));
  setenv("HONE_DATA", blocked.c_str(), 1);
  Serve({Refusal(400, refused), Answer("f")}, "", "[models.coder.parameters]\ntemperature = 0.5\n");
  const Asked unkept = Ask();
  ASSERT_EQ(unkept.notes.size(), 2u);
  EXPECT_EQ(unkept.notes[1].find("that is forgotten when this ends: "), 0u);
  setenv("HONE_DATA", folder_.path().c_str(), 1);
  // What hone itself adds, refused by an old server in words alone.
  Serve({Refusal(422, R"({"detail": "extra fields not permitted: stream_options"})"), Answer("there")});
  EXPECT_EQ(Must(Ask().reply).text, "there");
  // Another complaint is none about a parameter.
  Serve({Refusal(400, ErrorBody("your temperatures are wrong")), Answer("no")}, "",
        "[models.coder.parameters]\ntemperature = 0.5\n");
  Why(ErrorKind::kUsage);
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
  const std::string begun = HttpStream({}).substr(0, HttpStream({}).find("0\r\n\r\n"));
  for (const Saying& saying : {Saying{{"", milliseconds(20000)}}, Saying{{begun}, {"x", milliseconds(20000)}},
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
