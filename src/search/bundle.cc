#include "search/bundle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>
#include <variant>

#include "base/files.h"
#include "problem/problem.h"
#include "search/record.h"

namespace hone {
namespace {

Result<void> CheckAttempt(const RunContents& contents, std::size_t index, const std::string& what) {
  const auto& [record, source, log] = contents.attempts[index];
  const auto wrong = [&](std::string_view why) { return Fail(ErrorKind::kCorrupt, fmt::format("{} {}", what, why)); };
  if (record.number != static_cast<int>(index) + 1) return wrong("is out of its order");
  if (record.parent < 0 || record.parent >= record.number) return wrong("has a parent that was not before it");
  if (record.mate < 0 || record.mate >= record.number) return wrong("has a mate that was not before it");
  if (record.round < 0 || record.round > static_cast<int>(contents.rounds.size())) return wrong("is of no answer");
  const auto kind = ParseCandidateKind(record.kind);
  if (!kind || Candidate{*kind, source}.Identity() != record.identity) return wrong("is not the text that it names");
  const auto evaluation = ReadEvaluation(record.evaluation, log);
  if (!evaluation || Name(evaluation->verdict.outcome) != record.outcome) return wrong("has no verdict of ours");
  if (!ReadInsight(record)) return wrong("has no findings of ours");
  return {};
}

Result<void> CheckRounds(const RunContents& contents, const std::string& where) {
  std::set<std::pair<int, int>> questions;
  for (std::size_t i = 0; i < contents.rounds.size(); ++i) {
    const auto& [record, proposals] = contents.rounds[i];
    const std::string what = fmt::format("answer {} of {}", i + 1, where);
    const bool placed = record.number == static_cast<int>(i) + 1 && record.turn >= 0 && record.parent >= 0 &&
                        record.parent <= static_cast<int>(contents.attempts.size()) && record.mate >= 0 &&
                        record.mate <= static_cast<int>(contents.attempts.size()) &&
                        questions.emplace(record.parent, record.turn).second;
    if (!placed) return Fail(ErrorKind::kCorrupt, what + " is of no question of its run");
    for (const ProposalRecord& proposal : proposals) {
      const auto kind = ParseCandidateKind(proposal.kind);
      if (!kind || Candidate{*kind, proposal.source}.Identity() != proposal.identity)
        return Fail(ErrorKind::kCorrupt, what + " proposes what is not the text that it names");
    }
  }
  return {};
}

// A file is under its name only when it is whole, and stays when power goes.
Result<void> PutInPlace(const std::string& draft, const std::string& path) {
  const auto failed = [&] { return Fail(ErrorKind::kIo, fmt::format("cannot write {}", path)); };
  const int file = open(draft.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed();
  const bool synced = fsync(file) == 0;
  close(file);
  return synced && std::rename(draft.c_str(), path.c_str()) == 0 ? Result<void>() : failed();
}

Result<void> FillBundle(Store& from, const std::vector<RunRecord>& runs, const std::string& draft) {
  Store bundle = HONE_TRY(Store::Open(draft));
  std::vector<RunContents> contents;
  for (const RunRecord& run : runs) contents.push_back(HONE_TRY(ReadContents(from, run)));
  HONE_TRY(WriteContents(bundle, contents));
  return bundle.Seal();
}

}  // namespace

Result<void> CheckContents(const RunContents& contents, const std::string& where) {
  const auto wrong = [&](std::string_view why) { return Fail(ErrorKind::kCorrupt, fmt::format("{} {}", where, why)); };
  const RunRecord& run = contents.run;
  if (run.id.size() < 6 || run.id.size() > 64 || run.id.find_first_not_of("0123456789abcdef") != std::string::npos)
    return wrong("has an id that is none of ours");
  const auto problem = ParseProblem(contents.problem, "its problem");
  // Whose values lie in files is known by those, which a bundle has none of.
  const bool has_files = problem && std::ranges::any_of(problem->tensors, [](const Tensor& tensor) {
                           return std::holds_alternative<FromFile>(tensor.generator);
                         });
  if (!problem || (!has_files && Identity(*problem) != run.problem_identity))
    return wrong("is not of the problem that it names");
  if (!ParseRunSettings(run.settings) || !ParseBudget(run.budget)) return wrong("has settings that are not ours");
  if (run.best_attempt < 0 || run.best_attempt > static_cast<int>(contents.attempts.size()))
    return wrong("has a best attempt that it did not make");
  for (std::size_t i = 0; i < contents.attempts.size(); ++i)
    HONE_TRY(CheckAttempt(contents, i, fmt::format("attempt {} of {}", i + 1, where)));
  HONE_TRY(CheckRounds(contents, where));
  for (const RunContents::Confirmed& one : contents.confirmations) {
    const int attempt = one.record.attempt;
    if (attempt < 1 || attempt > static_cast<int>(contents.attempts.size()) ||
        !ReadEvaluation(one.record.evaluation, one.log))
      return wrong("has a confirmation of nothing");
  }
  return {};
}

Result<void> WriteBundle(Store& from, const std::vector<RunRecord>& runs, const std::string& path) {
  const std::string draft = fmt::format("{}.{}.draft", path, getpid());
  std::error_code ignored;
  std::filesystem::remove(draft, ignored);
  Result<void> filled = FillBundle(from, runs, draft);
  if (filled) filled = PutInPlace(draft, path);
  for (const std::string_view suffix : {"", "-wal", "-shm", "-lock"})
    std::filesystem::remove(fmt::format("{}{}", draft, suffix), ignored);
  return filled;
}

Result<Written> MergeBundle(Store& into, const std::string& path) {
  const TempDirectory scratch = HONE_TRY(TempDirectory::Create("merge"));
  Store bundle = HONE_TRY(Store::OpenForeign(path, scratch.path()));
  std::vector<RunContents> contents;
  for (const RunRecord& run : HONE_TRY(bundle.Runs())) {
    auto read = ReadContents(bundle, run);
    if (!read)
      return Fail(
          ErrorKind::kCorrupt,
          fmt::format("run {} of {} cannot be read: a text is not what its name says, or is missing", run.id, path));
    for (const RunContents& other : contents) {
      if (SameRun(other.run, run)) return Fail(ErrorKind::kCorrupt, fmt::format("{} has run {} twice", path, run.id));
    }
    HONE_TRY(CheckContents(*read, fmt::format("run {} of {}", run.id, path)));
    contents.push_back(std::move(*read));
  }
  return WriteContents(into, contents);
}

}  // namespace hone
