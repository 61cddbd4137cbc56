// A dialect is how one kind of server is asked and answers: names of fields, shape of a stream. It knows nothing of
// connections, keys' origins, retries or prices (model.h).
//
//   Conversation --request--> JSON --POST url + path--> server-sent events --reader--> ModelReply
//
// To add one, copy dialects/openai_chat.cc: one file is one dialect, its name is the one that the models file takes.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/row.h"
#include "model/conversation.h"
#include "model/http.h"
#include "model/server_sent_events.h"
#include "model/service_error.h"

namespace hone {

// Puts one reply together from the events of its stream. What is not as the dialect has it is kIo: "its answer is ...".
class ReplyReader {
 public:
  virtual ~ReplyReader() = default;
  virtual Result<void> Take(const ServerEvent& event) = 0;
  // Once the stream has ended; kIo when it ended before the reply did.
  virtual Result<ModelReply> End() = 0;
  // What is known by now of what it takes: also of a reply that breaks off.
  virtual TokenUse usage() const { return reply_.usage; }
  // The stream carried an error instead.
  const std::optional<ServiceError>& refused() const { return refused_; }

 protected:
  ModelReply reply_;  // as far as it has come
  std::optional<ServiceError> refused_;
};
template <class Reader>
std::unique_ptr<ReplyReader> MakeReader() {
  return std::make_unique<Reader>();
}

// A request of JSON that is answered by a stream, with the key as OpenAI's servers and theirs alike take it.
HttpHeaders BearerHeaders(const std::string& key, const std::string& version);

struct Dialect {
  std::string_view name;                          // "openai-chat"
  std::string_view doc;                           // one line: who speaks it
  std::string_view path;                          // behind the provider's URL
  std::span<const std::string_view> ours = {};    // fields that hone writes: no user's parameter
  std::span<const std::string_view> spare = {};   // of those, what a server may refuse: then it is left out
  std::span<const std::string_view> needed = {};  // parameters that the user has to set
  HttpHeaders (*headers)(const std::string& key, const std::string& version) = nullptr;  // an empty key: none is sent
  nlohmann::json (*request)(const Conversation& conversation, const std::string& model) = nullptr;
  std::unique_ptr<ReplyReader> (*reader)() = nullptr;
};

std::span<const Dialect* const> AllDialects();      // sorted by file name
const Dialect* FindDialect(std::string_view name);  // null: there is none of that name

}  // namespace hone
