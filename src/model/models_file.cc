#include "model/models_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "base/text.h"
#include "model/fields.h"

namespace hone {
namespace {

using Json = nlohmann::json;

// Reads tables of one file; the first thing that is wrong stays.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  bool ok() const { return wrong_.empty(); }
  Error TheError() const { return {.kind = ErrorKind::kUsage, .message = wrong_, .where = {}}; }
  void Wrong(const toml::node& where, std::string_view what) { WrongAt(where.source().begin.line, what); }
  void WrongAt(std::size_t line, std::string_view what) {
    if (ok()) wrong_ = line > 0 ? fmt::format("{} line {}: {}", path_, line, what) : fmt::format("{}: {}", path_, what);
  }

  // The tables of a table: [providers.a], [providers.b].
  std::vector<std::pair<std::string, const toml::table*>> Tables(const toml::table& of, std::string_view name) {
    std::vector<std::pair<std::string, const toml::table*>> tables;
    const toml::node* node = of.get(name);
    if (node == nullptr) return tables;
    if (!node->is_table()) {
      Wrong(*node, fmt::format("{} is a table: [{}.NAME]", name, name));
      return tables;
    }
    for (const auto& [key, value] : *node->as_table()) {
      if (!value.is_table()) {
        Wrong(value, fmt::format("{}.{} is a table: [{}.{}]", name, key.str(), name, key.str()));
      } else {
        tables.emplace_back(std::string(key.str()), value.as_table());
      }
    }
    return tables;
  }

  void OnlyKnown(const toml::table& table, std::string_view what, std::span<const std::string_view> known) {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      Wrong(value, fmt::format("{} has no '{}'{}; known are {}", what, key.str(), DidYouMean(key.str(), known),
                               fmt::join(known, ", ")));
    }
  }

  std::string Text(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return "";
    const auto text = node->value_exact<std::string>();
    if (!text || text->empty()) Wrong(*node, fmt::format("{} is a text in quotes", key));
    return text.value_or("");
  }
  std::string NeededText(const toml::table& table, std::string_view what, std::string_view key) {
    if (!table.contains(key)) Wrong(table, fmt::format("{} lacks {} = \"...\"", what, key));
    return Text(table, key);
  }
  std::vector<std::string> Texts(const toml::table& table, std::string_view key) {
    std::vector<std::string> texts;
    const toml::node* node = table.get(key);
    if (node == nullptr) return texts;
    if (!node->is_array()) Wrong(*node, fmt::format("{} is a list of texts in quotes", key));
    for (std::size_t i = 0; node->is_array() && i < node->as_array()->size(); ++i) {
      const auto text = node->as_array()->get(i)->value_exact<std::string>();
      if (!text) Wrong(*node, fmt::format("{} is a list of texts in quotes", key));
      texts.push_back(text.value_or(""));
    }
    return texts;
  }
  std::optional<double> Number(const toml::table& table, std::string_view key, double most) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return std::nullopt;
    const auto number = node->is_number() ? node->value<double>() : std::nullopt;
    if (!number || !(*number >= 0 && *number <= most))
      Wrong(*node, fmt::format("{} is a number from 0 to {}", key, most));
    return number;
  }
  void Time(const toml::table& table, std::string_view key, std::chrono::milliseconds& to) {
    const auto seconds = Number(table, key, 86400);
    if (seconds) to = std::chrono::milliseconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(1000 * *seconds)));
  }

  Json Value(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* whole = node.as_integer()) return whole->get();
    if (const auto* real = node.as_floating_point()) return real->get();
    if (const auto* truth = node.as_boolean()) return truth->get();
    if (const auto* list = node.as_array()) {
      Json values = Json::array();
      for (const toml::node& one : *list) values.push_back(Value(one));
      return values;
    }
    if (const auto* table = node.as_table()) {
      Json values = Json::object();
      for (const auto& [key, value] : *table) values[std::string(key.str())] = Value(value);
      return values;
    }
    Wrong(node, "a date is no value that can be sent; put it into quotes");
    return nullptr;
  }

 private:
  const std::string& path_;
  std::string wrong_;
};

