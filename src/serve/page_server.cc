#include "serve/page_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <thread>

#include "base/mutex.h"
#include "base/secret_random.h"

namespace hone {
namespace {

constexpr int kThreads = 4, kTimeoutSeconds = 5;
constexpr const char* kHere = "127.0.0.1";

std::string NewToken() {
  std::string token;
  for (const std::uint8_t byte : SecretRandom::NewKey()) token += fmt::format("{:02x}", byte);
  return token.substr(0, 32);
}

// Takes as long wherever they differ.
bool Same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return different == 0;
}

}  // namespace

struct PageServer::State {
  httplib::Server server;
  std::string token = NewToken();
  int port = 0;
  Mutex answering;
  const Answerer answer HONE_GUARDED_BY(answering);
  std::thread thread;

  explicit State(Answerer its) : answer(std::move(its)) {}
  ~State() {
    server.stop();
    if (thread.joinable()) thread.join();
  }

  bool Allowed(const httplib::Request& request) const {
    const std::string host = request.get_header_value("Host");
    if (host != fmt::format("{}:{}", kHere, port) && host != fmt::format("localhost:{}", port)) return false;
    const std::size_t end = std::min(request.path.find('/', 1), request.path.size());
    return request.path.starts_with('/') && end < request.path.size() &&
           Same(std::string_view(request.path).substr(1, end - 1), token);
  }

  void Respond(const httplib::Request& request, httplib::Response& response) {
    if (!Allowed(request)) {
      response.status = 403;
      response.set_content("the address that hone serve printed is wanted, whole\n", "text/plain");
      return;
    }
    const std::string path = request.path.substr(token.size() + 2);
    const std::string since = request.has_param("since") ? request.get_param_value("since") : std::string();
    const MutexLock one_at_a_time(answering);
    auto served = answer(path, since);
    if (!served) {
      response.status = served.error().kind == ErrorKind::kNotFound ? 404 : 500;
      response.set_content(served.error().message + '\n', "text/plain; charset=utf-8");
      return;
    }
    response.status = served->status;
    if (served->status != 204) response.set_content(served->body, served->type.c_str());
  }
};

PageServer::PageServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
PageServer::PageServer(PageServer&&) noexcept = default;
PageServer::~PageServer() = default;

Result<PageServer> PageServer::Start(int port, Answerer answer) {
  auto state = std::make_unique<State>(std::move(answer));
  httplib::Server& server = state->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_socket_options([](socket_t) {});  // the library's own let two servers have one port
  server.set_read_timeout(kTimeoutSeconds);
  server.set_write_timeout(kTimeoutSeconds);
  server.set_payload_max_length(0);
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Referrer-Policy", "no-referrer"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"X-Frame-Options", "DENY"}});
  server.Get(".*", [self = state.get()](const httplib::Request& request, httplib::Response& response) {
    self->Respond(request, response);
  });
  state->port = port == 0 ? server.bind_to_any_port(kHere) : server.bind_to_port(kHere, port) ? port : -1;
  if (state->port <= 0) {
    return Fail(ErrorKind::kIo,
                fmt::format("port {} of this machine is taken; name another one with --port, or 0 for any", port));
  }
  state->thread = std::thread([&server] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();  // stop() before that would be lost
  return PageServer(std::move(state));
}

std::string PageServer::url() const { return fmt::format("http://{}:{}/{}/", kHere, state_->port, state_->token); }

}  // namespace hone
