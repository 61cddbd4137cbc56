#include "mcp/server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/mutex.h"

namespace hone::mcp {
namespace {

using Json = nlohmann::json;

constexpr char kModern[] =
    R"("_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                 "io.modelcontextprotocol/clientCapabilities": {}})";

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() : server_(std::make_unique<Server>(Offered(), [this](std::string_view line) { Hear(line); })) {}

  Catalogue Offered() {
    Catalogue catalogue{.name = "tested", .version = "1", .instructions = "be kind"};
    const std::string any = R"({"type": "object"})";
    catalogue.tools = {
        {"echo", "Echo", "says it again", any, Effect::kReads,
         [](const Json& arguments, Call& call) {
           call.Progress("halfway");
           return ToolAnswer{.document = arguments.dump(), .text = "and a word"};
         }},
        {"fail", "Fail", "cannot", any, Effect::kWrites,
         [](const Json&, Call&) { return ToolAnswer{.document = "", .text = "no: do that", .is_error = true}; }},
        {"wait", "Wait", "until it is cancelled", any, Effect::kDestroys, [this](const Json&, Call& call) {
           while (!call.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
           ++cancelled_;
           return ToolAnswer{.document = "{}", .text = ""};
         }}};
    catalogue.prompts = {
        {"ask", "asks", {{"what", "a thing", true}, {"how", "a way", false}}, "Do {what} {how}{what}"}};
    catalogue.templates = {{"x://{name}", "x", "an x", "text/plain"}};
    catalogue.resources = [](Call&) { return std::vector<Resource>{{"x://a", "a", "the a", "text/plain"}}; };
    catalogue.read = [](const std::string& uri, Call&) -> Result<ResourceText> {
      if (uri == "x://a") return ResourceText{"text/plain", "\xff!"};
      if (uri == "x://broken") return Fail(ErrorKind::kIo, "the disk is gone");
      return Fail(ErrorKind::kNotFound, "there is none");
    };
    return catalogue;
  }

  void Hear(std::string_view line) {
    EXPECT_EQ(line.find('\n'), line.npos);
    Json json = Json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    EXPECT_EQ(json["jsonrpc"], "2.0");
    const MutexLock lock(mutex_);
    heard_.push_back(std::move(json));
    heard_changed_.NotifyAll();
  }

  // The line that comes next, or null when none does.
  Json Next() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const MutexLock lock(mutex_);
    while (read_ == heard_.size() && heard_changed_.WaitUntil(mutex_, until)) continue;
    return read_ < heard_.size() ? heard_[read_++] : Json();
  }
  Json Ask(const std::string& line) {
    server_->Take(line);
    return Next();
  }
  Json Method(const std::string& method, const std::string& params, const std::string& id = "1") {
    return Ask(fmt::format(R"({{"jsonrpc": "2.0", "id": {}, "method": "{}", "params": {{{}}}}})", id, method, params));
  }
  Json Modern(const std::string& method, const std::string& params = "") {
    return Method(method, fmt::format("{}{}{}", kModern, params.empty() ? "" : ", ", params));
  }
  int CodeOf(const Json& answer) { return answer.value("/error/code"_json_pointer, 0); }
  void BeginSession() { Method("initialize", R"("protocolVersion": "2025-11-25")"); }

  Mutex mutex_;
  Condition heard_changed_;
  std::vector<Json> heard_ HONE_GUARDED_BY(mutex_);
  std::size_t read_ HONE_GUARDED_BY(mutex_) = 0;
  std::atomic<int> cancelled_ = 0;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, ASessionHasTheVersionThatWasAskedForElseTheNewest) {
  for (const auto& [asked, had] : {std::pair("2025-06-18", "2025-06-18"), std::pair("2025-11-25", "2025-11-25"),
                                   std::pair("2024-11-05", "2025-11-25"), std::pair("tomorrow", "2025-11-25")}) {
    const Json answer = Method("initialize", fmt::format(R"("protocolVersion": "{}", "capabilities": {{}})", asked));
    EXPECT_EQ(answer["id"], 1);
    EXPECT_EQ(answer["result"]["protocolVersion"], had);
    EXPECT_EQ(answer["result"]["serverInfo"]["name"], "tested");
    EXPECT_EQ(answer["result"]["instructions"], "be kind");
    EXPECT_TRUE(answer["result"]["capabilities"]["tools"].is_object());
    EXPECT_FALSE(answer["result"].contains("resultType"));
  }
  EXPECT_EQ(CodeOf(Method("initialize", "")), kInvalidParams);
  EXPECT_EQ(Method("ping", "")["result"], Json::object());
}

