#include "cli/cli.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/record.h"

namespace hone {
namespace {

void WriteText(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  if (!text.empty() && !text.ends_with('\n')) std::fputc('\n', stream);
}

// While it lives, descriptor 1 is standard error; Release puts it back.
class OutputGuard {
 public:
  OutputGuard() : saved_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
    if (saved_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~OutputGuard() { Release(); }
  OutputGuard(const OutputGuard&) = delete;
  OutputGuard& operator=(const OutputGuard&) = delete;
  void Release() {
    std::fflush(stdout);
    if (saved_ < 0) return;
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
    saved_ = -1;
  }

 private:
  int saved_;
};

// Between two lines about stages on what is not a terminal.
constexpr auto kPipePace = std::chrono::seconds(3);

// Writes to standard output and gives the exit code. A full disk behind it must not look like success; a reader that
// went away (`hone runs | head -1`) has what it wanted.
int Finish(std::string_view text, ExitCode code) {
  errno = 0;
  WriteText(stdout, text);
  std::fflush(stdout);
  if (!std::ferror(stdout) || errno == EPIPE) return static_cast<int>(code);
  WriteText(stderr, fmt::format("hone: cannot write to standard output: {}", std::strerror(errno)));
  return static_cast<int>(ExitCode::kFailed);
}

int FinishWithError(const Error& error, bool json) {
  WriteText(stderr, fmt::format("hone: {}", error.message));
  const nlohmann::json document = {{"error", ToRecord(error)}};
  const std::string text = JsonText(document, 2);
  return Finish(json ? text : "", ExitCodeOf(error.kind));
}

// What fails after we were asked to stop fails because of that.
int FinishInterrupted(bool json) {
  const std::string_view what =
      InterruptCause() == Interrupt::kTerminated ? "ended by SIGTERM" : "interrupted before there was a result";
  WriteText(stderr, fmt::format("hone: {}", what));
  const nlohmann::json document = {{"interrupted", true}, {"message", what}};
  return Finish(json ? document.dump(2) : "", ExitCode::kInterrupted);
}

int FinishWithText(std::string_view text) { return Finish(text, ExitCode::kDone); }

nlohmann::json DescribeAll() {
  nlohmann::json verbs = nlohmann::json::array();
  for (const Verb* verb : ListedVerbs()) verbs.push_back(Describe(*verb));
  return {{"version", HONE_VERSION}, {"verbs", std::move(verbs)}};
}

}  // namespace

Terminal::Terminal(std::FILE* stream) : stream_(stream) {
  const char* kind = std::getenv("TERM");
  live_ = isatty(fileno(stream)) == 1 && kind && std::strcmp(kind, "dumb") != 0;
}

Terminal::~Terminal() {
  Clear();
  if (!ticker_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    closing_ = true;
  }
  wake_.NotifyOne();
  ticker_.join();
}

void Terminal::Progress(std::string_view line) {
  const MutexLock lock(mutex_);
  progress_ = line;
  if (live_) return Draw();
  WriteText(stream_, line);
}

void Terminal::Note(std::string_view line) {
  const MutexLock lock(mutex_);
  Erase();
  WriteText(stream_, line);
  std::fflush(stream_);
}

void Terminal::Clear() {
  const MutexLock lock(mutex_);
  stage_.clear();
  Erase();
}

void Terminal::ShowStage(std::string_view what) {
  const MutexLock lock(mutex_);
  const Clock::time_point now = Clock::now();
  // Elsewhere than on a terminal the pace of lines is one for all stages: many short ones are no reason for many lines.
  if (stage_.empty()) stage_shown_ = now;
  if (stage_ != what) stage_begun_ = now;
  stage_ = what;
  if (what.empty() || ticker_.joinable()) return;
  ticker_ = std::thread([this] {
    const MutexLock ticking(mutex_);
    while (!closing_) {
      const Clock::time_point next = Clock::now() + std::chrono::milliseconds(250);
      while (!closing_ && wake_.WaitUntil(mutex_, next)) continue;
      if (!closing_) Tick(Clock::now());
    }
  });
}

void Terminal::Tick(Clock::time_point now) {
  if (stage_.empty() || now - stage_begun_ < std::chrono::seconds(1)) return;
  if (now - stage_shown_ < (live_ ? std::chrono::seconds(1) : kPipePace)) return;
  stage_shown_ = now;
  if (live_) return Draw();
  WriteText(stream_, fmt::format("{}, {:.0f} s", stage_, std::chrono::duration<double>(now - stage_begun_).count()));
}

void Terminal::Draw() {
  std::string line = progress_;
  const double stage_s = std::chrono::duration<double>(Clock::now() - stage_begun_).count();
  if (!stage_.empty() && stage_s >= 1)
    line = fmt::format("{}, {:.0f} s{}{}", stage_, stage_s, progress_.empty() ? "" : " | ", progress_);
  winsize size{};
  const bool known = ioctl(fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  std::size_t end = std::min(line.size(), known ? size.ws_col - std::size_t{1} : 79);
  // Never cut inside a UTF-8 character.
  while (end < line.size() && end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  std::fputs("\r\033[K", stream_);
  std::fwrite(line.data(), 1, end, stream_);
  std::fflush(stream_);
  drawn_ = true;
}

void Terminal::Erase() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stream_);
  std::fflush(stream_);
  drawn_ = false;
}

int RunCommandLine(std::span<const std::string> arguments) {
  // Known before parsing, so that an error of the parsing too is a document for whoever asked for one.
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  if (arguments.empty()) {
    WriteText(stderr, HelpText());
    return static_cast<int>(ExitCode::kUsage);
  }
  if (arguments[0] == "--version")
    return FinishWithText(json ? fmt::format("{{\"version\": \"{}\"}}", HONE_VERSION) : "hone " HONE_VERSION);
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    if (arguments.size() > 1 && arguments[1] == "--man") return FinishWithText(ManualPage());
    if (arguments.size() > 1 && arguments[1] != "--json") {
      for (const HelpTopic& topic : HelpTopics()) {
        if (topic.name == arguments[1])
          return FinishWithText(json ? nlohmann::json{{"topic", topic.name}, {"text", topic.text()}}.dump(2)
                                     : topic.text());
      }
      const auto verb = FindVerb(arguments[1]);
      if (!verb) return FinishWithError(verb.error(), json);
      return FinishWithText(json ? Describe(**verb).dump(2) : HelpText(**verb));
    }
    return FinishWithText(json ? DescribeAll().dump(2) : HelpText());
  }

  const auto verb = FindVerb(arguments[0]);
  if (!verb) return FinishWithError(verb.error(), json);
  Terminal terminal(stderr);
  auto call = VerbCall::Parse(**verb, arguments.subspan(1), terminal);
  if (!call) return FinishWithError(call.error(), json);
  if (call->Flag("help")) return FinishWithText(call->json() ? Describe(**verb).dump(2) : HelpText(**verb));

  std::optional<OutputGuard> guard;
  if (!(*verb)->owns_output) guard.emplace();
  const Result<Answer> answer = (*verb)->run(*call);
  guard.reset();
  terminal.Clear();
  if (!answer && InterruptCause() != Interrupt::kNone) return FinishInterrupted(json);
  if (!answer) return FinishWithError(answer.error(), json);
  return Finish(json ? answer->json : answer->text, answer->code);
}

}  // namespace hone
