#include "model/models_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/testing/must.h"

namespace hone {
namespace {

using testing::Must;

constexpr std::string_view kProvider =
    "[providers.here]\ndialect = \"openai-chat\"\nurl = \"http://127.0.0.1:8000/v1\"\n";

std::string Message(std::string_view toml) {
  const auto file = ModelsFile::Parse(toml, "models.toml");
  return file ? "no error" : file.error().message;
}
std::string WithModel(std::string_view lines) {
  return fmt::format("{}[models.coder]\nprovider = \"here\"\nmodel = \"m\"\n{}", kProvider, lines);
}

TEST(ModelsFileTest, TheExampleIsRead) {
  const char* source = std::getenv("HONE_SOURCE");
  ASSERT_NE(source, nullptr);
  const auto file = Must(ModelsFile::Read(fmt::format("{}/examples/models.toml", source)));
  std::vector<std::string_view> dialects;
  for (const ModelEntry& entry : file.models()) {
    const Provider& provider = file.ProviderOf(entry);
    if (provider.dialect) dialects.push_back(provider.dialect->name);
    EXPECT_FALSE(entry.model.empty());
  }
  for (const Dialect* dialect : AllDialects())
    EXPECT_NE(std::ranges::find(dialects, dialect->name), dialects.end()) << dialect->name << " has no model in it";
}

TEST(ModelsFileTest, WhatIsSetIsReadAndNothingElseIs) {
  const auto file = Must(ModelsFile::Parse(
      WithModel("price = {input = 2, output = 8.5}\n[models.coder.parameters]\ntemperature = 0.5\nstop = [\"a\"]\n"
                "nested = {deep = true}\n"),
      "models.toml"));
  const ModelEntry entry = Must(file.Find("coder"));
  EXPECT_EQ(entry.parameters, (std::map<std::string, std::string>{
                                  {"nested", R"({"deep":true})"}, {"stop", R"(["a"])"}, {"temperature", "0.5"}}));
  EXPECT_EQ(entry.price.input, 2);
  EXPECT_EQ(entry.price.output, 8.5);
  EXPECT_FALSE(entry.price.cached) << "unknown is unknown";
  EXPECT_EQ(file.ProviderOf(entry).retries, 2);
}

TEST(ModelsFileTest, WhatIsWrongIsOneLineThatSaysWhere) {
  const std::string provider(kProvider);
  EXPECT_EQ(Message("[providers\n").substr(0, 18), "models.toml line 1");
  EXPECT_EQ(
      Message(provider + "retrie = 1\n"),
      "models.toml line 4: provider here has no 'retrie'; did you mean 'retries'?; known are dialect, url, version, "
      "key_env, key_file, ca_file, silence_s, wall_s, retries");
  EXPECT_EQ(Message("[providers.x]\ndialect = \"openai-chatt\"\nurl = \"http://127.0.0.1\"\n").substr(0, 90),
            "models.toml line 2: dialect is not 'openai-chatt'; did you mean 'openai-chat'?; known are ");
  EXPECT_EQ(Message("[providers.x]\ndialect = \"openai-chat\"\n"),
            "models.toml line 1: provider x lacks url = \"...\"");
  EXPECT_EQ(Message(provider + "[models.coder]\nprovider = \"her\"\nmodel = \"m\"\n"),
            "models.toml line 5: there is no provider 'her'; did you mean 'here'?");
  EXPECT_EQ(Message(WithModel("parameters = {stream = false}\n")),
            "models.toml line 7: 'stream' is written by hone itself: it is no parameter to set");
  EXPECT_EQ(Message(WithModel("price = {input = -1}\n")), "models.toml line 7: input is a number from 0 to 1000000");
  EXPECT_EQ(Message(provider + "key_env = \"A\"\nkey_file = \"b\"\n"),
            "models.toml line 1: provider here has key_env and key_file: leave one out");
  EXPECT_EQ(Message("[models.\"a:b\"]\nprovider = \"x\"\nmodel = \"m\"\n"),
            "models.toml line 1: a model's name has no :, comma, =, + or space, so not 'a:b'");
  EXPECT_EQ(Must(ModelsFile::Parse(WithModel(""), "models.toml")).Find("codr").error().message,
            "models.toml has no model 'codr'; did you mean 'coder'?; it has coder");
}

TEST(ModelsFileTest, AProgramHasKeysOfItsOwn) {
  const std::string program = "[providers.x]\ncommand = [\"llm\", \"-m\", \"{model}\"]\n";
  const std::string model = "[models.m]\nprovider = \"x\"\nmodel = \"m\"\n";
  EXPECT_EQ(Message(program + "reads = \"text\"\nenvironment = [\"A\"]\nwall_s = 5\n" + model), "no error");
  EXPECT_EQ(Message(program), "models.toml line 1: provider x lacks reads = \"...\"");
  EXPECT_EQ(Message(program + "reads = \"txt\"\n"),
            "models.toml line 3: reads is not 'txt'; did you mean 'text'?; known are claude-json, codex-jsonl, "
            "gemini-json, text");
  EXPECT_EQ(Message(program + "reads = \"text\"\nkey_env = \"K\"\n").substr(0, 54),
            "models.toml line 4: provider x, a program, has no 'key");
  EXPECT_EQ(Message(program + "reads = \"text\"\n" + model + "parameters = {a = 1}\n"),
            "models.toml line 7: a program takes no parameters; put them into its command");
  EXPECT_EQ(Message("[providers.x]\ncommand = \"llm\"\nreads = \"text\"\n"),
            "models.toml line 2: command is a list of texts in quotes");
  EXPECT_EQ(Message("[providers.x]\ncommand = []\nreads = \"text\"\n"), "models.toml line 2: command has no words");
}

TEST(ModelsFileTest, AKeyIsSentToNobodyInTheOpen) {
  const auto with = [](std::string_view scheme, std::string_view place) {
    return Message(
        fmt::format("[providers.x]\ndialect = \"openai-chat\"\nurl = \"{}://{}\"\nkey_env = \"K\"\n", scheme, place));
  };
  EXPECT_EQ(with("http", "localhost:80/v1"), "no error");
  EXPECT_EQ(with("https", "www.w3.org/v1"), "no error");
  EXPECT_EQ(with("http", "www.w3.org/v1"),
            "models.toml line 3: a key would be readable on its way to that URL; it has to begin with https://");
  EXPECT_NE(with("http", "localhost.www.w3.org"), "no error");
  EXPECT_NE(with("https", "user:secret@www.w3.org").find("a name or a key does not belong into it"), std::string::npos);
  EXPECT_NE(with("ftp", "www.w3.org"), "no error");
  for (const char* place : {"", "www.w3.org:0", "www.w3.org/v1?k=1"})
    EXPECT_NE(with("https", place), "no error") << place;
}

}  // namespace
}  // namespace hone
