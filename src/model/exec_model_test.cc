#include "model/exec_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/testing/must.h"
#include "model/exec_format.h"

namespace hone {
namespace {

using testing::Must;

class ExecModelTest : public ::testing::Test {
 protected:
  void SetUp() override { signal(SIGPIPE, SIG_IGN); }  // not every script reads what it is told
  // A model behind a shell script.
  void Serve(const std::string& script, const std::string& more = "", const std::string& reads = "text") {
    const std::string path = folder_.path() + "/agent";
    EXPECT_TRUE(WriteFileAtomically(path, "#!/bin/sh\n" + script));
    EXPECT_EQ(chmod(path.c_str(), 0700), 0);
    const auto file = Must(ModelsFile::Parse(
        fmt::format("[providers.agent]\ncommand = [\"{}\", \"--model={{model}}\", \"{{system}}\"]\nreads = \"{}\"\n{}\n"
                    "[models.coder]\nprovider = \"agent\"\nmodel = \"m-1\"\n",
                    path, reads, more),
        "models.toml"));
    model_ = Must(OpenModel(file, "coder"));
  }
  Asked Ask() {
    return model_->Ask({.system = "Be brief.", .turns = {{.who = TalkTurn::Who::kUser, .text = "Hello?"}}},
                       [this](const Asked&) { return go_on_; });
  }
  std::string Answer() { return Must(Ask().reply).text; }
  std::string Why(ErrorKind kind) {
    const Asked asked = Ask();
    if (asked.reply) return "an answer";
    EXPECT_EQ(asked.reply.error().kind, kind);
    return asked.reply.error().message.substr(asked.reply.error().message.find("): ") + 3);
  }

