// A server on this machine that says what a test tells it to, to the byte: right answers, wrong ones, half ones, none.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace hone::testing {

// A part of what is said on a connection. After the last part the connection is closed.
struct Said {
  std::string bytes;
  std::chrono::milliseconds after{0};  // a pause before it
};
using Saying = std::vector<Said>;

// What a client said.
struct Heard {
  std::string line;                            // "POST /v1/chat/completions HTTP/1.1"
  std::map<std::string, std::string> headers;  // by names in small letters
  std::string body;
};

class Loopback {
 public:
  // The first connection gets the first saying, and so on; those after the last one are closed at once.
  explicit Loopback(std::vector<Saying> sayings);
  ~Loopback();
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  std::string url() const;  // "http://127.0.0.1:40123"
  std::vector<Heard> heard() const;

 private:
  void Serve();
  void Answer(int connection, const Saying& saying);
  const std::vector<Saying> sayings_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> over_ = false;
  mutable Mutex mutex_;
  std::vector<Heard> heard_ HONE_GUARDED_BY(mutex_);
  std::thread thread_;
};

// A whole answer of one part.
std::string HttpText(int status, std::string_view type, std::string_view body,
                     const std::vector<std::string>& headers = {});
// A stream of events as servers send it, in chunks; each of `events` is whole, with its empty line.
std::string HttpStream(const std::vector<std::string>& events);
// "data: ...\n\n", and with a name before it.
std::string EventText(std::string_view data, std::string_view name = "");

}  // namespace hone::testing