constexpr std::string_view kTop[] = {"providers", "models"};
constexpr std::string_view kOfProvider[] = {"dialect", "url",       "version", "key_env", "key_file",
                                            "ca_file", "silence_s", "wall_s",  "retries"};
constexpr std::string_view kOfProgram[] = {"command", "reads", "environment", "wall_s"};
constexpr std::string_view kOfModel[] = {"provider", "model", "parameters", "price"};
constexpr std::string_view kOfPrice[] = {"input", "cached", "written", "output"};
constexpr double kDearest = 1e6;  // dollars for a million tokens

// Which of a table's rows is meant; null, and what is wrong, when that is none.
template <class Row>
const Row* Choose(Reader& reader, const toml::table& table, const char* key, std::string_view name,
                  std::span<const Row* const> rows) {
  std::vector<std::string_view> names;
  for (const Row* row : rows) {
    if (row->name == name) return row;
    names.push_back(row->name);
  }
  if (reader.ok()) {
    reader.Wrong(*table.get(key), fmt::format("{} is not '{}'{}; known are {}", key, name, DidYouMean(name, names),
                                              fmt::join(names, ", ")));
  }
  return nullptr;
}

Provider ReadProgram(Reader& reader, const std::string& name, const toml::table& table) {
  const std::string what = fmt::format("provider {}", name);
  reader.OnlyKnown(table, what + ", a program,", kOfProgram);
  Provider provider{.name = name};
  provider.command = reader.Texts(table, "command");
  provider.environment = reader.Texts(table, "environment");
  if (provider.command.empty()) reader.Wrong(*table.get("command"), "command has no words");
  provider.format = Choose(reader, table, "reads", reader.NeededText(table, what, "reads"), AllExecFormats());
  reader.Time(table, "wall_s", provider.wall);
  return provider;
}

Provider ReadProvider(Reader& reader, const std::string& name, const toml::table& table) {
  if (table.contains("command")) return ReadProgram(reader, name, table);
  const std::string what = fmt::format("provider {}", name);
  reader.OnlyKnown(table, what, kOfProvider);
  Provider provider{.name = name};
  provider.dialect = Choose(reader, table, "dialect", reader.NeededText(table, what, "dialect"), AllDialects());
  provider.url = reader.NeededText(table, what, "url");
  provider.version = reader.Text(table, "version");
  provider.key_env = reader.Text(table, "key_env");
  provider.key_file = reader.Text(table, "key_file");
  provider.ca_file = reader.Text(table, "ca_file");
  reader.Time(table, "silence_s", provider.silence);
  reader.Time(table, "wall_s", provider.wall);
  if (const auto retries = reader.Number(table, "retries", 100)) provider.retries = static_cast<int>(*retries);
  if (!reader.ok()) return provider;
  const auto url = SplitUrl(provider.url);
  if (!url) {
    reader.Wrong(*table.get("url"), url.error().message);
  } else if (!url->tls && !url->OfThisMachine() && !(provider.key_env.empty() && provider.key_file.empty())) {
    reader.Wrong(*table.get("url"), "a key would be readable on its way to that URL; it has to begin with https://");
  }
  if (!provider.key_env.empty() && !provider.key_file.empty())
    reader.Wrong(table, fmt::format("{} has key_env and key_file: leave one out", what));
  return provider;
}

