#include "model/http.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kConnecting = std::chrono::seconds(10);
constexpr std::size_t kLongestRefusal = 64u << 10;  // bytes of what comes with an error
constexpr std::size_t kLongestAnswer = 64u << 20;   // bytes of a stream: far more than any model says

std::string InSmallLetters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool NotForWantOfAConnection(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::SSLServerVerification: return false;
    default: return true;
  }
}

std::string_view Words(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection: return "nobody answers there";
    case httplib::Error::ConnectionTimeout: return "nobody answered there within 10 s";
    case httplib::Error::SSLConnection: return "no encrypted connection came about";
    case httplib::Error::SSLLoadingCerts: return "the certificates to trust could not be read";
    case httplib::Error::SSLServerVerification: return "its certificate is not trusted";
    default: return "the connection was cut";
  }
}

}  // namespace

bool Url::OfThisMachine() const { return host == "127.0.0.1" || host == "::1" || host == "localhost"; }

Result<Url> SplitUrl(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return Fail(ErrorKind::kUsage, fmt::format("'{}' is no URL of a server: {}", text, why));
  };
  Url url;
  std::string_view rest = text;
  url.tls = rest.starts_with("https://");
  if (!url.tls && !rest.starts_with("http://")) return bad("it begins with neither https:// nor http://");
  rest.remove_prefix(url.tls ? 8 : 7);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view place = rest.substr(0, slash);
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (place.find('@') != place.npos) return bad("a name or a key does not belong into it");
  if (text.find_first_of("?# \t\r\n") != text.npos) return bad("it has a query, a fragment or a space");
  url.port = url.tls ? 443 : 80;
  const std::size_t colon = place.rfind(':');
  if (colon != place.npos && place.find(']', colon) == place.npos) {
    const std::string_view digits = place.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (error != std::errc() || end != digits.data() + digits.size() || url.port <= 0 || url.port > 65535)
      return bad("its port is no number from 1 to 65535");
    place = place.substr(0, colon);
  }
  if (place.starts_with('[') && place.ends_with(']')) place = place.substr(1, place.size() - 2);
  if (place.empty()) return bad("it names no host");
  url.host = place;
  return url;
}

struct HttpCaller::Connection {
  explicit Connection(const Url& url)
      : client(fmt::format("{}://{}:{}", url.tls ? "https" : "http",
                           url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]", url.port)) {}
  httplib::Client client;
  std::atomic<bool> interrupted = false;
};

HttpCaller::HttpCaller() = default;
HttpCaller::~HttpCaller() = default;

void HttpCaller::Interrupt() {
  const MutexLock lock(mutex_);
  if (!connection_) return;
  connection_->interrupted = true;
  connection_->client.stop();
}

Result<HttpAnswer> HttpCaller::Post(const HttpRequest& request, const std::function<bool(std::string_view)>& take) {
  const Url url = HONE_TRY(SplitUrl(request.url));
  const auto connection = std::make_shared<Connection>(url);
  httplib::Client& client = connection->client;
  client.set_connection_timeout(kConnecting);
  client.set_read_timeout(request.silence);
  client.set_write_timeout(request.silence);
  client.set_keep_alive(false);
  if (!request.ca_file.empty()) client.set_ca_cert_path(request.ca_file);
  {
    const MutexLock lock(mutex_);
    connection_ = connection;
  }

  const Clock::time_point began = Clock::now();
  Clock::time_point heard = began;
  HttpAnswer answer;
  bool too_long = false, late = false;
  std::size_t got = 0;
  httplib::Request post;
  post.method = "POST";
  post.path = url.path.empty() ? "/" : url.path;
  for (const auto& [name, value] : request.headers) post.headers.emplace(name, value);
  post.body = request.body;
  post.response_handler = [&](const httplib::Response& response) {
    heard = Clock::now();
    answer.status = response.status;
    for (const auto& [name, value] : response.headers) answer.headers.emplace(InSmallLetters(name), value);
    return !connection->interrupted;
  };
  bool enough = false;
  post.content_receiver = [&](const char* bytes, std::size_t count, std::uint64_t, std::uint64_t) {
    heard = Clock::now();
    got += count;
    too_long = got > kLongestAnswer;
    late = heard - began > request.wall;
    if (too_long || late || connection->interrupted) return false;
    if (answer.status == 200) {
      enough = !take({bytes, count});
      return !enough;
    }
    answer.body.append(bytes, std::min(count, kLongestRefusal - std::min(kLongestRefusal, answer.body.size())));
    return true;
  };
  const httplib::Result sent = client.send(post);
  reached_ = sent || NotForWantOfAConnection(sent.error());
  {
    const MutexLock lock(mutex_);
    connection_.reset();
  }
  if (connection->interrupted) return Fail(ErrorKind::kInterrupted, "interrupted while a model was asked");
  if (sent || enough) return answer;
  const auto seconds = [](auto span) { return std::chrono::duration<double>(span).count(); };
  if (late)
    return Fail(ErrorKind::kTimeout, fmt::format("{} was not done within {:.3g} s", url.host, seconds(request.wall)));
  if (too_long)
    return Fail(ErrorKind::kIo, fmt::format("{} does not end: it sent more than {} bytes", url.host, kLongestAnswer));
  if (sent.error() == httplib::Error::Read && Clock::now() - heard >= request.silence) {
    return Fail(ErrorKind::kTimeout, fmt::format("{} said nothing for {:.3g} s", url.host, seconds(request.silence)));
  }
  return Fail(ErrorKind::kIo, fmt::format("{} port {}: {}", url.host, url.port, Words(sent.error())));
}

}  // namespace hone
