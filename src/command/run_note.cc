#include "command/run_note.h"

#include <fmt/format.h>

namespace hone {
namespace {

constexpr std::string_view kBefore = "run ", kNew = " begins", kGoingOn = "going on with ";

}  // namespace

std::string RunNote(std::string_view run, bool resumed) {
  return resumed ? fmt::format("{}{}{}", kGoingOn, kBefore, run) : fmt::format("{}{}{}", kBefore, run, kNew);
}

std::optional<std::string> RunOfNote(std::string_view line) {
  const bool resumed = line.starts_with(kGoingOn);
  if (resumed) line.remove_prefix(kGoingOn.size());
  if (!line.starts_with(kBefore) || (!resumed && !line.ends_with(kNew))) return std::nullopt;
  line.remove_prefix(kBefore.size());
  if (!resumed) line.remove_suffix(kNew.size());
  if (line.empty() || line.find_first_not_of("0123456789abcdef") != line.npos) return std::nullopt;
  return std::string(line);
}

}  // namespace hone
