#include "model/server_sent_events.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

std::string Told(std::string_view bytes, std::size_t piece) {
  EventSplitter splitter;
  std::string told;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    for (const ServerEvent& event : splitter.Take(bytes.substr(at, piece)))
      told += "[" + event.name + "|" + event.data + "]";
  }
  return told;
}

TEST(ServerSentEventsTest, EventsComeWholeHoweverTheyAreCut) {
  constexpr std::string_view kStream =
      ": a comment\n\ndata: {\"a\": 1}\n\nevent: stop\r\ndata:two\r\ndata: lines\r\nid: 7\r\n\r\nevent: empty\n\n"
      "data\r\rdata: not ended";
  for (std::size_t piece = 1; piece <= kStream.size(); ++piece)
    EXPECT_EQ(Told(kStream, piece), "[|{\"a\": 1}][stop|two\nlines][|]") << piece;
}

}  // namespace
}  // namespace hone
