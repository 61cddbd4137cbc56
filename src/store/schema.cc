#include "store/schema.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/check.h"

namespace hone {
namespace {

// kSteps[i] makes schema i + 1 of schema i. Written once, never edited: stores that went through them are out there.
constexpr std::array<const char*, kNewestSchema> kSteps = {
    R"(
CREATE TABLE blob (
  key   TEXT PRIMARY KEY,  -- SHA-256 of bytes, in hex
  bytes BLOB NOT NULL
);
CREATE TABLE run (
  sequence         INTEGER PRIMARY KEY AUTOINCREMENT,
  id               TEXT NOT NULL UNIQUE,
  problem_name     TEXT NOT NULL,
  problem_identity TEXT NOT NULL,
  problem_blob     TEXT NOT NULL REFERENCES blob(key),
  target           TEXT NOT NULL,
  machine          TEXT NOT NULL,
  settings         TEXT NOT NULL,
  budget           TEXT NOT NULL,
  state            TEXT NOT NULL CHECK (state IN ('running', 'done', 'interrupted')),
  stop_reason      TEXT NOT NULL DEFAULT '',
  created_ms       INTEGER NOT NULL,
  updated_ms       INTEGER NOT NULL,
  best_attempt     INTEGER NOT NULL DEFAULT 0,
  bound_us         REAL NOT NULL DEFAULT 0,
  baselines        TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX run_of_problem ON run (problem_identity, target, machine);
CREATE TABLE attempt (
  run          INTEGER NOT NULL REFERENCES run(sequence),
  number       INTEGER NOT NULL CHECK (number > 0),
  parent       INTEGER NOT NULL CHECK (parent >= 0 AND parent < number),
  kind         TEXT NOT NULL,
  source_blob  TEXT NOT NULL REFERENCES blob(key),
  identity     TEXT NOT NULL,
  origin       TEXT NOT NULL,
  key          TEXT NOT NULL,
  predicted_us REAL NOT NULL,
  started_ms   INTEGER NOT NULL,
  ended_ms     INTEGER,  -- NULL: was being tried when the program ended
  outcome      TEXT,
  evaluation   TEXT,
  log_blob     TEXT REFERENCES blob(key),
  median_us    REAL,
  cold_us      REAL,
  speedup      REAL,
  PRIMARY KEY (run, number),
  CHECK ((ended_ms IS NULL) = (outcome IS NULL) AND (ended_ms IS NULL) = (evaluation IS NULL))
) WITHOUT ROWID;
CREATE TABLE confirmation (
  sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
  run        INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  ended_ms   INTEGER NOT NULL,
  outcome    TEXT NOT NULL,
  evaluation TEXT NOT NULL,
  log_blob   TEXT REFERENCES blob(key),
  median_us  REAL NOT NULL,
  cold_us    REAL NOT NULL,
  speedup    REAL NOT NULL,
  FOREIGN KEY (run, attempt) REFERENCES attempt(run, number)
);
CREATE INDEX confirmation_of_run ON confirmation (run);
)",
    R"(
ALTER TABLE run ADD COLUMN flags TEXT NOT NULL DEFAULT '[]';
)",
    R"(
ALTER TABLE run ADD COLUMN note TEXT NOT NULL DEFAULT '';
)",
    R"(
CREATE TABLE round (
  run           INTEGER NOT NULL REFERENCES run(sequence),
  number        INTEGER NOT NULL CHECK (number > 0),
  parent        INTEGER NOT NULL CHECK (parent >= 0),
  turn          INTEGER NOT NULL CHECK (turn >= 0),
  moment        INTEGER NOT NULL,
  asked_ms      INTEGER NOT NULL,
  answered_ms   INTEGER NOT NULL,
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  dollars       REAL NOT NULL,
  PRIMARY KEY (run, number),
  UNIQUE (run, parent, turn)
) WITHOUT ROWID;
CREATE TABLE proposal (
  run          INTEGER NOT NULL,
  round        INTEGER NOT NULL,
  place        INTEGER NOT NULL,
  kind         TEXT NOT NULL,
  identity     TEXT NOT NULL,
  origin       TEXT NOT NULL,
  key          TEXT NOT NULL,
  predicted_us REAL NOT NULL,
  -- The source: the first `head` bytes of the base, `middle`, the last `tail` bytes of the base.
  base_blob    TEXT NOT NULL REFERENCES blob(key),
  head         INTEGER NOT NULL,
  middle       BLOB NOT NULL,
  tail         INTEGER NOT NULL,
  PRIMARY KEY (run, round, place),
  FOREIGN KEY (run, round) REFERENCES round(run, number)
) WITHOUT ROWID;
ALTER TABLE attempt ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN joules REAL;
ALTER TABLE attempt ADD COLUMN findings TEXT NOT NULL DEFAULT '[]';
ALTER TABLE confirmation ADD COLUMN joules REAL;
)",
    R"(
