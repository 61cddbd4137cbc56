#include "serve/page_server.h"

#include <gtest/gtest.h>
#include <httplib.h>

namespace hone {
namespace {

struct Address {
  int port = 0;
  std::string path;  // "/TOKEN/"
};

Address Of(const PageServer& server) {
  const std::string url = server.url();
  const std::size_t colon = url.rfind(':'), slash = url.find('/', colon);
  return {std::stoi(url.substr(colon + 1, slash - colon - 1)), url.substr(slash)};
}

Result<PageServer> Echo(int port = 0) {
  return PageServer::Start(port, [](const std::string& path, const std::string& since) -> Result<Served> {
    if (path == "none") return Fail(ErrorKind::kNotFound, "there is none");
    if (path == "broken") return Fail(ErrorKind::kIo, "the disk is full");
    if (since == "now") return Served{204, {}, {}};
    return Served{200, "text/plain", "page of '" + path + "'"};
  });
}

int StatusOf(const Address& at, const std::string& path, const httplib::Headers& headers = {}) {
  httplib::Client client("127.0.0.1", at.port);
  const auto answer = client.Get(path, headers);
  return answer ? answer->status : -1;
}

TEST(PageServerTest, AnswersUnderItsToken) {
  const auto server = Echo();
  ASSERT_TRUE(server) << server.error().message;
  const Address at = Of(*server);
  httplib::Client client("127.0.0.1", at.port);
  const auto page = client.Get(at.path + "run/3fa2");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->body, "page of 'run/3fa2'");
  EXPECT_EQ(page->get_header_value("Cache-Control"), "no-store");
  EXPECT_EQ(page->get_header_value("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(client.Get(at.path)->body, "page of ''");
  EXPECT_EQ(StatusOf(at, at.path + "run/3fa2/data?since=now"), 204);
  EXPECT_EQ(StatusOf(at, at.path + "none"), 404);
  EXPECT_EQ(StatusOf(at, at.path + "broken"), 500);
}

TEST(PageServerTest, WhoDoesNotKnowTheTokenIsRefused) {
  const auto server = Echo();
  ASSERT_TRUE(server) << server.error().message;
  const Address at = Of(*server);
  EXPECT_EQ(at.path.size(), 34U);  // 128 bits
  std::string wrong = at.path;
  wrong[5] = wrong[5] == '0' ? '1' : '0';
  for (const std::string& path :
       {std::string("/"), wrong, at.path.substr(0, 20), at.path.substr(0, 33), at.path + "/x"})
    EXPECT_EQ(StatusOf(at, path), path == at.path + "/x" ? 200 : 403) << path;
  EXPECT_NE(Of(*Echo()).path, at.path);
}

TEST(PageServerTest, AnotherHostsNameIsRefused) {
  const auto server = Echo();
  ASSERT_TRUE(server) << server.error().message;
  const Address at = Of(*server);
  EXPECT_EQ(StatusOf(at, at.path, {{"Host", "evil.example"}}), 403);
  EXPECT_EQ(StatusOf(at, at.path, {{"Host", "localhost:" + std::to_string(at.port)}}), 200);
}

TEST(PageServerTest, NothingButGetIsServed) {
  const auto server = Echo();
  ASSERT_TRUE(server) << server.error().message;
  const Address at = Of(*server);
  httplib::Client client("127.0.0.1", at.port);
  for (const auto& answer : {client.Post(at.path, "x", "text/plain"), client.Delete(at.path)})
    EXPECT_TRUE(!answer || answer->status >= 400);
}

TEST(PageServerTest, APortThatIsTakenIsSaid) {
  const auto server = Echo();
  ASSERT_TRUE(server) << server.error().message;
  const auto second = Echo(Of(*server).port);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("is taken; name another one with --port"), std::string::npos);
}

}  // namespace
}  // namespace hone
