#include "model/server_sent_events.h"

#include <utility>

namespace hone {

std::vector<ServerEvent> EventSplitter::Take(std::string_view bytes) {
  std::vector<ServerEvent> whole;
  for (const char c : bytes) {
    const bool second = std::exchange(after_cr_, c == '\r') && c == '\n';
    if (second) continue;
    if (c != '\r' && c != '\n') {
      pending_ += c;
      continue;
    }
    TakeLine(pending_, whole);
    pending_.clear();
  }
  return whole;
}

void EventSplitter::TakeLine(std::string_view line, std::vector<ServerEvent>& whole) {
  if (line.empty()) {
    if (has_data_) whole.push_back(std::move(event_));
    event_ = {};
    has_data_ = false;
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.name = value;
  if (field != "data") return;  // comments, ids and pauses are nothing to us
  if (std::exchange(has_data_, true)) event_.data += '\n';
  event_.data += value;
}

}  // namespace hone
