// Server-sent events, as the WHATWG's HTML standard defines them: what a server streams an answer in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct ServerEvent {
  std::string name;  // of `event:`; empty: it has none
  std::string data;  // its `data:` lines, with line breaks between them
};

// Puts events together from bytes that come in pieces of any size. Not thread-safe.
class EventSplitter {
 public:
  // The events that are whole now.
  std::vector<ServerEvent> Take(std::string_view bytes);

 private:
  void TakeLine(std::string_view line, std::vector<ServerEvent>& whole);
  std::string pending_;    // a line that has no end yet
  bool after_cr_ = false;  // a line feed that comes now belongs to the line before
  ServerEvent event_;
  bool has_data_ = false;
};

}  // namespace hone
