// What the servers of each dialect say, to the byte: one table, so that tests hold all dialects to the same. Written
// from the servers' documentation; the official clients read it so, too (docs/models.md, "What was tried").
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone::testing {

// How a server words a refusal that does not follow from the status alone, and whether it may pass.
struct Worded {
  int status;
  std::string_view type, code;
  bool passes;
};

struct Speech {
  std::string_view dialect;
  std::string_view base, line;              // what follows the host in the provider's URL; the request's first line
  std::string_view parameters;              // what the user has to set
  std::string_view key_header, key_before;  // where the key goes, and what stands before it
  // Events of a whole answer, the last one its end: this text, or a call of the tool `look` with {"at": 1}, or text
  // that the limit cut off, or a refusal. Each took 120 tokens in, 100 of them cached, and 30 out.
  std::vector<std::string> (*text)(const std::string& text);
  std::vector<std::string> (*call)();
  std::vector<std::string> (*cut)(const std::string& text);
  std::vector<std::string> (*refusal)();
  std::string (*error)(std::string_view type, std::string_view code,
                       const std::string& message);  // an answer's whole body
  std::string (*error_event)(std::string_view type, std::string_view code,
                             const std::string& message);  // in the midst of a stream
  std::span<const Worded> worded;
};

std::span<const Speech> AllSpeeches();

// A whole stream of Chat Completions that says this.
std::string ChatAnswer(const std::string& text);

}  // namespace hone::testing
