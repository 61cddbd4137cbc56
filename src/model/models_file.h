// Which language models there are, who serves them, and what they cost: a TOML file that the user writes
// (docs/models.md). What is misspelled is refused, with its line.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/dialect.h"
#include "model/exec_format.h"

namespace hone {

// Who serves models: [providers.NAME].
struct Provider {
  std::string name;
  const Dialect* dialect = nullptr;  // null: a program asks, below
  std::string url;
  std::string version;            // of the protocol, for dialects that name one; empty: the dialect's own
  std::string key_env, key_file;  // at most one; neither: no key is sent
  std::string ca_file;            // certificates to trust instead of the system's
  std::chrono::milliseconds silence = std::chrono::minutes(5);  // so long may nothing come
  std::chrono::milliseconds wall = std::chrono::minutes(30);    // so long may an answer take
  int retries = 2;                                              // of a call that may go well the next time
  // A program that asks for us (model/exec_model.h): its words, the variables that it gets, what it prints.
  std::vector<std::string> command = {}, environment = {};
  const ExecFormat* format = nullptr;
};

// Dollars for a million tokens; nothing: not known.
struct Price {
  std::optional<double> input, cached, written, output;
};

// What is asked: [models.NAME].
struct ModelEntry {
  std::string name;
  std::string provider;
  std::string model;                              // as the server calls it
  std::map<std::string, std::string> parameters;  // JSON of each, sent as they are; nothing else is
  Price price;
};

class ModelsFile {
 public:
  // kUsage and one line: "models.toml line 7: there is no provider 'opnai'; did you mean 'openai'?"
  static Result<ModelsFile> Parse(std::string_view toml, const std::string& path);
  static Result<ModelsFile> Read(const std::string& path);  // kUsage, too, when it is not there
  static std::string UsualPath();                           // models.toml in ConfigDirectory()

  const std::string& path() const { return path_; }
  const std::vector<ModelEntry>& models() const { return models_; }  // sorted by name
  Result<ModelEntry> Find(std::string_view name) const;              // kUsage with the known ones
  const Provider& ProviderOf(const ModelEntry& entry) const { return providers_.at(entry.provider); }

 private:
  std::string path_;
  std::map<std::string, Provider> providers_;
  std::vector<ModelEntry> models_;
};

}  // namespace hone
