#include "index/schema.h"

#include <fmt/format.h>

namespace hone {

Result<IndexState> StateOf(Connection& connection) {
  const std::int64_t application = HONE_TRY(connection.Integer("PRAGMA application_id"));
  const std::int64_t version = HONE_TRY(connection.Integer("PRAGMA user_version"));
  const std::int64_t tables = HONE_TRY(connection.Integer("SELECT count(*) FROM sqlite_schema"));
  if (application == kIndexApplication) return version == kIndexVersion ? IndexState::kOurs : IndexState::kOlder;
  if (application == 0 && tables == 0) return IndexState::kEmpty;
  return Fail(ErrorKind::kCorrupt,
              fmt::format("{} is a database of something else; {}", connection.path(), kIndexWords.another));
}

Result<void> MakeTables(Connection& connection) {
  // With detail=none the trigrams say in which files a word may stand, and take a third of the room: where it stands is
  // seen in the text, which is here anyway.
  return connection.Execute(fmt::format(
      "DROP TABLE IF EXISTS word; DROP TABLE IF EXISTS symbol; DROP TABLE IF EXISTS file; DROP TABLE IF EXISTS origin;"
      "CREATE TABLE origin (root TEXT NOT NULL);"
      "CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, language TEXT NOT NULL,"
      "                   sha256 TEXT NOT NULL, text TEXT NOT NULL);"
      "CREATE VIRTUAL TABLE word USING fts5(text, content='file', content_rowid='id', tokenize='trigram',"
      "                                     detail=none);"
      "CREATE TABLE symbol (file INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, scope TEXT NOT NULL,"
      "                     signature TEXT NOT NULL, line INTEGER NOT NULL, first INTEGER NOT NULL,"
      "                     last INTEGER NOT NULL);"
      "CREATE INDEX symbol_name ON symbol (name); CREATE INDEX symbol_file ON symbol (file);"
      "PRAGMA application_id = {}; PRAGMA user_version = {}",
      kIndexApplication, kIndexVersion));
}

}  // namespace hone