ModelEntry ReadModel(Reader& reader, const std::string& name, const toml::table& table,
                     const std::map<std::string, Provider>& providers) {
  const std::string what = fmt::format("model {}", name);
  reader.OnlyKnown(table, what, kOfModel);
  ModelEntry entry{.name = name};
  entry.provider = reader.NeededText(table, what, "provider");
  entry.model = reader.NeededText(table, what, "model");
  const auto provider = providers.find(entry.provider);
  if (provider == providers.end()) {
    std::vector<std::string_view> names;
    for (const auto& [one, ignored] : providers) names.push_back(one);
    if (reader.ok()) {
      reader.Wrong(*table.get("provider"),
                   fmt::format("there is no provider '{}'{}", entry.provider, DidYouMean(entry.provider, names)));
    }
    return entry;
  }
  const toml::node* parameters = table.get("parameters");
  if (parameters != nullptr && !parameters->is_table()) reader.Wrong(*parameters, "parameters is a table");
  const Dialect* dialect = provider->second.dialect;
  if (parameters != nullptr && dialect == nullptr)
    reader.Wrong(*parameters, "a program takes no parameters; put them into its command");
  if (dialect != nullptr && parameters != nullptr && parameters->is_table()) {
    for (const auto& [key, value] : *parameters->as_table()) {
      const std::string field(key.str());
      if (std::ranges::find(dialect->ours, field) != dialect->ours.end())
        reader.Wrong(value, fmt::format("'{}' is written by hone itself: it is no parameter to set", field));
      entry.parameters[field] = JsonText(reader.Value(value));
    }
  }
  for (const std::string_view needed : dialect != nullptr ? dialect->needed : std::span<const std::string_view>()) {
    if (entry.parameters.contains(std::string(needed))) continue;
    reader.Wrong(table, fmt::format("{} lacks parameters.{}: {} is not spoken without", what, needed, dialect->name));
  }
  if (const toml::node* price = table.get("price")) {
    if (const toml::table* prices = price->as_table()) {
      reader.OnlyKnown(*prices, what + "'s price", kOfPrice);
      entry.price = {.input = reader.Number(*prices, "input", kDearest),
                     .cached = reader.Number(*prices, "cached", kDearest),
                     .written = reader.Number(*prices, "written", kDearest),
                     .output = reader.Number(*prices, "output", kDearest)};
    } else {
      reader.Wrong(*price, "price is a table: dollars for a million tokens of input, cached, written, output");
    }
  }
  return entry;
}

}  // namespace

Result<ModelsFile> ModelsFile::Parse(std::string_view toml, const std::string& path) try {
  ModelsFile file;
  file.path_ = path;
  Reader reader(file.path_);
  const toml::table top = toml::parse(toml);
  reader.OnlyKnown(top, "the file", kTop);
  for (const auto& [name, table] : reader.Tables(top, "providers"))
    file.providers_[name] = ReadProvider(reader, name, *table);
  for (const auto& [name, table] : reader.Tables(top, "models")) {
    if (name.find_first_of(":,=+ ") != name.npos)
      reader.Wrong(*table, fmt::format("a model's name has no :, comma, =, + or space, so not '{}'", name));
    file.models_.push_back(ReadModel(reader, name, *table, file.providers_));
  }
  if (!reader.ok()) return tl::unexpected<Error>(reader.TheError());
  std::ranges::sort(file.models_, {}, &ModelEntry::name);
  return file;
} catch (const toml::parse_error& error) {
  return Fail(ErrorKind::kUsage,
              fmt::format("{} line {}: {}", path, error.source().begin.line, std::string(error.description())));
}

Result<ModelsFile> ModelsFile::Read(const std::string& path) {
  auto text = ReadFile(path);
  if (!text) {
    return Fail(ErrorKind::kUsage,
                fmt::format("{}; language models are named in such a file (docs/models.md)", text.error().message));
  }
  return Parse(*text, path);
}

std::string ModelsFile::UsualPath() { return ConfigDirectory() + "/models.toml"; }

Result<ModelEntry> ModelsFile::Find(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const ModelEntry& entry : models_) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  return Fail(ErrorKind::kUsage, fmt::format("{} has no model '{}'{}; it has {}", path_, name, DidYouMean(name, names),
                                             names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace hone
