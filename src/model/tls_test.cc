// Who is trusted with a key: a server whose certificate the system, or the user's own file, vouches for.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <thread>

#include "base/files.h"
#include "base/process.h"
#include "base/testing/must.h"
#include "model/http.h"

namespace hone {
namespace {

using testing::Must;

TEST(TlsTest, AServerIsTrustedByItsCertificateAlone) {
  const TempDirectory folder = Must(TempDirectory::Create("tls"));
  const std::string key = folder.path() + "/key.pem", certificate = folder.path() + "/certificate.pem";
  const auto made = hone::Run(
      {.argv = {"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate},
       .environment = InheritedEnvironment()});
  if (!made || !made->ok()) GTEST_SKIP() << "no openssl here that makes a certificate";
  httplib::SSLServer server(certificate.c_str(), key.c_str());
  int asked = 0;
  server.Post("/v1", [&](const httplib::Request&, httplib::Response& response) {
    ++asked;
    response.set_content("hello", "text/plain");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  ASSERT_GT(port, 0);
  std::thread serving([&] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();

  HttpCaller caller;
  HttpRequest request{.url = fmt::format("https://127.0.0.1:{}/v1", port),
                      .headers = {{"authorization", "Bearer secret"}},
                      .body = "{}",
                      .silence = std::chrono::seconds(5),
                      .wall = std::chrono::seconds(5)};
  std::string said;
  const auto take = [&](std::string_view bytes) {
    said += bytes;
    return true;
  };
  const auto refused = caller.Post(request, take);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("its certificate is not trusted"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(caller.reached()) << "nothing was sent";
  EXPECT_EQ(asked, 0);
  request.ca_file = certificate;
  const auto trusted = caller.Post(request, take);
  EXPECT_TRUE(trusted) << trusted.error().message;
  EXPECT_EQ(said, "hello");
  // The certificate is of an address, and not of this name.
  request.url = fmt::format("{}://localhost:{}/v1", "https", port);
  EXPECT_FALSE(caller.Post(request, take));
  EXPECT_EQ(asked, 1);
  server.stop();
  serving.join();
}

}  // namespace
}  // namespace hone
