// Pages for the browsers of this machine: HTTP on the loopback interface, for GET alone, under a path that begins with
// a token that nobody can guess. Whoever does not know it learns nothing, not even which pages there are. A request
// whose Host is another name than this machine's own is refused as well, so that no page of the web can ask through a
// name that it makes point here.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace hone {

struct Served {
  int status = 200;
  std::string type;  // "text/html; charset=utf-8"
  std::string body;
};

class PageServer {
 public:
  // `path` is what stands behind the token, without a slash before it; `since` the query's value of that name. Called
  // by one thread at a time. An Error of kNotFound is answered with 404, any other with 500, and its message.
  using Answerer = std::function<Result<Served>(const std::string& path, const std::string& since)>;

  // Serves from now on, in threads of its own, until it is destroyed. Port 0: any that is free. kIo: the port is taken.
  static Result<PageServer> Start(int port, Answerer answer);
  PageServer(PageServer&&) noexcept;
  ~PageServer();

  std::string url() const;  // "http://127.0.0.1:8765/TOKEN/"

 private:
  struct State;
  explicit PageServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone
