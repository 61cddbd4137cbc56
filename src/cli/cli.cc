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

int Finish(ExitCode code) {
  // A full disk or a closed pipe behind standard output must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    if (errno != EPIPE)
      WriteText(stderr, fmt::format("hone: cannot write to standard output: {}", std::strerror(errno)));
    return static_cast<int>(ExitCode::kFailed);
  }
  return static_cast<int>(code);
}

int FinishWithError(const Error& error, bool json) {
  WriteText(stderr, fmt::format("hone: {}", error.message));
  if (json) {
    const nlohmann::json document = {{"error", {{"kind", Name(error.kind)}, {"message", error.message}}}};
    WriteText(stdout, document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return Finish(ExitCodeOf(error.kind));
}

int FinishWithText(std::string_view text) {
  WriteText(stdout, text);
  return Finish(ExitCode::kDone);
}

nlohmann::json DescribeAll() {
  nlohmann::json verbs = nlohmann::json::array();
  for (const Verb* verb : AllVerbs())
    if (!verb->hidden) verbs.push_back(Describe(*verb));
  return {{"version", HONE_VERSION}, {"verbs", std::move(verbs)}};
}

}  // namespace

Terminal::Terminal(std::FILE* stream) : stream_(stream) {
  const char* kind = std::getenv("TERM");
  live_ = isatty(fileno(stream)) == 1 && kind && std::strcmp(kind, "dumb") != 0;
}

void Terminal::Progress(std::string_view line) {
  if (!live_) {
    WriteText(stream_, line);
    return;
  }
  winsize size{};
  const bool known = ioctl(fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  const std::size_t width = known ? size.ws_col - 1u : 79u;
  std::size_t end = std::min(line.size(), width);
  // Never cut inside a UTF-8 character.
  while (end < line.size() && end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  std::fputs("\r\033[K", stream_);
  std::fwrite(line.data(), 1, end, stream_);
  std::fflush(stream_);
  drawn_ = true;
}

void Terminal::Note(std::string_view line) {
  Clear();
  WriteText(stream_, line);
  std::fflush(stream_);
}

void Terminal::Clear() {
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
    if (arguments.size() > 1 && arguments[1] != "--json") {
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
  if (!answer) return FinishWithError(answer.error(), json);
  WriteText(stdout, json ? answer->json : answer->text);
  return Finish(answer->code);
}

}  // namespace hone
