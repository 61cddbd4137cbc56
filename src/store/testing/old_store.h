// Run stores as earlier versions of hone made them, for tests: in the words of their tables, which are written here
// once more and never edited, so that a test sees when schema.cc does not know them any longer.
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/sqlite.h"

namespace hone::testing {

// What a new store of that version was made with, after what the versions before it say.
inline constexpr std::string_view kOldTables[] = {R"(
CREATE TABLE blob (key TEXT PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE run (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, problem_name TEXT NOT NULL,
  problem_identity TEXT NOT NULL, problem_blob TEXT NOT NULL REFERENCES blob(key), target TEXT NOT NULL,
  machine TEXT NOT NULL, settings TEXT NOT NULL, budget TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'interrupted')), stop_reason TEXT NOT NULL DEFAULT '',
  created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, best_attempt INTEGER NOT NULL DEFAULT 0,
  bound_us REAL NOT NULL DEFAULT 0, baselines TEXT NOT NULL DEFAULT '{}');
CREATE INDEX run_of_problem ON run (problem_identity, target, machine);
CREATE TABLE attempt (
  run INTEGER NOT NULL REFERENCES run(sequence), number INTEGER NOT NULL CHECK (number > 0),
  parent INTEGER NOT NULL CHECK (parent >= 0 AND parent < number), kind TEXT NOT NULL,
  source_blob TEXT NOT NULL REFERENCES blob(key), identity TEXT NOT NULL, origin TEXT NOT NULL, key TEXT NOT NULL,
  predicted_us REAL NOT NULL, started_ms INTEGER NOT NULL, ended_ms INTEGER, outcome TEXT, evaluation TEXT,
  log_blob TEXT REFERENCES blob(key), median_us REAL, cold_us REAL, speedup REAL, PRIMARY KEY (run, number),
  CHECK ((ended_ms IS NULL) = (outcome IS NULL) AND (ended_ms IS NULL) = (evaluation IS NULL))) WITHOUT ROWID;
CREATE TABLE confirmation (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, attempt INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL, outcome TEXT NOT NULL, evaluation TEXT NOT NULL, log_blob TEXT REFERENCES blob(key),
  median_us REAL NOT NULL, cold_us REAL NOT NULL, speedup REAL NOT NULL,
  FOREIGN KEY (run, attempt) REFERENCES attempt(run, number));
CREATE INDEX confirmation_of_run ON confirmation (run);
PRAGMA application_id = 1752133221;
PRAGMA user_version = 1;
)",
                                                  R"(
ALTER TABLE run ADD COLUMN flags TEXT NOT NULL DEFAULT '[]';
PRAGMA user_version = 2;
)",
                                                  R"(
ALTER TABLE run ADD COLUMN note TEXT NOT NULL DEFAULT '';
PRAGMA user_version = 3;
)",
                                                  R"(
CREATE TABLE round (
  run INTEGER NOT NULL REFERENCES run(sequence), number INTEGER NOT NULL CHECK (number > 0),
  parent INTEGER NOT NULL CHECK (parent >= 0), turn INTEGER NOT NULL CHECK (turn >= 0), moment INTEGER NOT NULL,
  asked_ms INTEGER NOT NULL, answered_ms INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL, dollars REAL NOT NULL, PRIMARY KEY (run, number),
  UNIQUE (run, parent, turn)) WITHOUT ROWID;
CREATE TABLE proposal (
  run INTEGER NOT NULL, round INTEGER NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL, identity TEXT NOT NULL,
  origin TEXT NOT NULL, key TEXT NOT NULL, predicted_us REAL NOT NULL, base_blob TEXT NOT NULL REFERENCES blob(key),
  head INTEGER NOT NULL, middle BLOB NOT NULL, tail INTEGER NOT NULL, PRIMARY KEY (run, round, place),
  FOREIGN KEY (run, round) REFERENCES round(run, number)) WITHOUT ROWID;
ALTER TABLE attempt ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN joules REAL;
ALTER TABLE attempt ADD COLUMN findings TEXT NOT NULL DEFAULT '[]';
ALTER TABLE confirmation ADD COLUMN joules REAL;
PRAGMA user_version = 4;
)",
                                                  R"(
ALTER TABLE attempt ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';
PRAGMA user_version = 5;
)",
                                                  R"(
ALTER TABLE run ADD COLUMN learned TEXT NOT NULL DEFAULT '{}';
ALTER TABLE proposal ADD COLUMN rule TEXT NOT NULL DEFAULT '';
ALTER TABLE proposal ADD COLUMN promised REAL NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN rule TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN promised REAL NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN brought REAL;
PRAGMA user_version = 6;
)",
                                                  R"(
