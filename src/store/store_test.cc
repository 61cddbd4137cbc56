#include "store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "store/schema.h"
#include "store/testing/some_records.h"

namespace hone {
namespace {

using namespace testing;

TEST_F(StoreTest, ADeletedRunTakesAlongWhatNoOtherRunRefersTo) {
  Store store = Must(Store::Open(Path()));
  RunRecord run = Must(store.CreateRun(SomeRun(), "the problem"));
  const RunRecord kept = Must(store.CreateRun(SomeRun(), "the problem"));
  for (const RunRecord& one : {run, kept}) {
    Must(store.BeginAttempt(Started(one, 1), "text of both"));
    Must(store.EndAttempt(Ended(Started(one, 1)), "log of both", one));
  }
  Must(store.BeginAttempt(Started(run, 2), "text of one"));
  Must(store.EndAttempt(Ended(Started(run, 2)), "log of one", run));
  ConfirmationRecord confirmation;
  confirmation.run = run.id;
  confirmation.attempt = 1;
  confirmation.outcome = "accepted";
  Must(store.AddConfirmation(confirmation, "log of the confirmation", run));
  Must(store.AddRound(SomeRound(run, 1, 0), {Proposed("proposed by one")}));
  Must(store.AddRound(SomeRound(kept, 1, 0), {Proposed("proposed by the other")}));
  EXPECT_EQ(Rows(Path(), "blob"), 8);

  Must(store.DeleteRun(run.id));
  EXPECT_EQ(store.FindRun(run.id).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(Rows(Path(), "run"), 1);
  EXPECT_EQ(Rows(Path(), "attempt"), 1);
  EXPECT_EQ(Rows(Path(), "confirmation"), 0);
  EXPECT_EQ(Rows(Path(), "round"), 1);
  EXPECT_EQ(Rows(Path(), "proposal"), 1);
  EXPECT_EQ(Rows(Path(), "blob"), 4);
  EXPECT_EQ(Must(store.Blob(Must(store.Attempts(kept.id)).at(0).source_blob)), "text of both");
  EXPECT_EQ(Must(store.Blob(kept.problem_blob)), "the problem");
}

TEST_F(StoreTest, ANoteStaysWithItsRun) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  EXPECT_EQ(run.note, "");
  Must(store.SetNote(run.id, "before the change"));
  Must(store.UpdateRun(run));  // whoever works on the run knows nothing of it
  EXPECT_EQ(Must(store.FindRun(run.id)).note, "before the change");
}

TEST_F(StoreTest, ReadsBackWhatWasWritten) {
  Store store = Must(Store::Open(Path()));
  RunRecord run = Must(store.CreateRun(SomeRun(), "{\"name\": \"softmax\"}\n"));
  EXPECT_EQ(run.id.size(), 6u);
  Must(store.BeginAttempt(Started(run, 1), "kernel text"));
  EXPECT_FALSE(Must(store.Attempts(run.id)).at(0).ended());

  run.best_attempt = 1;
  run.baselines = R"({"naive":60.5})";
  Must(store.EndAttempt(Ended(Started(run, 1)), "a long log", run));
  ConfirmationRecord confirmation{.run = run.id,
                                  .attempt = 1,
                                  .ended_ms = 7,
                                  .outcome = "accepted",
                                  .evaluation = "{}",
                                  .log_blob = "",
                                  .median_us = 31,
                                  .cold_us = 41,
                                  .speedup = 1.9,
                                  .joules = 0.5};
  run.state = RunState::kDone;
  run.stop_reason = "10 attempts made";
  Must(store.AddConfirmation(confirmation, "", run));

  Store other = Must(Store::OpenExisting(Path()));
  const RunRecord read = Must(other.FindRun(run.id.substr(0, 4)));
  EXPECT_EQ(read.id, run.id);
  EXPECT_EQ(read.problem_name, "softmax");
  EXPECT_EQ(read.settings, run.settings);
  EXPECT_EQ(read.state, RunState::kDone);
  EXPECT_EQ(read.stop_reason, "10 attempts made");
  EXPECT_EQ(read.best_attempt, 1);
  EXPECT_EQ(read.bound_us, 12.5);
  EXPECT_EQ(read.baselines, R"({"naive":60.5})");
  EXPECT_EQ(Must(other.Blob(read.problem_blob)), "{\"name\": \"softmax\"}\n");
  const std::vector<AttemptRecord> attempts = Must(other.Attempts(run.id));
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_TRUE(attempts[0].ended());
  EXPECT_EQ(attempts[0].origin, "expert: start");
  EXPECT_EQ(attempts[0].median_us, 30.25);
  EXPECT_EQ(attempts[0].predicted_us, 20);
  EXPECT_EQ(attempts[0].round, 4);
  EXPECT_EQ(attempts[0].joules, 0.125);
  EXPECT_EQ(attempts[0].findings, R"([{"rule":"r"}])");
  EXPECT_EQ(attempts[0].limits, R"({"missing":"a tool"})");
  EXPECT_EQ(Must(other.Blob(attempts[0].source_blob)), "kernel text");
  EXPECT_EQ(Must(other.Blob(attempts[0].log_blob)), "a long log");
  const RunSummary summary = Must(other.Summarize(read));
  EXPECT_EQ(summary.attempts, 1);
  EXPECT_EQ(summary.accepted, 1);
  EXPECT_EQ(summary.best_us, 31);
  EXPECT_EQ(summary.best_speedup, 1.9);
  EXPECT_TRUE(summary.confirmed);
  const std::vector<ConfirmationRecord> confirmations = Must(other.Confirmations(run.id));
  ASSERT_EQ(confirmations.size(), 1u);
  EXPECT_EQ(confirmations[0].median_us, 31);
  EXPECT_EQ(confirmations[0].log_blob, "");
  EXPECT_EQ(confirmations[0].joules, 0.5);
}

TEST_F(StoreTest, RunIdsAreUniqueAndFoundByTheirBeginning) {
  Store store = Must(Store::Open(":memory:"));
  std::set<std::string> ids;
  for (int i = 0; i < 50; ++i) ids.insert(Must(store.CreateRun(SomeRun(), "{}")).id);
  EXPECT_EQ(ids.size(), 50u);
  EXPECT_EQ(Must(store.Runs()).size(), 50u);
  EXPECT_EQ(store.FindRun("zz").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(store.FindRun("").error().kind, ErrorKind::kNotFound);
  // Of 50 ids two begin with the same of 16 digits.
  int ambiguous = 0;
  for (const char digit : std::string("0123456789abcdef")) {
    const Result<RunRecord> found = store.FindRun(std::string(1, digit));
    if (!found && found.error().kind == ErrorKind::kUsage) ++ambiguous;
  }
  EXPECT_GT(ambiguous, 0);
}

TEST_F(StoreTest, FindsTheNewestRunOfTheSameProblemAndSettings) {
  Store store = Must(Store::Open(":memory:"));
  EXPECT_FALSE(Must(store.FindAlike(SomeRun())));
  Must(store.CreateRun(SomeRun(), "{}"));
  const RunRecord second = Must(store.CreateRun(SomeRun(), "{}"));
  RunRecord other = SomeRun();
  other.settings = R"({"seed":2})";
  Must(store.CreateRun(other, "{}"));
  EXPECT_EQ(Must(store.FindAlike(SomeRun()))->id, second.id);
}

TEST_F(StoreTest, EqualTextsAreKeptOnce) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  const std::string source(100'000, 'x');
  for (int i = 1; i <= 20; ++i) {
    Must(store.BeginAttempt(Started(run, i), source));
    Must(store.EndAttempt(Ended(Started(run, i)), source, run));
  }
  Connection connection = Must(Connection::Open(Path(), IfAbsent::kFail));
  EXPECT_EQ(Must(connection.Integer("SELECT count(*) FROM blob")), 2);
}

TEST_F(StoreTest, TextsWithZeroBytesAndEmptyOnesSurvive) {
  Store store = Must(Store::Open(":memory:"));
  const RunRecord run = Must(store.CreateRun(SomeRun(), ""));
  EXPECT_EQ(Must(store.Blob(run.problem_blob)), "");
  const std::string odd("a\0b\xff", 4);
  Must(store.BeginAttempt(Started(run, 1), odd));
  EXPECT_EQ(Must(store.Blob(Must(store.Attempts(run.id))[0].source_blob)), odd);
}

TEST_F(StoreTest, AnAttemptLeftInFlightIsBegunAgain) {
  Store store = Must(Store::Open(":memory:"));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  Must(store.BeginAttempt(Started(run, 1), "first"));
  Must(store.BeginAttempt(Started(run, 1), "second"));
  const std::vector<AttemptRecord> attempts = Must(store.Attempts(run.id));
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(Must(store.Blob(attempts[0].source_blob)), "second");
}

TEST_F(StoreTest, AnEndedAttemptIsNeverOverwritten) {
  Store store = Must(Store::Open(":memory:"));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  Must(store.BeginAttempt(Started(run, 1), "first"));
  Must(store.EndAttempt(Ended(Started(run, 1)), "", run));
  const Result<void> again = store.BeginAttempt(Started(run, 1), "second");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(Must(store.Blob(Must(store.Attempts(run.id))[0].source_blob)), "first");
}

TEST_F(StoreTest, ATransactionThatIsNotCommittedLeavesNothing) {
  Connection connection = Must(Connection::Open(Path(), IfAbsent::kCreate));
  Must(PrepareSchema(connection));
  {
    Transaction transaction = Must(Transaction::Begin(connection));
    Must(connection.Execute("INSERT INTO blob VALUES ('k', x'00')"));
  }
  EXPECT_EQ(Must(connection.Integer("SELECT count(*) FROM blob")), 0);
}

TEST_F(StoreTest, ARoundReadsBackAsItWasProposed) {
  const std::string parent = "scale: 0.5\ntile: 64\nunroll: 2\n";
  const std::vector<std::string> sources = {parent,
                                            "scale: 0.5\ntile: 128\nunroll: 2\n",
                                            "",
                                            "entirely different",
                                            parent + parent,
                                            std::string("\0\xff\n", 3),
                                            "scale: 0.5\n",
                                            "\nunroll: 2\n"};
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  std::vector<ProposalRecord> proposals;
  for (const std::string& source : sources) proposals.push_back(Proposed(source));
  Must(store.AddRound(SomeRound(run, 1, 0), proposals));  // before there is a parent
  Must(store.BeginAttempt(Started(run, 1), parent));
  Must(store.EndAttempt(Ended(Started(run, 1)), "", run));
  Must(store.AddRound(SomeRound(run, 2, 1), proposals));
  Must(store.AddRound(SomeRound(run, 3, 0), {}));

  Store other = Must(Store::OpenExisting(Path()));
  const std::vector<RoundRecord> rounds = Must(other.Rounds(run.id));
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[1].parent, 1);
  EXPECT_EQ(rounds[1].turn, 2);
  EXPECT_EQ(rounds[1].moment, 20);
  EXPECT_EQ(rounds[1].input_tokens, 3000);
  EXPECT_EQ(rounds[1].dollars, 0.25);
  for (const int round : {1, 2}) {
    const std::vector<ProposalRecord> read = Must(other.Proposals(run.id, round));
    ASSERT_EQ(read.size(), sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) {
      EXPECT_EQ(read[i].source, sources[i]);
      EXPECT_EQ(read[i].identity, proposals[i].identity);
      EXPECT_EQ(read[i].origin, "agent: idea");
      EXPECT_EQ(read[i].predicted_us, 12);
    }
  }
  EXPECT_TRUE(Must(other.Proposals(run.id, 3)).empty());
  const RunSummary summary = Must(other.Summarize(run));
  EXPECT_EQ(summary.rounds, 3);
  EXPECT_EQ(summary.input_tokens, 9000);
  EXPECT_EQ(summary.output_tokens, 300);
  EXPECT_EQ(summary.dollars, 0.75);
}

TEST_F(StoreTest, VariantsOfAParentAreKeptAsWhatDiffers) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  const std::string parent(100'000, 'x');
  Must(store.BeginAttempt(Started(run, 1), parent));
  std::vector<ProposalRecord> proposals;
  for (std::size_t i = 0; i < 100; ++i) {
    std::string source = parent;
    source.replace(1000 * i, 3, "yyy");
    proposals.push_back(Proposed(source));
  }
  Must(store.AddRound(SomeRound(run, 1, 1), proposals));
  Connection connection = Must(Connection::Open(Path(), IfAbsent::kFail));
  EXPECT_EQ(Must(connection.Integer("SELECT sum(length(middle)) FROM proposal")), 300);
  EXPECT_EQ(Must(store.Proposals(run.id, 1)).at(7).source, proposals[7].source);
}

TEST_F(StoreTest, AQuestionHasOneAnswer) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  Must(store.AddRound(SomeRound(run, 1, 0), {Proposed("a")}));
  RoundRecord again = SomeRound(run, 2, 0);
  again.turn = 1;
  EXPECT_FALSE(store.AddRound(again, {Proposed("b")}));
  EXPECT_EQ(Must(store.Rounds(run.id)).size(), 1u);
  EXPECT_EQ(Rows(Path(), "proposal"), 1);
}

TEST_F(StoreTest, AnAbsentStoreIsNotMadeByAReader) {
  const Result<Store> store = Store::OpenExisting(Path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

TEST_F(StoreTest, APlaceThatCannotHoldAStoreGivesOneLine) {
  for (const std::string& path : {std::string("/dev/full"), folder_.path(), std::string("/proc/none/runs.db")}) {
    const Result<Store> store = Store::Open(path);
    ASSERT_FALSE(store) << path;
    EXPECT_EQ(store.error().message.find('\n'), std::string::npos);
    EXPECT_NE(store.error().message.find(path.substr(0, 5)), std::string::npos) << store.error().message;
  }
}

// A file size limit makes every write past it fail, as a full disk does, and needs no privileges.
TEST_F(StoreTest, AFullDiskGivesOneLineAndLosesNothingThatEnded) {
  RunRecord run;
  {
    Store store = Must(Store::Open(Path()));
    run = Must(store.CreateRun(SomeRun(), "{}"));
    Must(store.BeginAttempt(Started(run, 1), "text"));
    Must(store.EndAttempt(Ended(Started(run, 1)), "", run));
  }
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{64 << 10, 64 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    Result<Store> store = Store::Open(Path());
    if (!store) _exit(2);
    std::mt19937_64 random(1);
    std::string text(1 << 20, ' ');
    for (char& c : text) c = static_cast<char>(random());
    const Result<void> begun = store->BeginAttempt(Started(run, 2), text);
    if (begun) _exit(3);
    const std::string& message = begun.error().message;
    const bool clear = begun.error().kind == ErrorKind::kIo && message.find('\n') == std::string::npos &&
                       message.find("cannot write the run store") == 0 && message.find("--store") != std::string::npos;
    _exit(clear ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  Store store = Must(Store::Open(Path()));
  EXPECT_EQ(Must(store.Attempts(run.id)).size(), 1u);
}

TEST_F(StoreTest, ADamagedTextIsFound) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{\"a\": 1}"));
  {
    Connection connection = Must(Connection::Open(Path(), IfAbsent::kFail));
    Must(connection.Execute("UPDATE blob SET bytes = CAST('other' AS BLOB)"));
  }
  const Result<std::string> text = store.Blob(run.problem_blob);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::kCorrupt);
}

TEST_F(StoreTest, ReadersSeeWholeAttemptsWhileAnotherWrites) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  std::atomic<bool> stop = false;
  std::atomic<int> bad = 0, reads = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      Result<Store> mine = Store::OpenExisting(Path());
      std::size_t seen = 0;
      while (!stop) {
        const Result<std::vector<AttemptRecord>> attempts = mine->Attempts(run.id);
        if (!attempts || attempts->size() < seen) {
          ++bad;
          continue;
        }
        seen = attempts->size();
        for (std::size_t a = 0; a < seen; ++a) {
          const AttemptRecord& attempt = (*attempts)[a];
          if (a + 1 < seen && !attempt.ended()) ++bad;
          if (attempt.ended() && (attempt.median_us == 0 || attempt.evaluation.empty())) ++bad;
        }
        ++reads;
      }
    });
  }
  for (int i = 1; i <= 60; ++i) {
    Must(store.BeginAttempt(Started(run, i), "text " + std::to_string(i)));
    Must(store.EndAttempt(Ended(Started(run, i)), "log", run));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(bad, 0);
  EXPECT_GT(reads, 0);
}

