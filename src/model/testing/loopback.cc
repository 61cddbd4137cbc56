#include "model/testing/loopback.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/check.h"

namespace hone::testing {
namespace {

std::string Trimmed(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.pop_back();
  return text;
}

// A request, if all of it is there.
bool Parse(const std::string& bytes, Heard& heard) {
  const std::size_t head = bytes.find("\r\n\r\n");
  if (head == bytes.npos) return false;
  std::size_t at = bytes.find("\r\n");
  heard = {.line = bytes.substr(0, at)};
  while (at < head) {
    const std::size_t end = bytes.find("\r\n", at + 2);
    const std::string line = bytes.substr(at + 2, end - at - 2);
    std::string name = line.substr(0, line.find(':'));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    heard.headers[name] = Trimmed(line.substr(std::min(line.find(':') + 1, line.size())));
    at = end;
  }
  std::size_t length = 0;
  const std::string& said = heard.headers["content-length"];
  std::from_chars(said.data(), said.data() + said.size(), length);
  heard.body = bytes.substr(head + 4);
  return heard.body.size() >= length;
}

}  // namespace

Loopback::Loopback(std::vector<Saying> sayings) : sayings_(std::move(sayings)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  HONE_CHECK(bind(listener_, plain, length) == 0 && listen(listener_, 16) == 0, "no port of this machine is free");
  HONE_CHECK(getsockname(listener_, plain, &length) == 0, "a socket without a name");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

Loopback::~Loopback() {
  over_ = true;
  thread_.join();
  close(listener_);
}

std::string Loopback::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<Heard> Loopback::heard() const {
  const MutexLock lock(mutex_);
  return heard_;
}

void Loopback::Serve() {
  for (std::size_t number = 0; !over_;) {
    pollfd waiting{listener_, POLLIN, 0};
    if (poll(&waiting, 1, 10) <= 0) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    Answer(connection, number < sayings_.size() ? sayings_[number] : Saying());
    close(connection);
    ++number;
  }
}

void Loopback::Answer(int connection, const Saying& saying) {
  std::string bytes;
  Heard heard;
  while (!Parse(bytes, heard) && !over_) {
    pollfd waiting{connection, POLLIN, 0};
    if (poll(&waiting, 1, 10) <= 0) continue;
    char buffer[65536];
    const auto got = recv(connection, buffer, sizeof buffer, 0);
    if (got <= 0) return;
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
  {
    const MutexLock lock(mutex_);
    heard_.push_back(heard);
  }
  for (const Said& said : saying) {
    const auto until = std::chrono::steady_clock::now() + said.after;
    while (!over_ && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (send(connection, said.bytes.data(), said.bytes.size(), MSG_NOSIGNAL) < 0) return;
  }
}

std::string HttpText(int status, std::string_view type, std::string_view body,
                     const std::vector<std::string>& headers) {
  std::string text = fmt::format("HTTP/1.1 {} Said\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
                                 status, type, body.size());
  for (const std::string& header : headers) text += header + "\r\n";
  return fmt::format("{}\r\n{}", text, body);
}

std::string HttpStream(const std::vector<std::string>& events) {
  std::string text =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
  for (const std::string& event : events) text += fmt::format("{:x}\r\n{}\r\n", event.size(), event);
  return text + "0\r\n\r\n";
}

std::string EventText(std::string_view data, std::string_view name) {
  return fmt::format("{}data: {}\n\n", name.empty() ? "" : fmt::format("event: {}\n", name), data);
}

}  // namespace hone::testing