ALTER TABLE attempt ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';
)",
    R"(
ALTER TABLE run ADD COLUMN learned TEXT NOT NULL DEFAULT '{}';
ALTER TABLE proposal ADD COLUMN rule TEXT NOT NULL DEFAULT '';
ALTER TABLE proposal ADD COLUMN promised REAL NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN rule TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN promised REAL NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN brought REAL;
)",
    R"(
CREATE TABLE call (
  run               INTEGER NOT NULL REFERENCES run(sequence),
  number            INTEGER NOT NULL CHECK (number > 0),
  parent            INTEGER NOT NULL CHECK (parent >= 0),
  turn              INTEGER NOT NULL CHECK (turn >= 0),
  step              INTEGER NOT NULL CHECK (step >= 0),
  role              TEXT NOT NULL,
  model             TEXT NOT NULL,
  served            TEXT NOT NULL,
  begun_ms          INTEGER NOT NULL,
  ended_ms          INTEGER,  -- NULL: was being made when the program ended
  estimated_tokens  INTEGER NOT NULL,
  estimated_dollars REAL,     -- here and below NULL: not known
  input_tokens      INTEGER,
  cached_tokens     INTEGER,
  written_tokens    INTEGER,
  output_tokens     INTEGER,
  dollars           REAL,
  tries             INTEGER NOT NULL,
  untold            INTEGER NOT NULL,
  failure           TEXT NOT NULL,
  reply_blob        TEXT REFERENCES blob(key),
  PRIMARY KEY (run, number)
) WITHOUT ROWID;
)",
    R"(
ALTER TABLE run ADD COLUMN recalled TEXT NOT NULL DEFAULT '{}';
CREATE TABLE proven (
  piece            TEXT NOT NULL,  -- key
  target           TEXT NOT NULL,
  machine          TEXT NOT NULL,
  run              TEXT NOT NULL,  -- an id: it may be of another store, or gone
  text             TEXT NOT NULL,
  settings         TEXT NOT NULL,
  share            REAL NOT NULL,
  gain             REAL NOT NULL,
  speedup          REAL NOT NULL,
  problem_name     TEXT NOT NULL,
  problem_identity TEXT NOT NULL,
  version          TEXT NOT NULL,
  at_ms            INTEGER NOT NULL,
  PRIMARY KEY (piece, target, machine, run)
) WITHOUT ROWID;
)",
    R"(
CREATE TABLE lesson (
  run              TEXT NOT NULL,  -- an id: it may be of another store, or gone
  attempt          INTEGER NOT NULL,
  target           TEXT NOT NULL,
  machine          TEXT NOT NULL,
  problem_name     TEXT NOT NULL,
  problem_identity TEXT NOT NULL,
  family           TEXT NOT NULL,
  knob             TEXT NOT NULL,
  before           TEXT NOT NULL,
  after            TEXT NOT NULL,
  dtype            TEXT NOT NULL,
  size             INTEGER NOT NULL,
  limited_by       TEXT NOT NULL,
  rule             TEXT NOT NULL,
  share            REAL NOT NULL,
  gain             REAL NOT NULL,
  outcome          TEXT NOT NULL,
  version          TEXT NOT NULL,
  at_ms            INTEGER NOT NULL,
  PRIMARY KEY (run, attempt)
) WITHOUT ROWID;
CREATE INDEX lesson_of_family ON lesson (target, family);
)",
    R"(
