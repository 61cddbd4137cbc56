#include "mcp/stdio.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace hone::mcp {
namespace {

// How long it may take until somebody sees that we were asked to stop.
constexpr int kLookMs = 200;

// Cuts what is read into lines and hands them on.
class Lines {
 public:
  explicit Lines(Server& server) : server_(server) {}

  void Add(std::string_view read) {
    while (!read.empty()) {
      const std::size_t end = read.find('\n');
      const std::string_view part = read.substr(0, end);
      if (!skipping_) line_ += part;
      if (line_.size() > kLongestLine) {
        server_.RefuseLongLine(kLongestLine);
        line_ = std::string();
        skipping_ = true;
      }
      if (end == read.npos) return;
      End();
      read.remove_prefix(end + 1);
    }
  }
  // A last line needs no end.
  void End() {
    if (line_.ends_with('\r')) line_.pop_back();
    if (!line_.empty()) server_.Take(line_);
    line_.clear();
    skipping_ = false;
  }

 private:
  Server& server_;
  std::string line_;
  bool skipping_ = false;
};

}  // namespace

Result<void> Serve(Catalogue catalogue, int input, int output, const std::atomic<bool>& stop) {
  std::atomic<bool> unread = false;
  Server server(std::move(catalogue), [&](std::string_view line) {
    if (!WriteAll(output, fmt::format("{}\n", line))) unread = true;
  });
  Lines lines(server);
  std::string buffer(65536, '\0');
  while (!stop && !unread) {
    pollfd ready{input, POLLIN, 0};
    const int seen = poll(&ready, 1, kLookMs);
    if (seen == 0 || (seen < 0 && errno == EINTR)) continue;
    const auto got = read(input, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return Fail(ErrorKind::kIo, fmt::format("cannot read messages: {}", std::strerror(errno)));
    if (got == 0) {
      lines.End();
      break;
    }
    lines.Add(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
  }
  return {};
}

}  // namespace hone::mcp
