// The calendar's time, for people and records; what is measured goes by steady clocks. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace hone {

std::int64_t UnixMilliseconds();                      // now
std::string UtcTime(std::int64_t unix_milliseconds);  // "2026-03-01 14:05:09"
std::string Today();                                  // "2026-03-01", in UTC as all that is kept

}  // namespace hone