CREATE TABLE call (
  run INTEGER NOT NULL REFERENCES run(sequence), number INTEGER NOT NULL CHECK (number > 0),
  parent INTEGER NOT NULL CHECK (parent >= 0), turn INTEGER NOT NULL CHECK (turn >= 0),
  step INTEGER NOT NULL CHECK (step >= 0), role TEXT NOT NULL, model TEXT NOT NULL, served TEXT NOT NULL,
  begun_ms INTEGER NOT NULL, ended_ms INTEGER, estimated_tokens INTEGER NOT NULL, estimated_dollars REAL,
  input_tokens INTEGER, cached_tokens INTEGER, written_tokens INTEGER, output_tokens INTEGER, dollars REAL,
  tries INTEGER NOT NULL, untold INTEGER NOT NULL, failure TEXT NOT NULL, reply_blob TEXT REFERENCES blob(key),
  PRIMARY KEY (run, number)) WITHOUT ROWID;
PRAGMA user_version = 7;
)",
                                                  R"(
ALTER TABLE run ADD COLUMN recalled TEXT NOT NULL DEFAULT '{}';
CREATE TABLE proven (
  piece TEXT NOT NULL, target TEXT NOT NULL, machine TEXT NOT NULL, run TEXT NOT NULL, text TEXT NOT NULL,
  settings TEXT NOT NULL, share REAL NOT NULL, gain REAL NOT NULL, speedup REAL NOT NULL, problem_name TEXT NOT NULL,
  problem_identity TEXT NOT NULL, version TEXT NOT NULL, at_ms INTEGER NOT NULL,
  PRIMARY KEY (piece, target, machine, run)) WITHOUT ROWID;
PRAGMA user_version = 8;
)",
                                                  R"(
CREATE TABLE lesson (
  run TEXT NOT NULL, attempt INTEGER NOT NULL, target TEXT NOT NULL, machine TEXT NOT NULL, problem_name TEXT NOT NULL,
  problem_identity TEXT NOT NULL, family TEXT NOT NULL, knob TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
  dtype TEXT NOT NULL, size INTEGER NOT NULL, limited_by TEXT NOT NULL, rule TEXT NOT NULL, share REAL NOT NULL,
  gain REAL NOT NULL, outcome TEXT NOT NULL, version TEXT NOT NULL, at_ms INTEGER NOT NULL,
  PRIMARY KEY (run, attempt)) WITHOUT ROWID;
CREATE INDEX lesson_of_family ON lesson (target, family);
PRAGMA user_version = 9;
)",
                                                  R"(
ALTER TABLE proposal ADD COLUMN doubt TEXT NOT NULL DEFAULT '';
ALTER TABLE proposal ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
PRAGMA user_version = 10;
)",
                                                  R"(
ALTER TABLE round ADD COLUMN mate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN mate INTEGER NOT NULL DEFAULT 0;
PRAGMA user_version = 11;
)"};
inline constexpr int kOldSchemas = static_cast<int>(std::size(kOldTables));

// A store of that schema, 1 to kOldSchemas, at a path where there is none; empty.
inline Result<Connection> MakeOldStore(const std::string& path, int schema) {
  Connection connection = HONE_TRY(Connection::Open(path, IfAbsent::kCreate));
  Statement mode = HONE_TRY(connection.Prepare("PRAGMA journal_mode = WAL"));
  HONE_TRY(mode.Step());
  for (int step = 0; step < schema; ++step) HONE_TRY(connection.Execute(std::string(kOldTables[step])));
  return connection;
}

// The same with what a store of today holds, as far as that schema has a place for it.
inline Result<void> MakeOldStoreOf(const std::string& today, const std::string& path, int schema) {
  Connection connection = HONE_TRY(MakeOldStore(path, schema));
  HONE_TRY(connection.Execute("ATTACH DATABASE '" + today + "' AS today"));
  std::vector<std::string> tables = {"blob", "run", "attempt", "confirmation"};
  if (schema >= 4) tables.insert(tables.end(), {"round", "proposal"});
  for (const std::string& table : tables) {
    Statement select =
        HONE_TRY(connection.Prepare("SELECT group_concat(name, ', ') FROM pragma_table_info('" + table + "', 'main')"));
    HONE_TRY(select.Step());
    const std::string columns = select.Text(0);
    HONE_TRY(connection.Execute("INSERT INTO main." + table + " (" + columns + ") SELECT " + columns + " FROM today." +
                                table));
  }
  return {};
}

}  // namespace hone::testing
