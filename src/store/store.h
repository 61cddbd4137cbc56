// The run store: one SQLite file with all that was tried. It answers:
//   1. Which runs are there, of what problem, how did they end?       Runs, FindRun
//   2. What was tried in a run, in which order, from what, by whom?   Attempts
//   3. Why was it judged so, and how fast was it?                     AttemptRecord::evaluation, log_blob
//   4. Does the winner hold when measured again?                      Confirmations
//   5. Can it be run again?                                           Blob: problems and sources, word for word
//   6. Where did a run stop, and may I go on with it?                 FindAlike, Lock
//   7. What was proposed, and what of it was never tried?             Rounds, Proposals
//   8. Which language models were asked, for how much?                Calls
//   9. What won, and where could it win again?                        Proven
//  10. What was tried of a kind, and what came of it?                 Lessons
//
// Nothing that ended is ever changed, nor removed but by DeleteRun, DeleteProven and DeleteLessons; a proposal that was
// chosen may get a doubt (SetDoubt) before it ends so, and journals, which follow from the rest, may go. A round is on
// disk when AddRound returns. An attempt is written as started before it is evaluated and completed in one transaction
// that is on disk when EndAttempt returns; so a kill -9 or a power cut loses at most the attempt in flight, which is
// then found as started and not ended. Readers never wait for the writer. See schema.h for the versions that we read.
//
// Failure: one line with the mend. kIo (disk full, read-only, unreadable), kTimeout (locked by another program for 10
// s), kCorrupt (not ours, or damaged), kUsage (made by a later hone), kNotFound (no such run or file). Not thread-safe:
// one Store a thread; any number of Stores and processes on one file.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/records.h"
#include "store/run_lock.h"
#include "store/sqlite.h"

namespace hone {

struct RunContents;

inline constexpr std::uint64_t kLargestForeign = std::uint64_t{2} << 30U;  // bytes of a file
inline constexpr int kAllAttempts = std::numeric_limits<int>::max();
inline constexpr int kLargestForeignText = 256 << 20U;  // bytes of a text in it

class Store {
 public:
  // Makes the file and its folders if need be. ":memory:" is a store that lives as long as this object.
  static Result<Store> Open(const std::string& path);
  // For reading commands: kNotFound if there is none.
  static Result<Store> OpenExisting(const std::string& path);

  // A store that anybody may have made. The file is left as it is: what is opened is a copy in the folder `scratch`,
  // which outlives the store. kNotFound, kCorrupt and kUsage for what is none, larger than kLargestForeign, damaged, of
  // a later hone, or has other tables. What its rows say is still to be checked.
  static Result<Store> OpenForeign(const std::string& path, const std::string& scratch);
  // All of it is in its one file from here on; nobody else has it open.
  Result<void> Seal();

  const std::string& path() const { return connection_.path(); }

  // Runs. `run` without id, times and blob; the record comes back complete.
  Result<RunRecord> CreateRun(RunRecord run, std::string_view problem_json);
  Result<std::vector<RunRecord>> Runs();               // newest first
  Result<RunRecord> FindRun(std::string_view prefix);  // kUsage if several runs begin so
  // The newest run of the same problem, target, machine and settings, in whatever state.
  Result<std::optional<RunRecord>> FindAlike(const RunRecord& run);
  // Writes state, stop reason, budget, best attempt, bound and baselines.
  Result<void> UpdateRun(const RunRecord& run);
  // Nothing when another process works on it.
  Result<std::optional<RunLock>> Lock(std::string_view id);
  // Whether some process holds the lock right now. A run that is kRunning and not active was killed.
  Result<bool> Active(std::string_view id);
  Result<RunSummary> Summarize(const RunRecord& run);
  Result<void> SetNote(std::string_view id, std::string_view note);
  // The run with all that was tried in it, and the texts that no other run refers to. The caller holds its lock.
  Result<void> DeleteRun(std::string_view id);

  // Rounds. Add: the next number of its run, a parent and turn that no other round of it has, proposals best first.
  Result<void> AddRound(const RoundRecord& round, const std::vector<ProposalRecord>& proposals);
  // What speaks against a proposal that was chosen, by its key, once it was compiled.
  Result<void> SetDoubt(std::string_view run, int round, std::string_view key, std::string_view doubt, bool dropped);
  Result<std::vector<RoundRecord>> Rounds(std::string_view run, int after = 0);  // by number: those after `after`
  // `likely`: the text that they are kept as variants of, where the caller has it: that of the round's parent. It need
  // not be looked up then.
  Result<std::vector<ProposalRecord>> Proposals(std::string_view run, int round, std::string_view likely = {});

