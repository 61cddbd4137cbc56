#include "store/schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/sha256.h"
#include "base/testing/page.h"
#include "store/testing/old_store.h"
#include "store/testing/some_records.h"

namespace hone {
namespace {

using namespace testing;

class SchemaTest : public StoreTest {};

TEST_F(SchemaTest, TooNewSchemaIsRefused) {
  {
    Must(Store::Open(Path()));
  }
  {
    Connection connection = Must(Connection::Open(Path(), IfAbsent::kFail));
    Must(connection.Execute("PRAGMA user_version = 99"));
  }
  const Result<Store> store = Store::Open(Path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind, ErrorKind::kUsage);
  EXPECT_NE(store.error().message.find("has schema 99 and this hone knows schemas 1 to 12: update hone"),
            std::string::npos)
      << store.error().message;
}

static_assert(testing::kOldSchemas == kNewestSchema - 1,
              "the tables of each earlier schema are in testing/old_store.h");

// The rows of a run that was killed in its second attempt.
std::string RowsOfARun() {
  const auto blob = [](std::string_view text) {
    return fmt::format("INSERT INTO blob VALUES ('{}', CAST('{}' AS BLOB));", Sha256(text), text);
  };
  return blob("{}") + blob("first text") + blob("second text") + blob("a log") +
         fmt::format(
             "INSERT INTO run (id, problem_name, problem_identity, problem_blob, target, machine, settings, "
             "budget, state, created_ms, updated_ms, best_attempt, bound_us, baselines) VALUES ('0a1b2c', "
             "'softmax', '{}', '{}', 'cpu', 'm1', '{{\"seed\":1}}', '{{\"attempts\":10}}', 'running', 5, 6, 1, "
             "12.5, '{{\"eager\":60.5}}');",
             Sha256("softmax"), Sha256("{}")) +
         fmt::format(
             "INSERT INTO attempt (run, number, parent, kind, source_blob, identity, origin, key, predicted_us, "
             "started_ms, "
             "ended_ms, outcome, evaluation, log_blob, median_us, cold_us, speedup) VALUES (1, 1, 0, 'program', '{0}', "
             "'i1', 'expert: start', 'start', 20, 100, 105, "
             "'accepted', '{{\"outcome\":\"accepted\"}}', '{1}', 30.25, 40, 2);"
             "INSERT INTO attempt (run, number, parent, kind, source_blob, identity, origin, key, predicted_us, "
             "started_ms) VALUES (1, 2, 1, 'module', '{2}', 'i2', 'expert: tile', 'tile', 18, 106);"
             "INSERT INTO confirmation (sequence, run, attempt, ended_ms, outcome, evaluation, log_blob, median_us, "
             "cold_us, "
             "speedup) VALUES (1, 1, 1, 200, 'accepted', '{{}}', '{1}', 31, 41, 1.9);",
             Sha256("first text"), Sha256("a log"), Sha256("second text"));
}

TEST_F(SchemaTest, AStoreOfEachEarlierSchemaIsBroughtUpAndKeepsItsRuns) {
  for (int schema = kOldestSchema; schema < kNewestSchema; ++schema) {
    SCOPED_TRACE(schema);
    const std::string path = fmt::format("{}/schema{}.db", folder_.path(), schema);
    {
      Connection connection = Must(testing::MakeOldStore(path, schema));
      Must(connection.Execute(RowsOfARun()));
      if (schema >= 2) Must(connection.Execute(R"(UPDATE run SET flags = '[{"kind":"zero"}]')"));
      if (schema >= 3) Must(connection.Execute("UPDATE run SET note = 'mine'"));
    }
    Store store = Must(Store::Open(path));
    {
      Connection connection = Must(Connection::Open(path, IfAbsent::kFail));
      EXPECT_EQ(Must(connection.Integer("PRAGMA user_version")), kNewestSchema);
    }
    RunRecord run = Must(store.FindRun("0a"));
    EXPECT_EQ(run.id, "0a1b2c");
    EXPECT_EQ(run.problem_name, "softmax");
    EXPECT_EQ(run.machine, "m1");
    EXPECT_EQ(run.settings, R"({"seed":1})");
    EXPECT_EQ(run.budget, R"({"attempts":10})");
    EXPECT_EQ(run.state, RunState::kRunning);
    EXPECT_EQ(run.created_ms, 5);
    EXPECT_EQ(run.updated_ms, 6);
    EXPECT_EQ(run.best_attempt, 1);
    EXPECT_EQ(run.bound_us, 12.5);
    EXPECT_EQ(run.baselines, R"({"eager":60.5})");
    EXPECT_EQ(run.flags, schema >= 2 ? R"([{"kind":"zero"}])" : "[]");
    EXPECT_EQ(run.note, schema >= 3 ? "mine" : "");
    EXPECT_EQ(run.recalled, "{}");
    EXPECT_EQ(Must(store.Blob(run.problem_blob)), "{}");
    EXPECT_EQ(Must(store.FindAlike(SomeRun()))->id, run.id) << "the same command goes on";

    const std::vector<AttemptRecord> attempts = Must(store.Attempts(run.id));
    ASSERT_EQ(attempts.size(), 2u);
    EXPECT_EQ(attempts[0].kind, "program");
    EXPECT_EQ(attempts[0].origin, "expert: start");
    EXPECT_EQ(attempts[0].predicted_us, 20);
    EXPECT_EQ(attempts[0].ended_ms, 105);
    EXPECT_EQ(attempts[0].outcome, "accepted");
    EXPECT_EQ(attempts[0].evaluation, R"({"outcome":"accepted"})");
    EXPECT_EQ(attempts[0].median_us, 30.25);
    EXPECT_EQ(attempts[0].cold_us, 40);
    EXPECT_EQ(attempts[0].speedup, 2);
    EXPECT_EQ(attempts[0].round, 0);
    EXPECT_EQ(attempts[0].mate, 0);
    EXPECT_EQ(attempts[0].joules, std::nullopt);
    EXPECT_EQ(attempts[0].findings, "[]");
    EXPECT_EQ(attempts[0].limits, "{}");
    EXPECT_EQ(Must(store.Blob(attempts[0].source_blob)), "first text");
    EXPECT_EQ(Must(store.Blob(attempts[0].log_blob)), "a log");
    EXPECT_FALSE(attempts[1].ended());
    EXPECT_EQ(attempts[1].parent, 1);
    const std::vector<ConfirmationRecord> confirmations = Must(store.Confirmations(run.id));
    ASSERT_EQ(confirmations.size(), 1u);
    EXPECT_EQ(confirmations[0].median_us, 31);
    EXPECT_EQ(confirmations[0].joules, std::nullopt);

    // And it takes what later versions write.
    run.flags = R"([{"kind":"constant"}])";
    Must(store.BeginAttempt(Started(run, 2), "second text, begun again"));
    Must(store.EndAttempt(Ended(Started(run, 2)), "", run));
    Must(store.AddRound(SomeRound(run, 1, 1), {Proposed("another text")}));
    EXPECT_EQ(Must(store.FindRun(run.id)).flags, run.flags);
    EXPECT_EQ(Must(store.Attempts(run.id)).at(1).joules, 0.125);
    EXPECT_EQ(Must(store.Proposals(run.id, 1)).at(0).source, "another text");
    Must(store.PutProven({SomeProven()}));
    Must(store.PutLessons({SomeLesson()}));
    Must(store.DeleteRun(run.id));
    EXPECT_EQ(Rows(path, "blob"), 0);
    EXPECT_EQ(Must(store.AllProven()).at(0).problem_name, "softmax") << "what was found out stays";
    EXPECT_EQ(Must(store.AllLessons()).at(0).problem_name, "softmax");
  }
}

TEST_F(SchemaTest, ThePageNamesEveryTableWithItsColumns) {
  const std::string page = testing::Section(testing::Page("store.md"), "## The file");
  Must(Store::Open(Path()));
  Connection connection = Must(Connection::Open(Path(), IfAbsent::kFail));
  Statement tables = Must(connection.Prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"));
  std::vector<std::string> names, listed = testing::FirstColumn(page, "table | one row is | columns");
  while (Must(tables.Step())) names.push_back(tables.Text(0));
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, names);
  for (const std::string& table : names) {
    const std::size_t at = page.find("| `" + table + "` |");
    const std::string row = page.substr(at, page.find('\n', at) - at);
    Statement columns = Must(connection.Prepare("SELECT name FROM pragma_table_info('" + table + "')"));
    while (Must(columns.Step()))
      EXPECT_NE(row.find("`" + columns.Text(0) + "`"), std::string::npos) << table << "." << columns.Text(0);
  }
  std::string words = page;
  std::replace(words.begin(), words.end(), '\n', ' ');
  EXPECT_NE(words.find(fmt::format("schemas {} to {} and writes {}", kOldestSchema, kNewestSchema, kNewestSchema)),
            std::string::npos);
}

TEST_F(SchemaTest, ADatabaseOfSomebodyElseIsRefusedAndLeftAlone) {
  {
    Connection connection = Must(Connection::Open(Path(), IfAbsent::kCreate));
    Must(connection.Execute("CREATE TABLE mine (x)"));
  }
  const Result<Store> store = Store::Open(Path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind, ErrorKind::kCorrupt);
  Connection connection = Must(Connection::Open(Path(), IfAbsent::kFail));
  EXPECT_EQ(Must(connection.Integer("SELECT count(*) FROM sqlite_schema")), 1);
}

TEST_F(SchemaTest, AFileThatIsNoDatabaseIsRefusedWithOneLine) {
  Must(WriteFileAtomically(Path(), std::string(8192, 'n')));
  const Result<Store> store = Store::Open(Path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(store.error().message.find('\n'), std::string::npos);
  EXPECT_NE(store.error().message.find(Path()), std::string::npos);
}

}  // namespace
}  // namespace hone
