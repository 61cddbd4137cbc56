// One POST whose answer comes bit by bit. The only file that knows an HTTP library.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace hone {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string url;  // as SplitUrl takes it
  HttpHeaders headers;
  std::string body;
  std::string ca_file;                   // certificates to trust instead of the system's; empty: the system's
  std::chrono::milliseconds silence{0};  // so long may nothing come
  std::chrono::milliseconds wall{0};     // so long may all of it take
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // by names in small letters
  std::string body;                            // of a status other than 200: what came with it, its first 64 KiB
};

// "https://127.0.0.1:8443/v1" is {https, 127.0.0.1, 8443, /v1}. kUsage when it is no such URL.
struct Url {
  bool tls = false;
  std::string host;
  int port = 0;
  std::string path;            // without a slash at its end
  bool OfThisMachine() const;  // 127.0.0.1, ::1, localhost
};
Result<Url> SplitUrl(std::string_view text);

// Makes one call at a time. Redirects are not followed: whoever is named gets the request, and nobody else.
class HttpCaller {
 public:
  HttpCaller();
  ~HttpCaller();

  // Blocks. `take` gets the bytes of an answer with status 200 as they come, and gives false to end it there. Fails
  // with kTimeout (silence, wall), kInterrupted, or kIo: nobody is there, the certificate is not trusted, the
  // connection was cut.
  Result<HttpAnswer> Post(const HttpRequest& request, const std::function<bool(std::string_view)>& take);

  // Whether the server may have got the request of the last Post.
  bool reached() const { return reached_; }

  // Ends the Post in work, from any thread; again and again, since it may come before a connection is there.
  void Interrupt();

 private:
  struct Connection;
  Mutex mutex_;
  std::shared_ptr<Connection> connection_ HONE_GUARDED_BY(mutex_);  // of the call in work; null: none
  bool reached_ = false;
};

}  // namespace hone