TEST_F(ServerTest, AModernRequestStandsAlone) {
  const Json found = Modern("server/discover")["result"];
  EXPECT_EQ(found["supportedVersions"], (Json{"2026-07-28", "2025-11-25", "2025-06-18"}));
  EXPECT_EQ(found["_meta"]["io.modelcontextprotocol/serverInfo"]["version"], "1");
  const Json tools = Modern("tools/list")["result"];
  for (const Json* result : {&found, &tools}) {
    EXPECT_EQ((*result)["resultType"], "complete");
    EXPECT_GE((*result)["ttlMs"], 0);
    EXPECT_EQ((*result)["cacheScope"], "private");
  }
  const Json called = Modern("tools/call", R"("name": "echo", "arguments": {"a": 1})")["result"];
  EXPECT_EQ(called["resultType"], "complete");
  EXPECT_FALSE(called.contains("ttlMs"));
  EXPECT_EQ(called["structuredContent"]["a"], 1);
  for (const char* method : {"initialize", "ping", "logging/setLevel", "subscriptions/listen"})
    EXPECT_EQ(CodeOf(Modern(method)), kMethodNotFound) << method;
}

TEST_F(ServerTest, ARequestOfNoEraIsToldWhatItLacks) {
  EXPECT_EQ(CodeOf(Method("tools/list", "")), kInvalidParams);
  EXPECT_EQ(CodeOf(Method("server/discover", "")), kInvalidParams);
  const Json old = Method("tools/list", R"("_meta": {"io.modelcontextprotocol/protocolVersion": "1900-01-01"})");
  EXPECT_EQ(CodeOf(old), kUnsupportedVersion);
  EXPECT_EQ(old["error"]["data"]["requested"], "1900-01-01");
  EXPECT_EQ(old["error"]["data"]["supported"][0], "2026-07-28");
  EXPECT_EQ(CodeOf(Method("tools/list", R"("_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"})")),
            kInvalidParams);
  EXPECT_EQ(CodeOf(Method("tools/list", R"("_meta": {"io.modelcontextprotocol/protocolVersion": 7})")), kInvalidParams);
  BeginSession();
  EXPECT_EQ(Method("tools/list", "")["result"]["tools"].size(), 3u);
  EXPECT_EQ(Modern("tools/list")["result"]["resultType"], "complete") << "both eras at once";
}

TEST_F(ServerTest, AToolAnswersWithADocumentAndItsText) {
  BeginSession();
  const Json answer = Method("tools/call", R"("name": "echo", "arguments": {"a": [1, "ü"]})", "\"seven\"");
  EXPECT_EQ(answer["id"], "seven");
  EXPECT_EQ(answer["result"]["isError"], false);
  EXPECT_EQ(answer["result"]["structuredContent"], (Json{{"a", {1, "ü"}}}));
  EXPECT_EQ(Json::parse(answer["result"]["content"][0]["text"].get<std::string>()),
            answer["result"]["structuredContent"]);
  EXPECT_EQ(answer["result"]["content"][1]["text"], "and a word");
  const Json failed = Method("tools/call", R"("name": "fail")")["result"];
  EXPECT_EQ(failed["isError"], true);
  EXPECT_EQ(failed["content"][0]["text"], "no: do that");
  EXPECT_EQ(CodeOf(Method("tools/call", R"("name": "none")")), kInvalidParams);
  EXPECT_EQ(CodeOf(Method("tools/call", "")), kInvalidParams);
  EXPECT_EQ(CodeOf(Method("tools/call", R"("name": "echo", "arguments": [])")), kInvalidParams);
}

TEST_F(ServerTest, ProgressGoesToWhoAskedForIt) {
  BeginSession();
  const Json note = Method("tools/call", R"("name": "echo", "_meta": {"progressToken": "t"})", "4");
  EXPECT_EQ(note["method"], "notifications/progress");
  EXPECT_EQ(note["params"], (Json{{"progressToken", "t"}, {"progress", 1}, {"message", "halfway"}}));
  EXPECT_EQ(Next()["id"], 4);
}

TEST_F(ServerTest, ACancelledCallEndsWithoutAWord) {
  BeginSession();
  server_->Take(R"({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "wait"}})");
  server_->Take(R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}})");
  server_->Take(R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [8]}})");
  EXPECT_EQ(CodeOf(Method("tools/call", R"("name": "wait")", "8")), kInvalidRequest) << "its id is in use";
  EXPECT_EQ(cancelled_, 0);
  server_->Take(R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 8}})");
  EXPECT_EQ(Method("ping", "", "9")["id"], 9) << "others are answered meanwhile";
  server_->Take(R"({"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": {"name": "wait"}})");
  server_.reset();
  EXPECT_EQ(cancelled_, 2);
  const MutexLock lock(mutex_);
  EXPECT_EQ(read_, heard_.size()) << heard_.back().dump();
}

TEST_F(ServerTest, MoreThanItsShareIsRefused) {
  BeginSession();
  for (std::size_t i = 0; i < kMostInFlight; ++i)
    server_->Take(fmt::format(R"({{"jsonrpc": "2.0", "id": {}, "method": "tools/call", "params": {{"name": "wait"}}}})",
                              100 + i));
  EXPECT_EQ(CodeOf(Method("tools/call", R"("name": "echo")")), kInternalError);
}

TEST_F(ServerTest, ResourcesAndPromptsAreReadByName) {
  BeginSession();
  EXPECT_EQ(Method("resources/list", "")["result"]["resources"][0]["uri"], "x://a");
  EXPECT_EQ(Method("resources/templates/list", "")["result"]["resourceTemplates"][0]["uriTemplate"], "x://{name}");
  const Json read = Method("resources/read", R"("uri": "x://a")")["result"]["contents"][0];
  EXPECT_EQ(read["uri"], "x://a");
  EXPECT_EQ(read["text"], "\uFFFD!") << "a message is UTF-8 whatever a file is";
  EXPECT_EQ(CodeOf(Method("resources/read", R"("uri": "x://b")")), kResourceNotFound);
  EXPECT_EQ(CodeOf(Modern("resources/read", R"("uri": "x://b")")), kInvalidParams);
  EXPECT_EQ(CodeOf(Method("resources/read", R"("uri": "x://broken")")), kInternalError);
  EXPECT_EQ(CodeOf(Method("resources/read", "")), kInvalidParams);
  EXPECT_EQ(Method("prompts/list", "")["result"]["prompts"][0]["arguments"][0]["required"], true);
  const Json prompt = Method("prompts/get", R"("name": "ask", "arguments": {"what": "{how}"})")["result"];
  EXPECT_EQ(prompt["messages"][0]["content"]["text"], "Do {how} {how}") << "values are not looked into";
  EXPECT_EQ(CodeOf(Method("prompts/get", R"("name": "ask")")), kInvalidParams);
  EXPECT_EQ(CodeOf(Method("prompts/get", R"("name": "none")")), kInvalidParams);
  EXPECT_EQ(CodeOf(Method("tools/list", R"("cursor": "more")")), kInvalidParams);
}

TEST_F(ServerTest, WhatIsNoRequestGetsTheProtocolsErrors) {
  BeginSession();
  EXPECT_EQ(CodeOf(Ask("hello")), kParseError);
  EXPECT_EQ(CodeOf(Ask("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"\xff\"}")), kParseError);
  EXPECT_EQ(CodeOf(Ask("[]")), kInvalidRequest);
  EXPECT_EQ(CodeOf(Ask("7")), kInvalidRequest);
  EXPECT_EQ(CodeOf(Ask(R"({"id": 1, "method": "ping"})")), kInvalidRequest);
  EXPECT_EQ(CodeOf(Ask(R"({"jsonrpc": "2.0", "id": null, "method": "ping"})")), kInvalidRequest);
  EXPECT_EQ(CodeOf(Ask(R"({"jsonrpc": "2.0", "id": {}, "method": "ping"})")), kInvalidRequest);
  EXPECT_EQ(CodeOf(Ask(R"({"jsonrpc": "2.0", "id": 3})")), kInvalidRequest);
  const Json params = Ask(R"({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": []})");
  EXPECT_EQ(CodeOf(params), kInvalidParams);
  EXPECT_EQ(params["id"], 3);
  EXPECT_EQ(CodeOf(Ask(std::string(1'000'000, '['))), kInvalidRequest) << "deep, and no harm done";
  EXPECT_EQ(CodeOf(Method("tools/destroy", "")), kMethodNotFound);
  server_->Take(R"({"jsonrpc": "2.0", "id": 1, "result": {}})");
  server_->Take(R"({"jsonrpc": "2.0", "method": "notifications/unheard"})");
  EXPECT_EQ(Method("ping", "", "77")["id"], 77) << "neither was answered";
}

}  // namespace
}  // namespace hone::mcp