TEST_F(StoreTest, ManyMayMakeTheSameStoreAtOnce) {
  std::atomic<int> bad = 0;
  std::vector<std::thread> makers;
  for (int i = 0; i < 6; ++i) {
    makers.emplace_back([&] {
      Result<Store> mine = Store::Open(Path());
      if (!mine || !mine->CreateRun(SomeRun(), "{}")) ++bad;
    });
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(Must(Must(Store::Open(Path())).Runs()).size(), 6u);
}

TEST_F(StoreTest, ARunIsLockedByOneAndFreeAgainWhenItsHolderIsKilled) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  const RunRecord other = Must(store.CreateRun(SomeRun(), "{}"));
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Result<std::optional<RunLock>> lock = RunLock::Try(Path(), 1);
    const char held = lock && *lock ? 'y' : 'n';
    if (write(ready[1], &held, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char held = 0;
  ASSERT_EQ(read(ready[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  EXPECT_FALSE(Must(store.Lock(run.id)).has_value());
  EXPECT_TRUE(Must(store.Lock(other.id)).has_value());
  EXPECT_TRUE(Must(store.Active(run.id)));
  EXPECT_FALSE(Must(store.Active(other.id)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Must(store.Lock(run.id)).has_value());
  EXPECT_TRUE(Must(store.Lock(run.id)).has_value());  // given back when it left scope
  close(ready[0]);
  close(ready[1]);
}

// The writer says through a pipe which attempts have ended, as far as EndAttempt told it; whatever the moment of its
// death, these and their texts are there, whole, and only the last may be in flight.
TEST_F(StoreTest, AKillAtAnyMomentLosesAtMostTheAttemptInFlight) {
  RunRecord run;
  {
    Store store = Must(Store::Open(Path()));
    run = Must(store.CreateRun(SomeRun(), "{}"));
  }
  std::mt19937_64 random(20260301);
  int found_in_flight = 0;
  for (int kills = 0; kills < 40; ++kills) {
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Result<Store> store = Store::Open(Path());
      if (!store) _exit(1);
      const Result<std::vector<AttemptRecord>> before = store->Attempts(run.id);
      if (!before) _exit(1);
      int number = before->empty() ? 1 : before->back().number + (before->back().ended() ? 1 : 0);
      for (;; ++number) {
        const std::string text =
            "source " + std::to_string(number) + std::string(static_cast<std::size_t>(number % 7) * 3000, '.');
        if (!store->BeginAttempt(Started(run, number), text)) _exit(1);
        if (!store->EndAttempt(Ended(Started(run, number)), "log of " + text, run)) _exit(1);
        if (write(told[1], &number, sizeof number) != static_cast<ssize_t>(sizeof number)) _exit(1);
      }
    }
    close(told[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + random() % 30'000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
    int number = 0, last = 0;
    while (read(told[0], &number, sizeof number) == static_cast<ssize_t>(sizeof number)) last = number;
    close(told[0]);

    Store store = Must(Store::Open(Path()));
    const std::vector<AttemptRecord> attempts = Must(store.Attempts(run.id));
    ASSERT_GE(attempts.size(), static_cast<std::size_t>(last));
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      const AttemptRecord& attempt = attempts[i];
      ASSERT_EQ(attempt.number, static_cast<int>(i + 1));
      if (i + 1 < attempts.size() || attempt.number <= last) {
        ASSERT_TRUE(attempt.ended());
      }
      if (i + 30 < attempts.size()) continue;  // the older ones were looked at after the kills before
      const std::string source = Must(store.Blob(attempt.source_blob));
      if (attempt.ended()) {
        ASSERT_EQ(Must(store.Blob(attempt.log_blob)), "log of " + source);
      } else {
        ++found_in_flight;
      }
    }
  }
  EXPECT_GT(found_in_flight, 0) << "no kill came between Begin and End: the test shows nothing";
  Connection connection = Must(Connection::Open(Path(), IfAbsent::kFail));
  Statement check = Must(connection.Prepare("PRAGMA integrity_check"));
  ASSERT_TRUE(Must(check.Step()));
  EXPECT_EQ(check.Text(0), "ok");
}

}  // namespace
}  // namespace hone