  // A run's journal (search/journal.h): what its rounds and attempts led to, so that nobody need go over them again. It
  // follows from them, so pieces may go. Add: one that goes on from the last, in a transaction of its own.
  Result<void> AddJournal(std::string_view run, const JournalRecord& piece, std::string_view bytes);
  Result<std::vector<JournalRecord>> Journal(std::string_view run);  // by attempts
  Result<std::string> JournalBytes(std::string_view run, int attempts);
  Result<void> DropJournal(std::string_view run, int after = 0);  // pieces that end after so many attempts

  // Calls of language models. Put: a new one, or instead of that of the same number; on disk when it returns.
  Result<void> PutCall(const CallRecord& call, std::string_view reply);
  Result<std::vector<CallRecord>> Calls(std::string_view run);  // by number

  // Attempts. Begin: again for the attempt in flight that a kill left behind, whose row it replaces.
  Result<void> BeginAttempt(AttemptRecord attempt, std::string_view source);
  // Completes it and sets the run's best attempt and baselines, in one transaction. The attempt must have begun.
  Result<void> EndAttempt(AttemptRecord attempt, std::string_view log, const RunRecord& run);
  // By number: those after `after`, `at_most` of them; < 0: all.
  Result<std::vector<AttemptRecord>> Attempts(std::string_view run, int after = 0, int at_most = -1);
  // Of those after `after`, up to `up_to`.
  Result<AttemptCount> CountAttempts(std::string_view run, int after = 0, int up_to = kAllAttempts);
  // Adds the confirmation and sets the run's best attempt, in one transaction.
  Result<void> AddConfirmation(ConfirmationRecord confirmation, std::string_view log, const RunRecord& run);
  Result<std::vector<ConfirmationRecord>> Confirmations(std::string_view run);  // in the order of measuring

  // What won. Put: new ones, or instead of those of the same piece, target, machine and run; in one transaction.
  Result<void> PutProven(const std::vector<ProvenRecord>& pieces);
  // Those of a piece: the one first that was the largest share of its program, of equal ones the one that gained most.
  Result<std::vector<ProvenRecord>> Proven(std::string_view piece, std::string_view target, std::string_view machine);
  Result<std::vector<ProvenRecord>> AllProven();  // newest first
  Result<void> DeleteProven(const std::vector<ProvenRecord>& pieces);

  // What was tried. Put: new ones, or instead of those of the same attempt; in one transaction.
  Result<void> PutLessons(const std::vector<LessonRecord>& lessons);
  Result<void> DeleteLessons(const std::vector<LessonRecord>& lessons);
  Result<std::vector<LessonRecord>> Lessons(std::string_view target, std::string_view family);  // oldest first
  Result<std::vector<LessonRecord>> AllLessons();                                               // oldest first

  // Both, or nothing: of what another store hands on.
  Result<void> PutMemory(const std::vector<ProvenRecord>& pieces, const std::vector<LessonRecord>& lessons);

  // Over all runs whose problem's name and machine are such: names that hold the one, machines that begin with the
  // other.
  Result<Doubts> CountDoubts(std::string_view problem, std::string_view machine);

  // What moves came to that acted on rules' findings, by rule, in all runs on this target and machine.
  Result<std::vector<RuleOutcome>> Outcomes(std::string_view target, std::string_view machine);

  // Whole runs, as a merge makes them (store/contents.h): those that are new, and in place of what is there of the
  // others. All in one transaction. The caller holds the locks of the others.
  Result<void> ReplaceRuns(const std::vector<RunContents>& fresh, const std::vector<RunContents>& others);

  // The bytes behind a key of a record. kCorrupt if they are not the ones that were written.
  Result<std::string> Blob(std::string_view key);

 private:
  explicit Store(Connection connection) : connection_(std::move(connection)) {}
  static Result<Store> Prepare(const std::string& path, IfAbsent if_absent);
  Result<std::string> PutBlob(std::string_view bytes);
  Result<void> ReplaceRun(const RunContents& contents, bool fresh);
  Result<std::string> FreeId(const RunRecord& run);
  Result<void> AddProposal(std::int64_t run, int round, std::size_t place, const ProposalRecord& proposal,
                           std::string_view base, std::string_view base_blob);
  Result<std::int64_t> Sequence(std::string_view run);
  Result<void> WriteRun(const RunRecord& run);
  Result<std::vector<ProvenRecord>> SelectProven(std::string_view where, const std::vector<std::string_view>& values);
  Result<std::vector<LessonRecord>> SelectLessons(std::string_view where, const std::vector<std::string_view>& values);
  Result<std::vector<RunRecord>> SelectRuns(std::string_view where, const std::vector<std::string_view>& values);

  Connection connection_;
};

}  // namespace hone
