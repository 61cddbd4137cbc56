#include "search/suite_ledger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json_text.h"
#include "base/record.h"

namespace hone {

template <SameAs<Helping> Of>
void Fields(Of& helping, auto&& field) {
  field("problem", helping.problem);
  field("number", helping.number);
  field("attempts", helping.attempts);
  field("before_us", helping.before_us);
  field("best_us", helping.best_us);
  field("bound_us", helping.bound_us);
  field("seconds", helping.seconds);
  field("attempts_s", helping.run_s);  // which it was once: what attempts took
  field("tokens", helping.tokens, WrittenUnless<std::int64_t>{0});
  field("dollars", helping.dollars, WrittenUnless<double>{0});
  field("withheld", helping.withheld, WrittenUnless<bool>{false});
  field("ended", helping.ended);
  field("won", helping.won);
  field("failure", helping.failure);
  field("run", helping.run);
  field("device", helping.device, WrittenUnless<std::string>{});
  field("document", helping.document);
}

namespace {

std::string LineOf(const Helping& helping) { return JsonText(ToRecord(helping)) + "\n"; }

// Whole lines; `end`: where they end. What is torn was never said to be there.
Result<std::vector<Helping>> Parse(const std::string& text, const std::string& path, std::size_t& end) {
  std::vector<Helping> helpings;
  end = 0;
  for (int number = 1;; ++number) {
    const std::size_t stop = text.find('\n', end);
    if (stop == std::string::npos) return helpings;
    const std::string where = fmt::format("line {} of {}", number, path);
    const nlohmann::json line = nlohmann::json::parse(text.substr(end, stop - end), nullptr, false);
    if (!line.is_object()) return Fail(ErrorKind::kCorrupt, where + " is no JSON object: remove the line");
    helpings.push_back(HONE_TRY(FromRecord<Helping>(line, where)));
    end = stop + 1;
  }
}

}  // namespace

Result<std::vector<Helping>> SuiteLedger::Read(const std::string& path) {
  std::size_t end = 0;
  return Parse(HONE_TRY(ReadFile(path)), path, end);
}

Result<SuiteLedger> SuiteLedger::Open(const std::string& path) {
  HONE_TRY(MakeDirectories(std::filesystem::path(path).parent_path().string()));
  const int file = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return Fail(ErrorKind::kIo, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  SuiteLedger ledger(path, file);
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    return Fail(ErrorKind::kUsage,
                fmt::format("another program works on this suite ({}): wait for it, or take another --seed", path));
  }
  HONE_TRY(ledger.Load());
  return ledger;
}

SuiteLedger::SuiteLedger(SuiteLedger&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), helpings_(std::move(other.helpings_)) {}

SuiteLedger::~SuiteLedger() {
  if (file_ >= 0) close(file_);
}

Result<void> SuiteLedger::Load() {
  const std::string text = HONE_TRY(ReadFile(path_));
  std::size_t end = 0;
  helpings_ = HONE_TRY(Parse(text, path_, end));
  if (end < text.size() && ftruncate(file_, static_cast<off_t>(end)) != 0)
    return Fail(ErrorKind::kIo, fmt::format("cannot mend {}: {}", path_, std::strerror(errno)));
  return {};
}

Result<void> SuiteLedger::Add(Helping helping) {
  const std::string line = LineOf(helping);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = write(file_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Fail(ErrorKind::kIo, fmt::format("cannot write to {}: {}", path_, std::strerror(errno)));
    written += static_cast<std::size_t>(count);
  }
  if (fdatasync(file_) != 0)
    return Fail(ErrorKind::kIo, fmt::format("cannot write to {}: {}", path_, std::strerror(errno)));
  helpings_.push_back(std::move(helping));
  return {};
}

}  // namespace hone
