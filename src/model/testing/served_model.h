// A model whose server is of this machine and says what a test tells it to.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/testing/must.h"
#include "model/model.h"
#include "model/testing/loopback.h"

namespace hone::testing {

inline constexpr char kKey[] = "sk-very-secret-0123456789";
inline constexpr char kAtOnce[] = "retry-after-ms: 1";

inline Saying Refusal(int status, const std::string& body, const std::vector<std::string>& headers = {}) {
  return {{HttpText(status, "application/json", body, headers)}};
}

class ServedModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("HONE_TEST_KEY", kKey, 1);
    setenv("HONE_DATA", folder_.path().c_str(), 1);  // what servers refused is remembered there
  }
  void TearDown() override { unsetenv("HONE_DATA"); }

  // A model that is served by what is said, in the order of the connections.
  void Serve(std::vector<Saying> sayings, const std::string& provider = "", const std::string& model = "",
             std::string_view dialect = "openai-chat", std::string_view path = "/v1") {
    model_.reset();
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

  TempDirectory folder_ = Must(TempDirectory::Create("served"));
  std::unique_ptr<Loopback> server_;
  std::unique_ptr<Model> model_;
  bool go_on_ = true;
};

}  // namespace hone::testing
