#include "index/build_index.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/sha256.h"
#include "index/language.h"
#include "index/schema.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

struct Known {
  std::int64_t id = 0;
  std::string sha256;
  std::string language;
};

class Builder {
 public:
  Builder(Connection& connection, const IndexSetting& setting) : connection_(connection), setting_(setting) {}

  Result<void> Run(const std::string& root) {
    report_.root = root;
    HONE_TRY(Prepare());
    HONE_TRY(ForEachFile(root, report_.passed, [&](const TreeFile& file) { return Take(file); }));
    for (const auto& [path, known] : known_) {  // what is left was not met
      HONE_TRY(Remove(known.id));
      ++report_.removed;
    }
    report_.files = static_cast<int>(HONE_TRY(connection_.Integer("SELECT count(*) FROM file")));
    report_.symbols = static_cast<int>(HONE_TRY(connection_.Integer("SELECT count(*) FROM symbol")));
    return {};
  }
  const IndexReport& report() const { return report_; }

 private:
  Result<void> Prepare() {
    const IndexState state = HONE_TRY(StateOf(connection_));
    if (state != IndexState::kOurs) HONE_TRY(MakeTables(connection_));
    Statement origin = HONE_TRY(connection_.Prepare("SELECT root FROM origin"));
    if (!HONE_TRY(origin.Step())) {
      Statement insert = HONE_TRY(connection_.Prepare("INSERT INTO origin (root) VALUES (?1)"));
      HONE_TRY(insert.Bind(1, report_.root).Run());
    } else if (origin.Text(0) != report_.root) {
      return Fail(ErrorKind::kUsage, fmt::format("{} is the index of {}; {}, or another --name", connection_.path(),
                                                 origin.Text(0), kIndexWords.another));
    }
    Statement files = HONE_TRY(connection_.Prepare("SELECT path, id, sha256, language FROM file"));
    while (HONE_TRY(files.Step())) known_[files.Text(0)] = {files.Integer(1), files.Text(2), files.Text(3)};
    return {};
  }

  Result<void> Take(const TreeFile& file) {
    if (setting_.interrupted && *setting_.interrupted)
      return Fail(ErrorKind::kInterrupted, "interrupted; the index is as it was before");
    report_.bytes += static_cast<std::int64_t>(file.text.size());
    if (setting_.stage && ++seen_ % 100 == 0) setting_.stage(fmt::format("indexing, {} files", seen_));
    const std::string sha256 = Sha256(file.text);
    const Language* language = LanguageOf(file.path);
    const std::string_view name = language ? language->name : "";
    if (const auto known = known_.find(file.path); known != known_.end()) {
      const Known before = known->second;
      known_.erase(known);
      if (before.sha256 == sha256 && before.language == name) return {};
      HONE_TRY(Remove(before.id));
      ++report_.changed;
    } else {
      ++report_.added;
    }
    Statement insert = HONE_TRY(
        connection_.Prepare("INSERT INTO file (path, language, sha256, text) VALUES (?1, ?2, ?3, ?4) RETURNING id"));
    insert.Bind(1, file.path).Bind(2, name).Bind(3, sha256).Bind(4, file.text);
    HONE_TRY(insert.Step());
    const std::int64_t id = insert.Integer(0);
    HONE_TRY(insert.Step());
    Statement words = HONE_TRY(connection_.Prepare("INSERT INTO word (rowid, text) VALUES (?1, ?2)"));
    HONE_TRY(words.Bind(1, id).Bind(2, file.text).Run());
    if (language) HONE_TRY(AddSymbols(id, language->symbols(file.text)));
    return {};
  }

  Result<void> AddSymbols(std::int64_t file, const std::vector<Symbol>& symbols) {
    for (const Symbol& symbol : symbols) {
      Statement insert =
          HONE_TRY(connection_.Prepare("INSERT INTO symbol (file, name, kind, scope, signature, line, first, last) "
                                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
      insert.Bind(1, file).Bind(2, symbol.name).Bind(3, symbol.kind).Bind(4, symbol.scope).Bind(5, symbol.signature);
      HONE_TRY(insert.Bind(6, symbol.line).Bind(7, symbol.first).Bind(8, symbol.last).Run());
    }
    return {};
  }

  Result<void> Remove(std::int64_t id) {
    // The trigrams of an external text are taken away by that text.
    Statement words = HONE_TRY(
        connection_.Prepare("INSERT INTO word (word, rowid, text) SELECT 'delete', id, text FROM file WHERE id = ?1"));
    HONE_TRY(words.Bind(1, id).Run());
    for (const char* sql : {"DELETE FROM symbol WHERE file = ?1", "DELETE FROM file WHERE id = ?1"}) {
      Statement remove = HONE_TRY(connection_.Prepare(sql));
      HONE_TRY(remove.Bind(1, id).Run());
    }
    return {};
  }

  Connection& connection_;
  const IndexSetting& setting_;
  IndexReport report_;
  std::map<std::string, Known> known_;  // by path: of the index as it was, and not met yet
  int seen_ = 0;
};

}  // namespace

Result<IndexReport> BuildIndex(const std::string& tree, const std::string& path, const IndexSetting& setting) {
  std::error_code failure;
  const fs::path root = fs::canonical(tree, failure);
  if (failure || !fs::is_directory(root, failure))
    return Fail(ErrorKind::kUsage, fmt::format("{}: it is no folder", tree));
  const std::string folder = fs::path(path).parent_path().string();
  if (!folder.empty()) HONE_TRY(MakeDirectories(folder));
  Connection connection = HONE_TRY(Connection::Open(path, IfAbsent::kCreate, kIndexWords));
  Transaction transaction = HONE_TRY(Transaction::Begin(connection));
  Builder builder(connection, setting);
  if (auto built = builder.Run(root.string()); !built)
    return Rethrow(std::move(built).error(), fmt::format("cannot index {}: ", tree));
  HONE_TRY(transaction.Commit());
  return builder.report();
}

}  // namespace hone