  TempDirectory folder_ = Must(TempDirectory::Create("exec"));
  std::unique_ptr<Model> model_;
  bool go_on_ = true;
};

TEST_F(ExecModelTest, ItGetsTheQuestionAndItsAnswerIsRead) {
  Serve("echo \"$1\"; cat \"$2\"; echo; cat");
  EXPECT_EQ(Answer(), "--model=m-1\nBe brief.\nHello?\n\n");
  const Asked asked = Ask();
  EXPECT_EQ(asked.tries, 1);
  EXPECT_EQ(asked.untold, 1) << "nobody says what it took";
}

TEST_F(ExecModelTest, ItsFolderIsEmptyAndGoneAfterIt) {
  Serve("pwd; ls -A; touch left");
  std::string folder = Answer();
  ASSERT_TRUE(folder.ends_with('\n'));
  folder.pop_back();
  EXPECT_EQ(folder.find('\n'), std::string::npos) << folder;
  EXPECT_NE(folder, std::filesystem::current_path().string());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(ExecModelTest, ItsEnvironmentIsWhatIsNamed) {
  setenv("HONE_TEST_ALLOWED", "yes", 1);
  setenv("HONE_TEST_SECRET", "no", 1);
  Serve("env", "environment = [\"HONE_TEST_ALLOWED\", \"HONE_TEST_ABSENT\"]");
  const std::string seen = Answer();
  EXPECT_NE(seen.find("HONE_TEST_ALLOWED=yes\n"), std::string::npos);
  EXPECT_NE(seen.find("PATH="), std::string::npos);
  EXPECT_EQ(seen.find("HONE_TEST_SECRET"), std::string::npos);
  EXPECT_EQ(seen.find("HONE_TEST_ABSENT"), std::string::npos);
}

TEST_F(ExecModelTest, ATimeOutEndsItWithAllThatItStarted) {
  const std::string pid = folder_.path() + "/pid";
  Serve(fmt::format("sleep 100 & echo $! > {}; wait", pid), "wall_s = 0.5");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(Why(ErrorKind::kTimeout), "it was not done within 0.5 s");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  const std::string child = "/proc/" + Must(ReadFile(pid));
  bool alive = true;
  for (int i = 0; i < 100 && alive; ++i) {
    const auto status = ReadFile(child.substr(0, child.find('\n')) + "/stat");
    alive = status && status->find(") Z ") == std::string::npos;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(alive);
}

TEST_F(ExecModelTest, AnInterruptEndsIt) {
  Serve("sleep 100");
  std::jthread interrupter([&](const std::stop_token& over) {
    while (!over.stop_requested()) {
      model_->Interrupt();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_EQ(Why(ErrorKind::kInterrupted), "interrupted");
}

TEST_F(ExecModelTest, AFailureIsSaidInItsOwnWords) {
  Serve("echo first >&2; echo not logged in >&2; exit 3");
  EXPECT_EQ(Why(ErrorKind::kTool), "it exited with status 3: not logged in");
  Serve(R"(echo '{"type": "result", "subtype": "success", "is_error": true, "result": "Invalid API key"}'; exit 1)", "",
        "claude-json");
  EXPECT_EQ(Why(ErrorKind::kIo), "Invalid API key");
  Serve("echo hello", "", "claude-json");
  EXPECT_EQ(Why(ErrorKind::kIo), "it printed no result as JSON");
  const auto file =
      Must(ModelsFile::Parse("[providers.agent]\ncommand = [\"hone-no-such-program\"]\nreads = \"text\"\n"
                             "[models.coder]\nprovider = \"agent\"\nmodel = \"m\"\n",
                             "models.toml"));
  model_ = Must(OpenModel(file, "coder"));
  EXPECT_EQ(Why(ErrorKind::kUsage), "there is no such program in PATH; see its command in the models file");
}

TEST_F(ExecModelTest, FormatsTellWhatItTook) {
  const auto read = [](std::string_view format, const std::string& output) {
    return Must(FindExecFormat(format)->read(output));
  };
  const ModelReply claude =
      read("claude-json", R"({"type": "result", "subtype": "success", "is_error": false, "result": "hi",
      "total_cost_usd": 0.25, "usage": {"input_tokens": 10, "cache_creation_input_tokens": 20,
      "cache_read_input_tokens": 30, "output_tokens": 5}, "modelUsage": {"m-1-full": {"inputTokens": 10}}})");
  EXPECT_EQ(claude.text, "hi");
  EXPECT_EQ(claude.model, "m-1-full");
  EXPECT_EQ(claude.usage.input_tokens, 60);
  EXPECT_EQ(claude.usage.cached_tokens, 30);
  EXPECT_EQ(claude.usage.dollars, 0.25);
  // It asked another model, too, for something of its own.
  const ModelReply more = read("claude-json", R"({"type": "result", "subtype": "success", "result": "hi",
      "usage": {"input_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 100, "output_tokens": 30},
      "modelUsage": {"m-1": {"inputTokens": 20, "outputTokens": 30, "cacheReadInputTokens": 100, "cacheCreationInputTokens": 0},
                     "small": {"inputTokens": 7, "outputTokens": 2}}})");
  EXPECT_EQ(more.usage.input_tokens, 127);
  EXPECT_EQ(more.usage.cached_tokens, 100);
  EXPECT_EQ(more.usage.output_tokens, 32);
  const ModelReply codex =
      read("codex-jsonl",
           "{\"type\": \"thread.started\", \"thread_id\": \"t\"}\nnot JSON\n"
           "{\"type\": \"item.completed\", \"item\": {\"type\": \"reasoning\", \"text\": \"hm\"}}\n"
           "{\"type\": \"item.completed\", \"item\": {\"type\": \"agent_message\", \"text\": \"hi\"}}\n"
           "{\"type\": \"turn.completed\", \"usage\": {\"input_tokens\": 60, \"cached_input_tokens\": 30, "
           "\"output_tokens\": 5}}\n");
  EXPECT_EQ(codex.text, "hi");
  EXPECT_EQ(codex.usage.input_tokens, 60);
  EXPECT_FALSE(codex.usage.dollars);
  EXPECT_EQ(FindExecFormat("codex-jsonl")
                ->read("{\"type\": \"turn.failed\", \"error\": {\"message\": \"no\"}}")
                .error()
                .message,
            "no");
  const ModelReply gemini = read("gemini-json", R"({"session_id": "s", "response": "hi", "stats": {"models": {
      "m-1": {"tokens": {"input": 1034, "prompt": 1234, "candidates": 56, "total": 1390, "cached": 200, "thoughts": 100}},
      "small": {"tokens": {"prompt": 6, "candidates": 4}}}, "tools": {"totalCalls": 0}}})");
  EXPECT_EQ(gemini.text, "hi");
  EXPECT_EQ(gemini.usage.input_tokens, 1240);
  EXPECT_EQ(gemini.usage.cached_tokens, 200);
  EXPECT_EQ(gemini.usage.output_tokens, 160);
  EXPECT_FALSE(read("gemini-json", R"({"response": "hi", "stats": {}})").usage.input_tokens);
  const auto why = [](const std::string& said) { return FindExecFormat("gemini-json")->read(said).error().message; };
  EXPECT_EQ(why(R"({"error": {"message": "no"}})"), "no");
  EXPECT_EQ(why("Warning: no colors.\n{\n  \"error\": {\n    \"type\": \"Error\",\n    \"message\": "
                "\"{\\\"error\\\":{\\\"code\\\":400,\\\"message\\\":\\\"API key not valid.\\\"}}\"\n  }\n}\n"),
            "API key not valid.");
}

TEST_F(ExecModelTest, WhyAProgramFailedIsReadWhereItSaysSo) {
  Serve("echo noise >&2; printf '{\n\"error\": {\"message\": \"out of money\"}}' >&2; exit 144", "", "gemini-json");
  EXPECT_EQ(Why(ErrorKind::kIo), "out of money");
  Serve("echo noise >&2; exit 3", "", "gemini-json");
  EXPECT_EQ(Why(ErrorKind::kIo), "it printed no response as JSON");
}

}  // namespace
}  // namespace hone