ALTER TABLE proposal ADD COLUMN doubt TEXT NOT NULL DEFAULT '';
ALTER TABLE proposal ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
)",
    R"(
ALTER TABLE round ADD COLUMN mate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN mate INTEGER NOT NULL DEFAULT 0;
)",
    R"(
CREATE TABLE journal (
  run      INTEGER NOT NULL REFERENCES run(sequence),
  attempts INTEGER NOT NULL CHECK (attempts > 0),  -- that had ended where the piece ends
  head     TEXT NOT NULL,
  bytes    BLOB NOT NULL,
  PRIMARY KEY (run, attempts)
);
)"};

// What the file says of itself, read at one moment: another process may be making the tables right now.
struct Header {
  std::int64_t version = 0, application_id = 0, tables = 0;
};

Result<Header> ReadHeader(Connection& connection) {
  Statement select =
      HONE_TRY(connection.Prepare("SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM "
                                  "pragma_application_id), (SELECT count(*) FROM sqlite_schema)"));
  HONE_CHECK(HONE_TRY(select.Step()), "a query without FROM gave no row");
  return Header{select.Integer(0), select.Integer(1), select.Integer(2)};
}

Result<void> RefuseForeign(const Connection& connection, const Header& header) {
  const auto [version, id, tables] = header;
  if (id == kApplicationId ? version < kOldestSchema : tables != 0 || id != 0 || version != 0) {
    return Fail(
        ErrorKind::kCorrupt,
        fmt::format("{} is a database but not a run store of hone; name another file with --store", connection.path()));
  }
  if (version > kNewestSchema) {
    return Fail(ErrorKind::kUsage,
                fmt::format("the run store {} has schema {} and this hone knows schemas {} to {}: update hone, or name "
                            "another store with --store",
                            connection.path(), version, kOldestSchema, kNewestSchema));
  }
  return {};
}

// Readers then never wait for the writer, nor the writer for them. The mode stays with the file. To change it SQLite
// needs the file for itself and does not wait for that as it waits for other locks, so we do.
Result<void> UseWriteAheadLog(Connection& connection) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point give_up = Clock::now() + std::chrono::seconds(10);
  for (;;) {
    Statement mode = HONE_TRY(connection.Prepare("PRAGMA journal_mode = WAL"));
    const Result<bool> row = mode.Step();
    if (row && (mode.Text(0) == "wal" || mode.Text(0) == "memory")) return {};
    if (row) {
      return Fail(ErrorKind::kIo, fmt::format("the run store {} cannot be shared safely on this file system (no "
                                              "write-ahead log); name one on a local disk with --store",
                                              connection.path()));
    }
    if (row.error().kind != ErrorKind::kTimeout || Clock::now() > give_up) return tl::unexpected<Error>(row.error());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

Result<void> PrepareSchema(Connection& connection) {
  const Header header = HONE_TRY(ReadHeader(connection));
  HONE_TRY(RefuseForeign(connection, header));
  if (header.version == kNewestSchema) return {};

  HONE_TRY(UseWriteAheadLog(connection));
  Transaction transaction = HONE_TRY(Transaction::Begin(connection));
  // Another process may have been here while we waited.
  const Header now = HONE_TRY(ReadHeader(connection));
  HONE_TRY(RefuseForeign(connection, now));
  for (std::size_t step = static_cast<std::size_t>(now.version); step < kSteps.size(); ++step) {
    HONE_TRY(connection.Execute(kSteps[step]));
  }
  HONE_TRY(connection.Execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kNewestSchema)));
  return transaction.Commit();
}

}  // namespace hone
