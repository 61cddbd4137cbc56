// What is said to a language model and what it answers, whoever serves it and in whatever words those are on the wire
// (dialect.h). Plain values.
//
//   system | tools | user, model, (tool, model)*, user ...   -->   ModelReply
//   `---- the same for many questions ----'   what changes comes last, so that a server's cache of beginnings is hit
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

// The model wants a tool called.
struct ToolCall {
  std::string id;  // the server's name for it; a result names it again
  std::string name;
  std::string arguments;  // JSON as the model wrote it: it may be malformed
};

struct TalkTurn {
  enum class Who { kUser, kModel, kTool };
  Who who = Who::kUser;
  std::string text;
  std::vector<ToolCall> calls = {};  // the model's
  std::string call_id = {};          // a tool's: the call that this is the result of
  bool failed = false;               // a tool's: it came to nothing, and the text says why
  std::string opaque = {};           // the model's: ModelReply::opaque, given back as it was
};

struct ModelTool {
  std::string name;
  std::string description;
  std::string parameters;  // JSON Schema of an object
};

struct Conversation {
  std::string system;
  std::vector<ModelTool> tools = {};
  std::vector<TalkTurn> turns = {};  // in their order; the last one is not the model's
};

// What a call took, as the server counts. Nothing: it did not say.
struct TokenUse {
  std::optional<std::int64_t> input_tokens = {};    // all that went in, what the cache had included
  std::optional<std::int64_t> cached_tokens = {};   // of those, what the server's cache had
  std::optional<std::int64_t> written_tokens = {};  // of those, what it put there
  std::optional<std::int64_t> output_tokens = {};   // all that came out, reasoning included
  std::optional<double> dollars = {};               // where the server itself says so
};

// Why the model ended.
enum class Ending {
  kWhole,    // it had said all
  kCalls,    // it waits for the results of its calls
  kLength,   // its limit of tokens cut it off
  kRefusal,  // it, or a filter before it, will not answer
};

struct ModelReply {
  std::string text;
  std::vector<ToolCall> calls = {};
  Ending ending = Ending::kWhole;
  TokenUse usage = {};
  std::string model = {};   // who answered, as the server says
  std::string opaque = {};  // what the dialect wants back with this turn: reasoning and its signatures; no one reads it
};

// The reply as a turn of the conversation that goes on.
inline TalkTurn AsTurn(const ModelReply& reply) {
  return {.who = TalkTurn::Who::kModel, .text = reply.text, .calls = reply.calls, .opaque = reply.opaque};
}

}  // namespace hone
