#include "command/agent/verb_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/process.h"
#include "base/text.h"

namespace hone {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestDocument = 64u << 20;
constexpr auto kOwnEnd = std::chrono::seconds(10);
constexpr int kLookMs = 100;

// The reading end of its standard error.
struct ErrorPipe {
  int read = -1, write = -1;
  ~ErrorPipe() {
    if (read >= 0) close(read);
    CloseWrite();
  }
  void CloseWrite() {
    if (write >= 0) close(write);
    write = -1;
  }
};

// What is there now; false at the end of the stream.
bool ReadSome(int descriptor, std::string& to) {
  char buffer[65536];
  const auto got = read(descriptor, buffer, sizeof buffer);
  if (got > 0) to.append(buffer, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

void HandOn(std::string& said, const VerbWatch& watch) {
  std::size_t begin = 0;
  for (std::size_t end = said.find('\n'); end != said.npos; end = said.find('\n', begin)) {
    const std::string line = Printable(said.substr(begin, end - begin));
    if (!line.empty() && watch.line) watch.line(line);
    begin = end + 1;
  }
  said.erase(0, begin);
}

// Its output and error until both have ended, or it has and nothing is left to be read: a process of its own may
// outlive it and hold them open.
Exit Follow(Child& child, int error, const VerbWatch& watch, std::string& document) {
  std::string said;
  bool output_open = true, error_open = true;
  std::optional<Clock::time_point> last_moment;
  while (output_open || error_open) {
    const bool ended = !child.Running();
    pollfd ready[] = {{output_open ? child.output() : -1, POLLIN, 0}, {error_open ? error : -1, POLLIN, 0}};
    const int seen = poll(ready, 2, ended ? 0 : kLookMs);
    if (seen == 0 && ended) break;
    if (seen > 0 && ready[0].revents) output_open = ReadSome(child.output(), document);
    if (seen > 0 && ready[1].revents) error_open = ReadSome(error, said);
    HandOn(said, watch);
    if (document.size() > kLongestDocument) return child.Kill();
    if (!last_moment && watch.cancelled && watch.cancelled()) {
      last_moment = Clock::now() + kOwnEnd;
      child.Signal(SIGTERM);
    }
    if (last_moment && Clock::now() > *last_moment) return child.Kill();
  }
  if (const auto exit = child.Wait(kOwnEnd)) return *exit;
  return child.Kill();
}

void ReadError(VerbEnd& end) {
  const Json json = Json::parse(end.document, nullptr, false);
  if (!json.is_object()) return;
  const Json error = json.value("error", json);
  if (!error.is_object()) return;
  end.message = error.value("message", std::string());
  end.not_found = error.value("kind", std::string()) == Name(ErrorKind::kNotFound);
}

}  // namespace

VerbSetting OwnSetting(const std::string& store) {
  VerbSetting setting{.program = OwnPath(), .environment = {}};
  for (char** line = environ; *line; ++line) {
    if (store.empty() || std::strncmp(*line, "HONE_STORE=", 11) != 0) setting.environment.emplace_back(*line);
  }
  if (!store.empty()) setting.environment.push_back("HONE_STORE=" + store);
  return setting;
}

Result<VerbEnd> RunVerb(const VerbSetting& setting, const Verb& verb, const std::vector<std::string>& arguments,
                        const VerbWatch& watch) {
  ErrorPipe error;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(ErrorKind::kIo, fmt::format("pipe: {}", std::strerror(errno)));
  error.read = ends[0];
  error.write = ends[1];
  Command command;
  command.argv = {setting.program, std::string(verb.name), "--json"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment = setting.environment;
  Child child = HONE_TRY(Child::Start(command, error.write));
  error.CloseWrite();
  child.CloseInput();

  VerbEnd end;
  const Exit exit = Follow(child, error.read, watch, end.document);
  const bool cancelled = watch.cancelled && watch.cancelled();
  const bool signalled = exit.signal != 0;
  end.code = cancelled && signalled ? static_cast<int>(ExitCode::kInterrupted)
             : signalled            ? static_cast<int>(ExitCode::kFailed)
                                    : exit.code;
  if (end.answered()) return end;
  ReadError(end);
  if (end.message.empty())
    end.message = cancelled ? "cancelled" : fmt::format("hone {} {}", verb.name, exit.Describe());
  return end;
}

}  // namespace hone
