#include "base/date.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

namespace hone {

std::int64_t UnixMilliseconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

std::string UtcTime(std::int64_t unix_milliseconds) {
  const std::time_t seconds = unix_milliseconds / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string Today() {
  const std::string now = UtcTime(UnixMilliseconds());
  return now.substr(0, now.find(' '));
}

}  // namespace hone
