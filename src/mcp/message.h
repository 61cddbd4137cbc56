// What goes over the wire between a client and us: JSON-RPC 2.0, one object a line, as the Model Context Protocol has
// it (no batches, ids are texts or whole numbers). No state; safe from any thread.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace hone::mcp {

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kResourceNotFound = -32002;    // of the versions with a handshake; later it is kInvalidParams
inline constexpr int kUnsupportedVersion = -32022;  // of 2026-07-28 and later

// Why a request has no result.
struct Failure {
  int code = kInternalError;
  std::string message;    // one line
  std::string data = {};  // more of it as JSON; empty: none
};

// A request, or a notification, which has no id.
struct Message {
  std::string id;  // as JSON: "7" or "\"seven\""; empty for a notification
  std::string method;
  std::shared_ptr<const nlohmann::json> params;  // an object, empty if there were none
};

// A line that is neither. `id` is that of the request if it could be read.
struct Refusal {
  std::string id;
  Failure failure;
};

// An answer to a request of ours; since we make none there is nothing to do about it.
struct Ignored {};

inline constexpr std::size_t kDeepest = 64;  // levels of arrays and objects; what is deeper is refused

std::variant<Message, Refusal, Ignored> ParseMessage(std::string_view line);

// One line each, without its end. Texts that are not UTF-8 are mended, since a message has to be.
std::string ResultLine(std::string_view id, const nlohmann::json& result);
std::string FailureLine(std::string_view id, const Failure& failure);  // without an id where none could be read
std::string NotificationLine(std::string_view method, const nlohmann::json& params);

}  // namespace hone::mcp
