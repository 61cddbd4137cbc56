#include "command/kept_comparison.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/date.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/sha256.h"

namespace hone {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kComparisonEnding = ".comparison.json";
constexpr std::int64_t kComparisonRow = 1;  // of its lock
constexpr std::chrono::seconds kPause{1};

std::string FolderOfComparisons(const std::string& store) { return store + "-comparisons"; }

Result<void> LookAtComparison(SeenFile& seen) {
  const Json document = Json::parse(HONE_TRY(ReadFile(seen.file)), nullptr, false);
  if (!document.is_object()) return Fail(ErrorKind::kCorrupt, seen.file + " is no comparison of ours");
  const Json progress = document.contains("progress") ? document["progress"] : Json();
  const bool ended = progress.is_object() && progress.contains("ended_ms") && progress["ended_ms"] > 0;
  const bool held = HONE_TRY(RunLock::Held(seen.file, kComparisonRow));
  seen.state = held ? "running" : ended ? "done" : "interrupted";
  seen.stamp = fmt::format("{}-{}", StampOfFile(seen.file, seen.updated_ms), seen.state);
  return {};
}

}  // namespace

KeptComparison::KeptComparison(std::string file, RunLock lock, std::size_t searches)
    : file_(std::move(file)), lock_(std::move(lock)), searches_(searches), begun_ms_(UnixMilliseconds()) {}

Result<KeptComparison> KeptComparison::Begin(const std::string& store, const std::string& command,
                                             std::size_t searches) {
  const std::string folder = FolderOfComparisons(store);
  HONE_TRY(MakeDirectories(folder));
  std::string file = fmt::format("{}/{}{}", folder, Sha256(command).substr(0, 12), kComparisonEnding);
  std::optional<RunLock> lock = HONE_TRY(RunLock::Try(file, kComparisonRow));
  if (!lock) return Fail(ErrorKind::kUsage, "the same comparison is at work");
  return KeptComparison(std::move(file), std::move(*lock), searches);
}

bool KeptComparison::Due() const { return !written_ || done_ >= searches_ || Clock::now() - *written_ >= kPause; }

Result<void> KeptComparison::Write(Json document) {
  document["progress"] = {{"searches", done_},
                          {"of", searches_},
                          {"begun_ms", begun_ms_},
                          {"ended_ms", done_ >= searches_ ? UnixMilliseconds() : 0}};
  written_ = Clock::now();
  return WriteFileAtomically(file_, JsonText(document));
}

SeenFolder ComparisonsOf(const std::string& store) {
  return {FolderOfComparisons(store), kComparisonEnding, LookAtComparison};
}

}  // namespace hone
